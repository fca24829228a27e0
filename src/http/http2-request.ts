import { constants, type ServerHttp2Stream } from 'node:http2'
import type { TrustedProxies } from '#base/trusted-proxies.ts'
import {
  ClientAbort,
  type Endpoint,
  type Exchange,
  type Observer,
  type Reply,
  type HttpClientConnection,
} from '#http/exchange.ts'
import { noBody } from '#http/body.ts'
import { REQUEST_ID, type RequestHead, type ResponseHead } from '#http/head.ts'
import { Http2Body } from '#http/http2-body.ts'
import { addPairs, headersOf } from '#http/http2-fields.ts'
import { guarded } from '#http/http2-guard.ts'
import { requestHead } from '#http/http2-head.ts'
import { IDLE_BODY } from '#http/http2-limits.ts'
import { ContentSender } from '#http/http2-send.ts'
import type { SiteIsolation } from '#http/site-isolation.ts'
import { HttpError } from '#http/http-error.ts'
import { errorReply } from '#http/pages.ts'
import { withPage } from '#http/pages/send-page.ts'
import { defaultTheme, type PageTheme } from '#http/pages/theme.ts'
import { requestClient } from '#http/request-client.ts'
import { RequestContext } from '#http/request-context.ts'

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR } = constants

export interface RequestOptions {
  readonly client: HttpClientConnection
  readonly answer: Endpoint
  readonly observer?: Observer | undefined
  /** Isolates responses of hosts from each other; absent: off. */
  readonly isolation?: SiteIsolation | undefined
  /** What pages of the gateway look like; absent: the default. */
  readonly theme?: PageTheme | undefined
  /** Proxies whose requests are those of their clients; absent: none. */
  readonly proxies?: TrustedProxies | undefined
  /** Milliseconds without body data after which a request is aborted. */
  readonly bodyPatience?: number
}

/** One stream of a client: a request and its response. */
export class Http2Request {
  readonly #stream: ServerHttp2Stream
  readonly #options: RequestOptions
  readonly #clientAbort = new ClientAbort()
  readonly #context = new RequestContext()
  #client: HttpClientConnection
  #head: RequestHead | undefined
  #body: Http2Body | undefined
  #sender: ContentSender | undefined
  #refused = false
  /** Its body is invalid and the error was sent: the service's response is dropped. */
  #broken = false
  #whole = false

  constructor(stream: ServerHttp2Stream, options: RequestOptions) {
    this.#stream = stream
    this.#options = options
    this.#client = options.client
  }

  /** Body bytes received. */
  get received(): number {
    return this.#body?.travelled ?? 0
  }

  /** Whether its body was not read to the end. */
  get unfinished(): boolean {
    return this.#body?.complete === false
  }

  /** Reads the head and handles the request; `ends`: no body follows. */
  start(pairs: readonly string[], ends: boolean): void {
    const head = requestHead(pairs, ends)
    if (head instanceof HttpError) {
      this.#send(errorReply(head.code, undefined, head.values))
      return
    }
    this.#head = head
    this.#client = requestClient(this.#client, head, this.#options.proxies)
    const stream = this.#stream
    this.#options.answer(this.#exchange(head, ends)).then(
      reply => guarded(stream, () => this.#reply(reply)),
      (error: unknown) => guarded(stream, () => this.#fault(head, error)),
    )
  }

  #exchange(head: RequestHead, ends: boolean): Exchange {
    if (!ends) this.#context.connection.content = this.#body = this.#contentOf(head)
    return {
      client: this.#client,
      head,
      body: this.#body ?? (head.framing.kind === 'none' ? noBody : { ...noBody, framing: head.framing }),
      clientAbort: this.#clientAbort,
      context: this.#context,
      sendInformational: interim => this.#sendInformational(interim),
    }
  }

  #contentOf({ framing, fields }: RequestHead): Http2Body {
    // In a gRPC call either side may be silent for hours; gRPC has its own keep-alive and deadlines.
    const isCall = fields.get('content-type')?.startsWith('application/grpc') === true
    const milliseconds = this.#options.bodyPatience ?? IDLE_BODY
    const patience = { milliseconds, idle: () => this.#stream.close(NGHTTP2_CANCEL) }
    return new Http2Body({
      stream: this.#stream,
      from: 'client',
      framing,
      ended: () => (this.#context.connection.contentEnded = performance.now()),
      broken: reason => this.#rejectContent(reason),
      patience: isCall ? undefined : patience,
    })
  }

  #rejectContent(reason: string): void {
    const stream = this.#stream
    this.#broken = true
    this.#clientAbort.abort()
    if (stream.headersSent) stream.close(NGHTTP2_PROTOCOL_ERROR)
    else this.#send(errorReply('bad_message', this.#head, { reason }))
  }

