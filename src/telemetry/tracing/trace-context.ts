import { randomBytes } from 'node:crypto'
import type { Fields } from '#http/fields.ts'

/** The span that a request is a part of, as its sender tells it (W3C Trace Context). */
export interface TraceParent {
  /** 32 and 16 digits, lower-case hex. */
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
}

const PARENT = 'traceparent'
const STATE = 'tracestate'
const SAMPLED = 1
/** The sender vouches that the id of its trace is random; whoever passes it on keeps that. */
const RANDOM = 2
const FORM = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-.*)?$/
/** Of the only version there is; later ones may be longer. */
const VERSION = '00'
const LENGTH = 55

/** Undefined when there is none, or none that is valid: which of two would be meant nobody knows. */
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

/** The flags of what follows from a request that is traced. */
export const flagsAfter = (parent: TraceParent | undefined): number =>
  SAMPLED | ((parent?.flags ?? 0) & RANDOM)

/**
 * The fields of a request that is passed on as a part of `own`. Without a valid parent a tracestate belongs to nothing
 * and must not be passed on (W3C Trace Context §3.3).
 */
export function fieldsWithin(fields: Fields, own: TraceParent, parent: TraceParent | undefined): Fields {
  const flags = own.flags.toString(16).padStart(2, '0')
  const others = fields.withoutAll(parent === undefined ? [PARENT, STATE] : [PARENT])
  return others.with(PARENT, `${VERSION}-${own.traceId}-${own.spanId}-${flags}`)
}
