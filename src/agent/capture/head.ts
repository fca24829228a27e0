import type { BodyLength } from '#agent/capture/framing.ts'

const LENGTH = /^content-length:[ \t]*(\d{1,15})[ \t]*$/im
const CHUNKED = /^transfer-encoding:.*\bchunked\b/im
const STATUS = /^HTTP\/1\.[01] (\d{3})/

/** Body length of a request, by RFC 9112 section 6.3. */
export function requestBody(head: string): BodyLength {
  if (CHUNKED.test(head)) return 'chunked'
  return Number(LENGTH.exec(head)?.[1] ?? 0)
}

export const statusOf = (head: string): number => Number(STATUS.exec(head)?.[1] ?? 0)

/** Body length of a response to a request of that method. */
export function responseBody(head: string, status: number, method: string): BodyLength {
  if (status === 101) return 'upgrade'
  if (status < 200 || status === 204 || status === 304 || method === 'HEAD') return 0
  if (CHUNKED.test(head)) return 'chunked'
  const length = LENGTH.exec(head)?.[1]
  return length === undefined ? 'close' : Number(length)
}
