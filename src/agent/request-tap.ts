import type { RequestEvent } from '#agent/events.ts'
import type { Tap } from '#tunnel/splice.ts'

const REQUEST = /^([A-Z]{1,32}) ([\x21-\x7e]{1,2048}) HTTP\/1\.[01](?:\r\n|$)/
const STATUS = /^HTTP\/1\.[01] (\d{3})/
const LINE_BYTES = 2120
const STATUS_BYTES = 12
const HEAD_END = '\r\n\r\n'

/** Called with every request when its response begins. */
export type OnRequest = (request: Omit<RequestEvent, 'tunnel'>) => void

export interface RequestLine {
  readonly method: string
  readonly path: string
}

/** Of the request that begins here. */
export function requestLine(text: string): RequestLine | undefined {
  const [, method, path] = REQUEST.exec(text) ?? []
  return method === undefined || path === undefined ? undefined : { method, path }
}

/**
 * Observes the requests of a connection. A request starts where the gateway sends after a response, since it has one at
 * a time, so only first lines are parsed.
 */
export class RequestTap implements Tap {
  readonly #onRequest: OnRequest
  #open: (RequestLine & { readonly at: number }) | undefined

  constructor(onRequest: OnRequest) {
    this.#onRequest = onRequest
  }

  sent(bytes: Buffer): void {
    if (this.#open !== undefined) return
    const line = requestLine(bytes.toString('latin1', 0, LINE_BYTES))
    if (line !== undefined) this.#open = { ...line, at: performance.now() }
  }

  received(bytes: Buffer): void {
    if (this.#open === undefined) return
    const status = statusOf(bytes)
    if (status === undefined) return
    const { method, path, at } = this.#open
    this.#open = undefined
    this.#onRequest({ method, path, status, durationMs: performance.now() - at })
  }
}

/** The status of the response that begins here. 1xx other than 101 is interim. */
function statusOf(bytes: Buffer): number | undefined {
  const match = STATUS.exec(bytes.toString('latin1', 0, STATUS_BYTES))
  if (match === null) return undefined
  const status = Number(match[1])
  if (status >= 200 || status === 101) return status
  const end = bytes.indexOf(HEAD_END, 0, 'latin1')
  return end === -1 ? undefined : statusOf(bytes.subarray(end + HEAD_END.length))
}
