import { randomBytes } from 'node:crypto'
import type { Fields } from '#http/fields.ts'

/** The parent span of a request (W3C Trace Context). */
export interface TraceParent {
  /** 32 and 16 digits, lower-case hex. */
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
}

const PARENT = 'traceparent'
const STATE = 'tracestate'
const SAMPLED = 1
/** The sender asserts that its trace id is random; this is propagated. */
const RANDOM = 2
const FORM = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-.*)?$/
/** Of the current version; later ones may be longer. */
const VERSION = '00'
const LENGTH = 55

/** Undefined when there is no valid one: two would be ambiguous. */
export function parentIn(fields: Fields): TraceParent | undefined {
  const text = fields.get(PARENT)
  if (text === undefined || (text.startsWith(VERSION) && text.length !== LENGTH)) return undefined
  const [, traceId, spanId, flags] = FORM.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return fields.all(PARENT).length === 1 ? { traceId, spanId, flags: Number.parseInt(flags, 16) } : undefined
}

export const isSampled = ({ flags }: TraceParent): boolean => (flags & SAMPLED) !== 0

export const newTraceId = (): string => randomBytes(16).toString('hex')
export const newSpanId = (): string => randomBytes(8).toString('hex')

/** The flags for a traced request. */
export const flagsAfter = (parent: TraceParent | undefined): number =>
  SAMPLED | ((parent?.flags ?? 0) & RANDOM)

/**
 * The headers of a request forwarded as a part of `own`. Without a valid parent a tracestate is meaningless and must
 * not be forwarded (W3C Trace Context §3.3).
 */
export function fieldsWithin(fields: Fields, own: TraceParent, parent: TraceParent | undefined): Fields {
  const flags = own.flags.toString(16).padStart(2, '0')
  const others = fields.withoutAll(parent === undefined ? [PARENT, STATE] : [PARENT])
  return others.with(PARENT, `${VERSION}-${own.traceId}-${own.spanId}-${flags}`)
}
