import { isAnswerName, isOwnName } from '#http/identity-names.ts'
import { siteNames } from '#http/site-names.ts'

/** Connection-specific fields of HTTP/1, which must not appear in HTTP/2 (RFC 9113 §8.2.2). */
const ofConnection = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

/** Framing and routing fields are allowed only in the head (RFC 9110 §6.5.1). */
const notInTrailers = new Set([
  ...ofConnection,
  ...siteNames,
  'content-length',
  'content-encoding',
  'content-type',
  'content-range',
  'host',
  'te',
  'trailer',
  'authorization',
  'cookie',
  'expect',
])

// Upper case is an error in HTTP/2. Upstreams confuse an underscore with a dash, so clients may not send it.
const NAMES = { client: /^[a-z0-9!#$%&'*+.^`|~-]+$/, upstream: /^[a-z0-9!#$%&'*+._^`|~-]+$/ } as const
// eslint-disable-next-line no-control-regex -- these are what is looked for
const FORBIDDEN_IN_VALUE = /[\x00-\x08\x0a-\x1f\x7f]|^[\t ]|[\t ]$/

export type FieldsSender = keyof typeof NAMES

export const isName = (name: string, from: FieldsSender): boolean => NAMES[from].test(name)
/** Blanks around a value are an error in HTTP/2 (RFC 9113 §8.2.1). */
export const isValue = (value: string): boolean => !FORBIDDEN_IN_VALUE.test(value)
export const isOfConnection = (name: string): boolean => ofConnection.has(name)

/** Trailers as lines; undefined when they are invalid. Fields that only a head may have are dropped. */
export function trailerLines(pairs: readonly string[], from: FieldsSender): string | undefined {
  let lines = ''
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const name = pairs[at] ?? ''
    const value = pairs[at + 1] ?? ''
    if (!isName(name, from) || !isValue(value)) return undefined
    const isReserved = from === 'client' ? isOwnName(name) : isAnswerName(name)
    if (!notInTrailers.has(name) && !isReserved) lines += `${name}: ${value}\r\n`
  }
  return lines
}
