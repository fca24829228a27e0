import { isAnswerName, isOwnName } from '#http/identity-names.ts'
import { siteNames } from '#http/site-names.ts'
import type { HeaderField } from '#http2/header-field.ts'

/** Framing and routing fields are allowed only in the head (RFC 9110 §6.5.1). */
const notInTrailers = new Set([
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

export type FieldsSender = 'client' | 'upstream'

/** Whether a client may send a field of this name: services confuse an underscore with a dash. */
export const isClientName = (name: string): boolean => !name.includes('_')

/** Well-formed trailers as lines; undefined when a client may not send them. Fields that only a head may have are dropped. */
export function trailerLines(fields: readonly HeaderField[], from: FieldsSender): string | undefined {
  let lines = ''
  for (const { name, value } of fields) {
    if (from === 'client' && !isClientName(name)) return undefined
    const isReserved = from === 'client' ? isOwnName(name) : isAnswerName(name)
    if (!notInTrailers.has(name) && !isReserved) lines += `${name}: ${value}\r\n`
  }
  return lines
}
