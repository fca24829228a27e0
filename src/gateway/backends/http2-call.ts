import { STATUS_CODES } from 'node:http'
import { constants, type ClientHttp2Stream } from 'node:http2'
import type { Exchange, Reply } from '#http/exchange.ts'
import { noBody, type Framing } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { forwardedLines } from '#http/forwarded.ts'
import { REQUEST_ID, type ResponseHead } from '#http/head.ts'
import { isName, isOfConnection, isValue } from '#http/http2/fields.ts'
import { isAnswerName } from '#http/identity-names.ts'
import { Http2Body } from '#gateway/backends/http2-body.ts'
import { guarded } from '#gateway/backends/http2-guard.ts'
import { addPairs } from '#gateway/backends/http2-pairs.ts'
import type { Http2Link } from '#gateway/backends/http2-pool.ts'
import { RequestSender } from '#gateway/backends/http2-request-sender.ts'

const { NGHTTP2_CANCEL, NGHTTP2_FLAG_END_STREAM, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants

/**
 * `refused`: the upstream has surely not seen the request. `unreachable`: it has never sent anything. `closed`: it
 * ended the request without a byte of a response; `broken` after some of it.
 */
export type Http2Outcome = Reply | 'unreachable' | 'invalid' | 'closed' | 'broken' | 'refused' | 'timeout'

interface Options {
  readonly link: Http2Link
  readonly exchange: Exchange
  /** The :authority sent instead of the client's. */
  readonly authority: string | undefined
  /** Milliseconds to wait for the response head once the request was sent. */
  readonly patience: number
}

/** One request to an HTTP/2 upstream. */
export class Http2Call {
  readonly #options: Options
  readonly #outcome = Promise.withResolvers<Http2Outcome>()
  #stream: ClientHttp2Stream | undefined
  #sender: RequestSender | undefined
  #timer: NodeJS.Timeout | undefined
  #settled = false
  #informed = false

  constructor(options: Options) {
    this.#options = options
  }

  start(): Promise<Http2Outcome> {
    const { exchange, link } = this.#options
    this.#sender = new RequestSender({
      body: exchange.body,
      head: (ends, trailers) => this.#request(ends, trailers),
      failed: () => this.#giveUp(),
      finished: () => this.#awaitAnswer(),
    })
    try {
      this.#sender.start()
    } catch {
      this.#settle('invalid')
      this.#giveUp()
    }
    if (this.#stream === undefined) {
      link.release(exchange.client)
      this.#settle('closed')
    }
    return this.#outcome.promise
  }

  #request(endStream: boolean, waitForTrailers: boolean): ClientHttp2Stream | undefined {
    const { link, exchange, authority } = this.#options
    const { head } = exchange
    const host = authority ?? head.upstreamHost ?? head.authority
    // gRPC ends every request with a DATA frame, and its servers wait for one. A client that announced no length may
    // make such a call.
    const stream = link.session.request(requestPairs(exchange, host), {
      endStream: endStream && head.framing.kind !== 'chunked',
      waitForTrailers,
    })
    this.#stream = stream
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // Node's error for any invalid frame that nghttp2 found.
      if (error.code === 'ERR_HTTP2_ERROR') this.#settle('invalid')
    })
    stream.on('headers', (_headers, _flags, pairs: string[]) => guarded(stream, () => this.#interim(pairs)))
    stream.on('response', (_headers, flags, pairs: string[]) =>
      guarded(stream, () => this.#response(flags, pairs)),
    )
    stream.on('close', () => guarded(stream, () => this.#closed(stream)))
    exchange.clientAbort.onAbort(() => this.#giveUp())
    return stream
  }

  #interim(pairs: readonly string[]): void {
    const head = responseHead(pairs, { ends: true, isHead: false })
    this.#informed = true
    if (head !== undefined) this.#options.exchange.sendInformational(head)
  }

  #response(flags: number, pairs: readonly string[]): void {
    const stream = this.#stream
    if (this.#settled || stream === undefined) return
    const ends = (flags & NGHTTP2_FLAG_END_STREAM) !== 0
    const head = responseHead(pairs, { ends, isHead: this.#options.exchange.head.method === 'HEAD' })
    if (head === undefined) {
      this.#settle('invalid')
      this.#giveUp()
      return
    }
    const { framing } = head
    // A stream closes only when its end was read, even when there was nothing before it.
    if (framing.kind === 'none') stream.resume()
    const body = new Http2Body(stream, framing, () => this.#giveUp())
    this.#settle({ head, body: framing.kind === 'none' ? noBody : body })
  }

  #awaitAnswer(): void {
    if (this.#settled) return
    const { patience } = this.#options
    this.#timer = setTimeout(() => {
      this.#settle('timeout')
      this.#giveUp()
    }, patience).unref()
  }

  #giveUp(): void {
    const stream = this.#stream
    if (stream !== undefined && !stream.destroyed && !stream.closed) stream.close(NGHTTP2_CANCEL)
  }

  #closed(stream: ClientHttp2Stream): void {
    const { link, exchange } = this.#options
    link.release(exchange.client)
    this.#sender?.cancel()
    if (stream.rstCode === NGHTTP2_REFUSED_STREAM || stream.pending) this.#settle('refused')
    else if (stream.rstCode === NGHTTP2_PROTOCOL_ERROR) this.#settle('invalid')
    else if (this.#informed) this.#settle('broken')
    else this.#settle(link.greeted ? 'closed' : 'unreachable')
  }

  #settle(outcome: Http2Outcome): void {
    if (this.#settled) return
    this.#settled = true
    clearTimeout(this.#timer)
    this.#outcome.resolve(outcome)
  }
}

function requestPairs({ head, client, context }: Exchange, authority: string): string[] {
  // The upstream connection has no TLS, and some servers reject a scheme that differs.
  const pairs = [':method', head.method, ':scheme', 'http', ':authority', authority, ':path', head.target]
  if (head.framing.kind === 'length') pairs.push('content-length', String(head.framing.length))
  addPairs(pairs, head.fields.text)
  addPairs(pairs, forwardedLines(client, head))
  pairs.push(REQUEST_ID, context.id)
  return pairs
}

interface Circumstances {
  readonly ends: boolean
  readonly isHead: boolean
}

/** HTTP/2 has no 101 (RFC 9113 section 8.6). */
const isStatus = (status: number): boolean =>
  Number.isInteger(status) && status >= 100 && status <= 999 && status !== 101

const isWithoutContent = (status: number): boolean => status === 204 || status === 304

/** A response head; undefined when it is invalid. */
function responseHead(pairs: readonly string[], { ends, isHead }: Circumstances): ResponseHead | undefined {
  let status = 0
  let length: number | undefined
  let lines = ''
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const name = pairs[at] ?? ''
    const value = pairs[at + 1] ?? ''
    if (name === ':status') status = Number(value)
    else if (!isName(name, 'upstream') || !isValue(value)) return undefined
    else if (name === 'content-length') length = Number(value)
    // Only the gateway sets it: a service must not impersonate the gateway.
    else if (!isOfConnection(name) && !isAnswerName(name)) lines += `${name}: ${value}\r\n`
  }
  if (!isStatus(status)) return undefined
  if (length !== undefined && !Number.isSafeInteger(length)) return undefined
  const empty = ends || isHead || isWithoutContent(status)
  const framing: Framing = framingOf(length, empty)
  const announced =
    empty && length !== undefined && (isHead || status === 304) ? { announcedLength: length } : {}
  return { status, reason: STATUS_CODES[status] ?? '', framing, fields: new Fields(lines), ...announced }
}

function framingOf(length: number | undefined, empty: boolean): Framing {
  if (empty) return { kind: 'none' }
  return length === undefined ? { kind: 'chunked' } : { kind: 'length', length }
}