  #sendInformational(interim: ResponseHead): void {
    const { status, fields } = this.#confined(interim)
    if (this.#stream.destroyed || this.#stream.closed || this.#stream.headersSent) return
    // RFC 9113 §8.6: HTTP/2 has no 101.
    if (status === 101) return
    guarded(this.#stream, () => {
      this.#stream.additionalHeaders({ ...headersOf(fields.text), ':status': status })
    })
  }

  #confined(head: ResponseHead): ResponseHead {
    const { isolation } = this.#options
    return isolation === undefined || this.#head === undefined
      ? head
      : isolation.confined(head, this.#head.host)
  }

  #reply(reply: Reply): void {
    if (this.#broken) {
      reply.body.cancel()
      reply.upgraded?.abort()
      return
    }
    if (reply.upgraded !== undefined) {
      reply.upgraded.abort()
      this.#send(errorReply('upstream_invalid', this.#head, { reason: 'it changed the protocol' }))
      return
    }
    this.#send(reply)
  }

  #fault(head: RequestHead, error: unknown): void {
    this.#options.observer?.failed(head, error)
    if (!this.#broken) this.#send(errorReply('gateway_fault', head))
  }

  #send(given: Reply): void {
    const stream = this.#stream
    const { observer, theme = defaultTheme } = this.#options
    const client = this.#client
    const context = this.#context
    const reply = given.page === undefined ? given : withPage(given, { theme, ip: client.ip, context })
    observer?.replied(client, this.#head, reply, context)
    if (stream.destroyed || stream.closed) {
      reply.body.cancel()
      return
    }
    guarded(stream, () => {
      const { status } = reply.head
      // For HEAD, node has already ended our direction.
      if (stream.writableEnded || status === 204 || status === 304) this.#sendHeadAlone(reply)
      else this.#sendAll(reply)
    })
  }

  #sendHeadAlone({ head, body }: Reply): void {
    // Reading an empty body signals the end of the exchange; any other body is not needed.
    if (body.framing.kind === 'none') body.read(ignored, false)
    else body.cancel()
    if (this.#respond(head, true, false)) this.#answered()
  }

  #sendAll({ head, body }: Reply): void {
    const sender = new ContentSender({
      body,
      head: (ends, trailers) => (this.#respond(head, ends, trailers) ? this.#stream : undefined),
      failed: (_error, headSent) => {
        if (headSent) this.#stream.close(NGHTTP2_INTERNAL_ERROR)
        else this.#send(errorReply('upstream_closed', this.#head))
      },
      finished: () => this.#answered(),
    })
    this.#sender = sender
    sender.start()
  }

  #respond(head: ResponseHead, endStream: boolean, waitForTrailers: boolean): boolean {
    const { framing, announcedLength, status, fields } = this.#confined(head)
    const pairs = [':status', String(status)]
    const length = framing.kind === 'length' ? framing.length : announcedLength
    if (length !== undefined && status !== 204) pairs.push('content-length', String(length))
    addPairs(pairs, fields.text)
    pairs.push(REQUEST_ID, this.#context.id)
    const options = { endStream, waitForTrailers, sendDate: false }
    this.#body?.relax()
    try {
      this.#stream.respond(pairs, options)
      return true
    } catch (error) {
      // A status or field that HTTP/2 does not allow: send an error, unless even that fails.
      if (this.#refused || this.#stream.headersSent) throw error
      this.#refused = true
      this.#send(errorReply('upstream_invalid', this.#head, { reason: 'its head cannot be sent in HTTP/2' }))
      return false
    }
  }

  /** The whole response is in flight. An unread request body is stopped (RFC 9113 §8.1). */
  #answered(): void {
    this.#whole = true
    if (this.#body !== undefined && !this.#body.finished) this.#stream.close(NGHTTP2_NO_ERROR)
  }

  /** Aborts it, with or without a response. */
  cut(): void {
    if (!this.#stream.destroyed && !this.#stream.closed) this.#stream.close(NGHTTP2_CANCEL)
  }

  /** The stream has closed, for whatever reason. */
  closed(): void {
    this.#options.observer?.ended(this.#context, this.#whole)
    this.#clientAbort.abort()
    this.#sender?.cancel()
  }
}

const ignored = { data: () => undefined, end: () => undefined, fail: () => undefined }
