import type { Reply } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import { identityFamilies, isIdentityName } from '#http/identity-names.ts'
import { withFields } from '#http/changed.ts'
import type { AuthResult } from '#auth/sign-in/sign-in.ts'

const MAX_VALUE = 1024
const MAX_TOKEN = 8192
const NAME = /^[a-z0-9-]{1,100}$/
// Printable ASCII except "%", which is the escape character.
const UNSAFE = /[^\x20-\x24\x26-\x7e]/gu

/** The request headers, split in one pass. */
export interface Parted {
  /** Everything except cookies and headers that only the gateway may set, as lines. */
  readonly lines: string
  /** What the Cookie fields hold. */
  readonly cookie: string
}

/** A change of the fields of a reply, made once for those that the service repeats. */
export function withChange(reply: Reply, change: (fields: Fields) => Fields): Reply {
  const fields = reply.head.fields.made(change)
  return fields === reply.head.fields ? reply : withFields(reply, fields)
}

export function partFields({ text }: Fields): Parted {
  let lines = ''
  let cookie = ''
  let from = 0
  for (let at = 0; at < text.length;) {
    const found = text.indexOf('\r\n', at)
    const end = found < 0 ? text.length : found
    const colon = text.indexOf(':', at)
    const first = text.charCodeAt(at) | 0x20
    const isCookie = first === 0x63 && colon - at === 6 && text.slice(at, colon).toLowerCase() === 'cookie'
    if (isCookie || ((first === 0x61 || first === 0x6e) && isIdentityName(text.slice(at, colon)))) {
      lines += text.slice(from, at)
      from = end + 2
      if (isCookie) cookie += (cookie && '; ') + text.slice(colon + 1, end).trim()
    }
    at = end + 2
  }
  return { lines: from === 0 ? text : lines + text.slice(from), cookie }
}

/** The request headers for the service. */
export const joinFields = ({ lines }: Parted, cookies: string, identity: string): Fields =>
  new Fields(cookies === '' ? lines + identity : `${lines}Cookie: ${cookies}\r\n${identity}`)

/**
 * The user headers for the service. Everything except printable ASCII, and "%", is percent-encoded as UTF-8, so that a
 * name can neither end a line nor be ambiguous.
 */
export function identityLines(
  { identity, accessToken, refreshToken }: AuthResult,
  withTokens: boolean,
): string {
  const values = new Map<string, string>()
  const add = (name: string, value: string | undefined, limit: number): void => {
    if (value && value.length <= limit && NAME.test(name)) values.set(name, encoded(value))
  }
  for (const [name, value] of Object.entries(identity.headers ?? {})) add(bare(name), value, MAX_VALUE)
  add('user-id', identity.id, MAX_VALUE)
  add('user-name', identity.name || identity.username, MAX_VALUE)
  add('user-email', identity.email, MAX_VALUE)
  if (withTokens) {
    add('oauth-access-token', accessToken, MAX_TOKEN)
    add('oauth-refresh-token', refreshToken, MAX_TOKEN)
  }
  const pairs = [...values]
  return identityFamilies
    .flatMap(family => pairs.map(([name, value]) => `${family}${name}: ${value}\r\n`))
    .join('')
}

/** Within our header families, whatever the method: only those are stripped from client requests. */
const bare = (name: string): string => {
  const family = identityFamilies.find(each => name.startsWith(each))
  return family ? name.slice(family.length) : name
}

const encoded = (value: string): string => value.replace(UNSAFE, percent).trim()

// A lone surrogate has no UTF-8; Buffer writes the replacement character for it, where others would throw.
const percent = (sign: string): string =>
  Buffer.from(sign).reduce((text, byte) => `${text}%${byte.toString(16).toUpperCase().padStart(2, '0')}`, '')

/** Response fields without cookies that have our names. Each of those contains one of `marks`. */
export const withoutOwnCookies =
  (marks: readonly string[], isOurs: (name: string) => boolean) =>
  (fields: Fields): Fields => {
    const { text } = fields
    if (!marks.some(mark => text.includes(mark))) return fields
    let kept = ''
    for (let at = 0; at < text.length;) {
      const found = text.indexOf('\r\n', at)
      const end = found < 0 ? text.length : found
      const line = text.slice(at, end + 2)
      if (!setsOwn(line, isOurs)) kept += line
      at = end + 2
    }
    return new Fields(kept)
  }

function setsOwn(line: string, isOurs: (name: string) => boolean): boolean {
  // A nameless cookie is sent as its value alone, which may look like one with a name.
  const [, name] = /^set-cookie:[\s=]*([^=;]*)/i.exec(line) ?? []
  return name !== undefined && isOurs(name.trim())
}

/** A response that sets our cookies. It belongs to one client, which caches must know. */
export function withCookies(reply: Reply, cookies: readonly string[]): Reply {
  if (cookies.length === 0) return reply
  const { fields } = reply.head
  const isPrivate = /no-store|private/i.test(fields.get('cache-control') ?? '')
  const added = cookies.map(cookie => `Set-Cookie: ${cookie}\r\n`).join('')
  const text = `${fields.text}${isPrivate ? '' : 'Cache-Control: private\r\n'}${added}`
  return withFields(reply, new Fields(text))
}
