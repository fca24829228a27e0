import { STATUS_CODES } from 'node:http'
import type { Http2Link } from '#gateway/backends/http2-pool.ts'
import { MAX_INTERIM } from '#gateway/backends/response-reader.ts'
import { noBody, type Framing } from '#http/body.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import { forwardedLines } from '#http/forwarded.ts'
import { REQUEST_ID, type ResponseHead } from '#http/head.ts'
import { MessageSender } from '#http/http2/message-sender.ts'
import { StreamBody } from '#http/http2/stream-body.ts'
import { timeoutChecker } from '#http/timeout-checker.ts'
import { isAnswerName } from '#http/identity-names.ts'
import type { Http2ClientStream, OutgoingHead, ClientStreamReader } from '#http2/client-stream.ts'
import type { HeaderField } from '#http2/header-field.ts'
import { CANCEL, FLOW_CONTROL_ERROR, PROTOCOL_ERROR, REFUSED_STREAM } from '#http2/protocol.ts'
import type { ResponseHeadFields } from '#http2/response-fields.ts'

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
export class Http2Call implements ClientStreamReader {
  readonly #options: Options
  readonly #outcome = Promise.withResolvers<Http2Outcome>()
  #stream: Http2ClientStream | undefined
  #sender: MessageSender | undefined
  #body: StreamBody | undefined
  #timer: NodeJS.Timeout | undefined
  #settled = false
  #interims = 0

  constructor(options: Options) {
    this.#options = options
  }

  start(): Promise<Http2Outcome> {
    const { exchange, link, authority } = this.#options
    const stream = link.request(outgoingHead(exchange, authority))
    if (stream === undefined) {
      link.release(exchange.client)
      this.#settle('refused')
      return this.#outcome.promise
    }
    this.#stream = stream
    stream.attach(this)
    this.#sender = new MessageSender({
      stream,
      body: exchange.body,
      failed: () => stream.reset(CANCEL),
    })
    this.#sender.start()
    exchange.clientAbort.onAbort(() => stream.reset(CANCEL))
    return this.#outcome.promise
  }

  /** The request is sent. */
  sent(): void {
    if (this.#settled) return
    this.#timer = setTimeout(() => {
      this.#settle('timeout')
      this.#stream?.reset(CANCEL)
    }, this.#options.patience).unref()
  }

  informational(head: ResponseHeadFields): void {
    if (++this.#interims > MAX_INTERIM) this.#stream?.reset(PROTOCOL_ERROR)
    else this.#options.exchange.sendInformational(responseHead(head, NONE))
  }

  response(head: ResponseHeadFields, isComplete: boolean): void {
    const stream = this.#stream
    if (this.#settled || stream === undefined) return
    const { status, length } = head
    const isHead = this.#options.exchange.head.method === 'HEAD'
    if (isComplete || isHead || isWithoutContent(status)) {
      // A stream closes only when its end was read, even when there was nothing before it.
      stream.resume()
      const announced =
        length !== undefined && (isHead || status === 304) ? { announcedLength: length } : undefined
      this.#settle({ head: { ...responseHead(head, NONE), ...announced }, body: noBody })
      return
    }
    const framing: Framing = length === undefined ? { kind: 'chunked' } : { kind: 'length', length }
    this.#body = new StreamBody({
      stream,
      from: 'upstream',
      framing,
      idleMs: Infinity,
      now: () => timeoutChecker.now,
      cancelled: () => stream.reset(CANCEL),
    })
    this.#settle({ head: responseHead(head, framing), body: this.#body })
  }

  data(bytes: Buffer): void {
    this.#body?.data(bytes)
  }

  end(trailers: readonly HeaderField[]): void {
    this.#body?.end(trailers)
  }

  drained(): void {
    this.#sender?.drained()
  }

  stopped(): void {
    this.#sender?.cancel()
  }

  closed(code: number | undefined): void {
    const { link, exchange } = this.#options
    link.release(exchange.client)
    this.#sender?.cancel()
    this.#body?.fail('The stream was reset.')
    if (code === REFUSED_STREAM) this.#settle('refused')
    else if (code === PROTOCOL_ERROR || code === FLOW_CONTROL_ERROR) this.#settle('invalid')
    else if (this.#interims > 0) this.#settle('broken')
    else this.#settle(link.greeted ? 'closed' : 'unreachable')
  }

  #settle(outcome: Http2Outcome): void {
    if (this.#settled) return
    this.#settled = true
    clearTimeout(this.#timer)
    this.#outcome.resolve(outcome)
  }
}

function outgoingHead({ head, client, context }: Exchange, authority: string | undefined): OutgoingHead {
  return {
    method: head.method,
    // The upstream connection has no TLS, and some servers reject a scheme that differs.
    scheme: 'http',
    authority: authority ?? head.upstreamHost ?? head.authority,
    path: head.target,
    length: head.framing.kind === 'length' ? head.framing.length : undefined,
    lines: head.fields.text + forwardedLines(client, head),
    unique: { name: REQUEST_ID, value: context.id },
    // gRPC ends every request with a DATA frame, and its servers wait for one. A client that announced no length may
    // make such a call.
    endsWithData: head.framing.kind === 'chunked',
  }
}

const NONE: Framing = { kind: 'none' }
const isWithoutContent = (status: number): boolean => status === 204 || status === 304

function responseHead({ status, fields }: ResponseHeadFields, framing: Framing): ResponseHead {
  let lines = ''
  for (const { name, value } of fields) {
    // Only the gateway sets the latter: a service must not impersonate the gateway.
    if (name !== 'content-length' && !isAnswerName(name)) lines += `${name}: ${value}\r\n`
  }
  return { status, reason: STATUS_CODES[status] ?? '', framing, fields: new Fields(lines) }
}
