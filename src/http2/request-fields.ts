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

class Draft {
  method: string | undefined
  scheme: string | undefined
  authority: string | undefined
  path: string | undefined
  protocol: string | undefined
  length: number | undefined

  /** False: it is unknown, or the second of its name. Properties by name would cost more than all the rest. */
  takesPseudo({ name, value }: HeaderField): boolean {
    switch (name) {
      case ':method':
        if (this.method !== undefined) return false
        this.method = value
        return true
      case ':scheme':
        if (this.scheme !== undefined) return false
        this.scheme = value
        return true
      case ':authority':
        if (this.authority !== undefined) return false
        this.authority = value
        return true
      case ':path':
        if (this.path !== undefined) return false
        this.path = value
        return true
      case ':protocol':
        if (this.protocol !== undefined) return false
        this.protocol = value
        return true
      default:
        return false
    }
  }
}

/** Checks the head of a request; undefined when it is malformed, which is a stream error. */
export function requestFields(all: readonly HeaderField[], ends: boolean): RequestFields | undefined {
  const draft = new Draft()
  const fields: HeaderField[] = []
  for (const field of all) {
    const isPseudo = field.kind === 'pseudo' && fields.length === 0
    if (isPseudo ? !draft.takesPseudo(field) : field.kind !== 'regular' || !takesField(draft, field))
      return undefined
    if (!isPseudo) fields.push(field)
  }
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
