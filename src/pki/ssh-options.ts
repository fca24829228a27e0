import { refuse, type PkiCode } from '#pki/pki-error.ts'
import { readSourceAddresses } from '#pki/source-address.ts'
import { wireString } from '#pki/ssh-wire.ts'

const MAX_PRINCIPALS = 256
const MAX_NAME_BYTES = 255
const MAX_VALUE_BYTES = 4096
const MAX_EXTENSIONS = 64

// oxlint-disable-next-line no-control-regex -- these are what is refused
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

const FLAGS = new Set([
  'no-touch-required',
  'permit-X11-forwarding',
  'permit-agent-forwarding',
  'permit-port-forwarding',
  'permit-pty',
  'permit-user-rc',
])

type Check = (value: string) => unknown

const forceCommand: Check = value =>
  plainText('bad_option', 'The force-command option', value, MAX_VALUE_BYTES)

/** The supported critical options of OpenSSH; a server must reject any other. */
export const CRITICAL_OPTIONS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['force-command', forceCommand],
  ['source-address', readSourceAddresses],
])

/** Text for people and other programs: not empty, not too long, without control characters. */
export function plainText(code: PkiCode, what: string, value: string, maxBytes = MAX_NAME_BYTES): string {
  if (value === '') refuse(code, `${what} is empty.`)
  if (Buffer.byteLength(value) > maxBytes) refuse(code, `${what} is longer than ${maxBytes} bytes.`)
  if (CONTROL.test(value) || !value.isWellFormed()) refuse(code, `${what} holds control characters.`)
  return value
}

/** Some servers read a comma in a name as two names (CVE-2026-35414), and white space is as doubtful. */
export function encodePrincipals(principals: readonly string[]): Buffer {
  if (principals.length > MAX_PRINCIPALS)
    refuse('bad_principal', `At most ${MAX_PRINCIPALS} principals are possible.`)
  for (const principal of principals) {
    plainText('bad_principal', 'A principal', principal)
    if (/[\s,]/.test(principal))
      refuse('bad_principal', 'A principal may hold neither commas nor white space.')
  }
  return Buffer.concat(principals.map(wireString))
}

export function encodeCriticalOptions(options: Readonly<Record<string, string>>): Buffer {
  for (const [name, value] of Object.entries(options)) {
    const check = CRITICAL_OPTIONS.get(name)
    if (check === undefined)
      refuse('bad_option', 'The critical options are force-command and source-address.')
    check(value)
  }
  return encodeSorted(options)
}

export function encodeExtensions(extensions: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(extensions)
  if (entries.length > MAX_EXTENSIONS)
    refuse('bad_option', `At most ${MAX_EXTENSIONS} extensions are possible.`)
  for (const [name, value] of entries) {
    // Names with an @ are private extensions, by RFC 4251 §6.
    if (!FLAGS.has(name) && !/^[!-~]+@[!-~]+$/.test(name))
      refuse(
        'bad_option',
        `An extension must be one of ${[...FLAGS].join(', ')} or a name such as a@example.com.`,
      )
    if (FLAGS.has(name) && value !== '') refuse('bad_option', `The extension ${name} takes no value.`)
    plainText('bad_option', 'The name of an extension', name)
    if (value !== '') plainText('bad_option', 'The value of an extension', value, MAX_VALUE_BYTES)
  }
  return encodeSorted(extensions)
}

/** PROTOCOL.certkeys: sorted by name, and a value is a string within the data of its option. */
function encodeSorted(options: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Buffer.concat(
    entries.flatMap(([name, value]) => [
      wireString(name),
      wireString(value === '' ? Buffer.alloc(0) : wireString(value)),
    ]),
  )
}
