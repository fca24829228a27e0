import { fail } from '#base/errors.ts'

export type TunnelScheme = 'http' | 'https' | 'tcp' | 'tls'

/** The command after the host name, as in `ssh -R 80:localhost:8080 gateway http --name shop`. */
export interface SshCommand {
  /** Undefined: the port of each -R decides. */
  readonly scheme: TunnelScheme | undefined
  readonly name: string | undefined
  readonly domain: string | undefined
  readonly metadata: string
  readonly labels: Readonly<Record<string, string>>
  readonly basicAuth: readonly { readonly username: string; readonly password: string }[]
}

export const NO_COMMAND: SshCommand = {
  scheme: undefined,
  name: undefined,
  domain: undefined,
  metadata: '',
  labels: {},
  basicAuth: [],
}

const MAX_BYTES = 8192
const MAX_WORDS = 64
const MAX_LABELS = 16
const MAX_PASSWORDS = 16

const refuse = (reason: string): never => fail('ssh_command', { reason })

export function readCommand(text: string): SshCommand {
  if (Buffer.byteLength(text) > MAX_BYTES) refuse(`it is longer than ${MAX_BYTES} bytes`)
  const [scheme = '', ...rest] = splitWords(text)
  if (scheme === '') return NO_COMMAND
  if (!isScheme(scheme)) return refuse('it must start with http, https, tcp or tls')
  const options = new OptionReader(rest)
  const command = { ...options.read(), scheme }
  if (command.basicAuth.length > 0 && (scheme === 'tcp' || scheme === 'tls'))
    refuse('--basic-auth needs http or https')
  if (scheme === 'tcp' && (command.name ?? command.domain) !== undefined)
    refuse('a TCP endpoint has a port, set with -R, and no name')
  if (command.name !== undefined && command.domain !== undefined) refuse('give --name or --domain, not both')
  return command
}

const isScheme = (word: string): word is TunnelScheme =>
  word === 'http' || word === 'https' || word === 'tcp' || word === 'tls'

/** Parses `--option value` and `--option=value`. */
class OptionReader {
  readonly #words: string[]
  readonly #labels: Record<string, string> = Object.create(null)
  readonly #basicAuth: { username: string; password: string }[] = []
  readonly #single = new Map<string, string>()

  constructor(words: readonly string[]) {
    this.#words = [...words]
  }

  read(): Omit<SshCommand, 'scheme'> {
    for (let word = this.#words.shift(); word !== undefined; word = this.#words.shift()) this.#option(word)
    return {
      name: this.#single.get('--name'),
      domain: this.#single.get('--domain'),
      metadata: this.#single.get('--metadata') ?? '',
      labels: { ...this.#labels },
      basicAuth: this.#basicAuth,
    }
  }

  #option(word: string): void {
    const equals = word.indexOf('=')
    const name = equals < 0 ? word : word.slice(0, equals)
    if (!['--name', '--domain', '--metadata', '--label', '--basic-auth'].includes(name))
      refuse('the options are --name, --domain, --metadata, --label and --basic-auth')
    const value = equals < 0 ? this.#words.shift() : word.slice(equals + 1)
    if (value === undefined || value === '') return void refuse(`${name} needs a value`)
    if (name === '--label') this.#label(value)
    else if (name === '--basic-auth') this.#password(value)
    else if (this.#single.has(name)) refuse(`${name} is given twice`)
    else this.#single.set(name, bounded(name, value))
  }

  #label(value: string): void {
    const [, name = '', text = ''] = /^([^=]+)=(.*)$/s.exec(value) ?? []
    if (name === '') refuse('--label needs the form name=value')
    if (Object.keys(this.#labels).length >= MAX_LABELS) refuse(`at most ${MAX_LABELS} labels are allowed`)
    this.#labels[name] = text
  }

  #password(value: string): void {
    const [, username = '', password = ''] = /^([^:]+):(.+)$/s.exec(value) ?? []
    if (username === '') refuse('--basic-auth needs the form user:password')
    if (this.#basicAuth.length >= MAX_PASSWORDS) refuse(`at most ${MAX_PASSWORDS} passwords are allowed`)
    this.#basicAuth.push({ username, password })
  }
}

const LIMITS: Readonly<Record<string, number>> = { '--name': 63, '--domain': 253, '--metadata': 4096 }

function bounded(name: string, value: string): string {
  const limit = LIMITS[name] ?? 0
  return Buffer.byteLength(value) <= limit ? value : refuse(`${name} takes at most ${limit} bytes`)
}

/** Splits like a shell: ssh joins its arguments with spaces, so values with spaces are quoted twice. */
function splitWords(text: string): string[] {
  // oxlint-disable-next-line no-control-regex -- these are what is refused
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(text)) refuse('it contains control characters')
  const words: string[] = []
  const rest = text.replaceAll(WORD, (whole: string) => {
    if (words.length >= MAX_WORDS) refuse(`it has more than ${MAX_WORDS} words`)
    words.push(
      whole.replaceAll(
        PART,
        (_, single?: string, double?: string, escaped?: string) =>
          single ?? double?.replaceAll(/\\(["\\])/g, '$1') ?? escaped ?? '',
      ),
    )
    return ''
  })
  if (rest.trim() !== '') refuse('a quotation mark is not closed')
  return words
}

const WORD = /(?:[^\s'"\\]|'[^']*'|"(?:[^"\\]|\\.)*"|\\.)+/g
const PART = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g
