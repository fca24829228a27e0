import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Reply } from '#http/exchange.ts'
import { REQUEST_ID, type RequestHead, type ResponseHead } from '#http/head.ts'
import { Http2Body } from '#http/http2-body.ts'
import { discardBody, Http2Exchange, lengthOf, type RequestOptions } from '#http/http2-exchange.ts'
import { addPairs, headersOf } from '#http/http2-fields.ts'
import { guarded } from '#http/http2-guard.ts'
import { requestHead } from '#http/http2-head.ts'
import { ContentSender } from '#http/http2-send.ts'
import { HttpError } from '#http/http-error.ts'
import { errorReply } from '#http/pages.ts'

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR } = constants

/** One stream of a client: a request and its response. */
export class Http2Request extends Http2Exchange {
  readonly #stream: ServerHttp2Stream
  #body: Http2Body | undefined
  #sender: ContentSender | undefined
  #refused = false
  /** Its body is invalid and the error was sent: the service's response is dropped. */
  #broken = false
  #whole = false

  constructor(stream: ServerHttp2Stream, options: RequestOptions) {
    super(options)
    this.#stream = stream
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
    this.begin(head)
    if (!ends) this.context.connection.content = this.#body = this.#contentOf(head)
    const stream = this.#stream
    this.ask(head, this.#body, interim => this.#sendInformational(interim)).then(
      reply => guarded(stream, () => this.#reply(reply)),
      (error: unknown) => guarded(stream, () => this.#fault(error)),
    )
  }

  #contentOf(head: RequestHead): Http2Body {
    const milliseconds = this.bodyPatience(head)
    const patience = { milliseconds, idle: () => this.#stream.close(NGHTTP2_CANCEL) }
    return new Http2Body({
      stream: this.#stream,
      from: 'client',
      framing: head.framing,
      ended: () => (this.context.connection.contentEnded = performance.now()),
      broken: reason => this.#rejectContent(reason),
      patience: milliseconds === Infinity ? undefined : patience,
    })
  }

  #rejectContent(reason: string): void {
    const stream = this.#stream
    this.#broken = true
    this.clientAbort.abort()
    if (stream.headersSent) stream.close(NGHTTP2_PROTOCOL_ERROR)
    else this.#send(errorReply('bad_message', this.head, { reason }))
  }

  #sendInformational(interim: ResponseHead): void {
    const { status, fields } = this.confined(interim)
    if (this.#stream.destroyed || this.#stream.closed || this.#stream.headersSent) return
    // RFC 9113 §8.6: HTTP/2 has no 101.
    if (status === 101) return
    guarded(this.#stream, () => {
      this.#stream.additionalHeaders({ ...headersOf(fields.text), ':status': status })
    })
  }

  #reply(reply: Reply): void {
    if (this.#broken) {
      reply.body.cancel()
      reply.upgraded?.abort()
      return
    }
    if (reply.upgraded !== undefined) {
      reply.upgraded.abort()
      this.#send(errorReply('upstream_invalid', this.head, { reason: 'it changed the protocol' }))
      return
    }
    this.#send(reply)
  }

  #fault(error: unknown): void {
    this.faulted(error)
    if (!this.#broken) this.#send(errorReply('gateway_fault', this.head))
  }

  #send(given: Reply): void {
    const stream = this.#stream
    const reply = this.replied(given)
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

  #sendHeadAlone(reply: Reply): void {
    discardBody(reply)
    if (this.#respond(reply.head, true, false)) this.#answered()
  }

  #sendAll({ head, body }: Reply): void {
    const sender = new ContentSender({
      body,
      head: (ends, trailers) => (this.#respond(head, ends, trailers) ? this.#stream : undefined),
      failed: (_error, headSent) => {
        if (headSent) this.#stream.close(NGHTTP2_INTERNAL_ERROR)
        else this.#send(errorReply('upstream_closed', this.head))
      },
      finished: () => this.#answered(),
    })
    this.#sender = sender
    sender.start()
  }

  #respond(head: ResponseHead, endStream: boolean, waitForTrailers: boolean): boolean {
    const confined = this.confined(head)
    const pairs = [':status', String(confined.status)]
    const length = lengthOf(confined)
    if (length !== undefined) pairs.push('content-length', String(length))
    addPairs(pairs, confined.fields.text)
    pairs.push(REQUEST_ID, this.context.id)
    const options = { endStream, waitForTrailers, sendDate: false }
    this.#body?.relax()
    try {
      this.#stream.respond(pairs, options)
      return true
    } catch (error) {
      // A status or field that HTTP/2 does not allow: send an error, unless even that fails.
      if (this.#refused || this.#stream.headersSent) throw error
      this.#refused = true
      this.#send(errorReply('upstream_invalid', this.head, { reason: 'its head cannot be sent in HTTP/2' }))
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
    this.over(this.#whole)
    this.clientAbort.abort()
    this.#sender?.cancel()
  }
}
