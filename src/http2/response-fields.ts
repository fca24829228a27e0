import { readLength } from '#http2/content-length.ts'
import type { HeaderField } from '#http2/header-field.ts'

/** The head of a response that is well-formed (RFC 9113 §8.3.2). */
export interface ResponseHeadFields {
  readonly status: number
  /** Content-Length. */
  readonly length: number | undefined
  /** All others, in order; Content-Length among them. */
  readonly fields: readonly HeaderField[]
}

const STATUS = /^[1-9]\d\d$/
const SWITCHING_PROTOCOLS = 101

/** Checks the head of a response, interim or not; undefined when it is malformed, which is a stream error. */
export function responseFields(all: readonly HeaderField[], ends: boolean): ResponseHeadFields | undefined {
  const [first, ...fields] = all
  if (first?.name !== ':status' || !STATUS.test(first.value)) return undefined
  const status = Number(first.value)
  // HTTP/2 has no 101 (RFC 9113 §8.6), and an interim response cannot be the last.
  if (status === SWITCHING_PROTOCOLS || (status < 200 && ends)) return undefined
  let length: number | undefined
  for (const field of fields) {
    if (field.kind !== 'regular') return undefined
    if (field.name !== 'content-length') continue
    const read = readLength(field.value)
    if (read === undefined || (length !== undefined && length !== read)) return undefined
    length = read
  }
  return { status, length, fields }
}
