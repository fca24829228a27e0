import { readLength } from '#http2/content-length.ts'
import type { HeaderField } from '#http2/header-field.ts'

/** The head of a request that is well-formed (RFC 9113 §8). */
export interface RequestFields {
  readonly method: string
  /** Undefined for a CONNECT without a protocol. */
  readonly scheme: string | undefined
  readonly authority: string | undefined
  readonly path: string | undefined
  /** Of an extended CONNECT (RFC 8441). */
  readonly protocol: string | undefined
  /** Content-Length. */
  readonly length: number | undefined
  /** All others, in order; Content-Length and Host among them. */
  readonly fields: readonly HeaderField[]
}

interface Draft {
  method?: string
  scheme?: string
  authority?: string
  path?: string
  protocol?: string
  length?: number
}

type PseudoName = Exclude<keyof Draft, 'length'>
const pseudoNames = new Map<string, PseudoName>([
  [':method', 'method'],
  [':scheme', 'scheme'],
  [':authority', 'authority'],
  [':path', 'path'],
  [':protocol', 'protocol'],
])

/** Checks the head of a request; undefined when it is malformed, which is a stream error. */
export function requestFields(all: readonly HeaderField[], ends: boolean): RequestFields | undefined {
  const draft: Draft = {}
  let count = 0
  while (count < all.length && all[count]?.kind === 'pseudo') {
    const field = all[count++]
    const key = pseudoNames.get(field?.name ?? '')
    if (key === undefined || draft[key] !== undefined) return undefined
    draft[key] = field?.value ?? ''
  }
  const fields = all.slice(count)
  for (const field of fields) if (field.kind !== 'regular' || !takesField(draft, field)) return undefined
  const { method, scheme, authority, path, protocol, length } = draft
  if (method === undefined || !isTargetComplete(draft)) return undefined
  if (length !== undefined && ends && length > 0) return undefined
  return { method, scheme, authority, path, protocol, length, fields }
}

/** Fields that are restricted in HTTP/2. */
function takesField(draft: Draft, { name, value }: HeaderField): boolean {
  if (name === 'te') return value.toLowerCase() === 'trailers'
  if (name !== 'content-length') return true
  const length = readLength(value)
  if (length === undefined || draft.length !== undefined) return false
  draft.length = length
  return true
}

function isTargetComplete({ method, scheme, authority, path, protocol }: Draft): boolean {
  const isFull = scheme !== undefined && path !== undefined && path !== ''
  if (method !== 'CONNECT') return isFull && protocol === undefined
  if (protocol !== undefined) return isFull && authority !== undefined
  return scheme === undefined && path === undefined && authority !== undefined
}
