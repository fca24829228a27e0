import { createHash } from 'node:crypto'
import type { Reply } from '#http/exchange.ts'
import { REQUEST_ID, type RequestHead, type ResponseHead } from '#http/head.ts'
import { HttpError } from '#http/http-error.ts'
import { TextBody } from '#http/http1-whole.ts'
import { discardBody, Http2Exchange, lengthOf, type RequestOptions } from '#http/http2/exchange.ts'
import { MessageSender } from '#http/http2/message-sender.ts'
import { KEY_NAME, requestHeadOf } from '#http/http2/request-head.ts'
import { StreamBody } from '#http/http2/stream-body.ts'
import { StreamSplice } from '#http/http2/stream-splice.ts'
import { errorReply } from '#http/pages.ts'
import type { HeaderField } from '#http2/header-field.ts'
import { INTERNAL_ERROR, NO_ERROR, PROTOCOL_ERROR } from '#http2/protocol.ts'
import type { RequestFields } from '#http2/request-fields.ts'
import type { Http2ServerStream, ServerStreamReader } from '#http2/server-stream.ts'

/** RFC 6455 §1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const LAST_STATUS = 599

/** One request of a client and its response, on a stream. */
export class StreamRequest extends Http2Exchange implements ServerStreamReader {
  readonly #stream: Http2ServerStream
  readonly #now: () => number
  #body: StreamBody | undefined
  #sender: MessageSender | undefined
  #splice: StreamSplice | undefined
  #hasRefused = false
  /** Its body is invalid and the error was sent: the service's response is dropped. */
  #isBroken = false

  constructor(stream: Http2ServerStream, options: RequestOptions, now: () => number) {
    super(options)
    this.#stream = stream
    this.#now = now
  }

  /** Handles the request; `ends`: no body follows. */
  start(fields: RequestFields, ends: boolean): void {
    this.#stream.attach(this)
    const head = requestHeadOf(fields, ends)
    if (head instanceof HttpError) {
      this.#send(errorReply(head.code, undefined, head.values))
      return
    }
    this.begin(head)
    if (!ends && fields.protocol === undefined)
      this.context.connection.content = this.#body = this.#bodyOf(head)
    else this.context.connection.contentEnded = performance.now()
    const sendInformational = (interim: ResponseHead): void => this.#sendInformational(interim)
    this.ask(head, this.#body, sendInformational).then(this.#onReply, this.#onFault)
  }

  data(bytes: Buffer): void {
    if (this.#splice !== undefined) this.#splice.send(bytes)
    else this.#body?.data(bytes)
  }

  end(trailers: readonly HeaderField[]): void {
    if (this.#splice !== undefined) {
      this.#splice.finish()
      return
    }
    if (this.#body !== undefined) this.context.connection.contentEnded = performance.now()
    this.#body?.end(trailers)
  }

  drained(): void {
    this.#sender?.drained()
    this.#splice?.drained()
  }

  /** The whole response is sent. An unread request body is stopped (RFC 9113 §8.1). */
  sent(): void {
    if (this.#splice === undefined) this.#stream.reset(NO_ERROR)
  }

  checkTimeouts(now: number): void {
    this.#body?.checkTimeouts(now)
    this.#splice?.checkTimeouts(now)
  }

  closed(): void {
    this.over(this.#stream.isLocallyEnded)
    this.#body?.fail('The stream was reset.')
    this.clientAbort.abort()
    this.#sender?.cancel()
    this.#splice?.abort()
  }

  readonly #onReply = (reply: Reply): void => {
    this.#guard(() => this.#reply(reply))
  }

  readonly #onFault = (error: unknown): void => {
    this.#guard(() => {
      this.faulted(error)
      if (!this.#isBroken) this.#send(errorReply('gateway_fault', this.head))
    })
  }

  /** An internal error costs this stream and nothing else. */
  #guard(action: () => void): void {
    try {
      action()
    } catch {
      this.#stream.reset(INTERNAL_ERROR)
    }
  }

  #bodyOf(head: RequestHead): StreamBody {
    return new StreamBody({
      stream: this.#stream,
      from: 'client',
      framing: head.framing,
      idleMs: this.bodyPatience(head),
      now: this.#now,
      broken: reason => this.#rejectContent(reason),
    })
  }

  #rejectContent(reason: string): void {
    this.#isBroken = true
    this.clientAbort.abort()
    if (this.#stream.hasResponded) this.#stream.reset(PROTOCOL_ERROR)
    else this.#send(errorReply('bad_message', this.head, { reason }))
  }

  #sendInformational(interim: ResponseHead): void {
    const { status, fields } = this.confined(interim)
    // RFC 9113 §8.6: HTTP/2 has no 101.
    if (this.#stream.hasResponded || status === 101) return
    this.#stream.respond(status, undefined, fields.text)
  }

  #reply(reply: Reply): void {
    const { upgraded } = reply
    if (this.#isBroken) {
      reply.body.cancel()
      upgraded?.abort()
    } else if (upgraded === undefined) {
      this.#send(reply)
    } else if (this.#isAccepted(reply.head)) {
      this.#upgrade(reply, upgraded)
    } else {
      upgraded.abort()
      this.#send(errorReply('upstream_invalid', this.head, { reason: 'it changed the protocol' }))
    }
  }

  /** Whether the service has accepted the requested WebSocket. */
  #isAccepted({ fields }: ResponseHead): boolean {
    if (this.head?.upgrade !== 'websocket') return false
    const key = this.head.fields.get(KEY_NAME) ?? ''
    const accept = createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64')
    return fields.get('sec-websocket-accept') === accept
  }

  #upgrade(reply: Reply, upgraded: NonNullable<Reply['upgraded']>): void {
    this.replied(reply)
    if (this.#stream.isOver) {
      upgraded.abort()
      return
    }
    const { fields } = this.confined(reply.head)
    this.#stream.respond(200, undefined, fields.withoutAll(['upgrade', 'sec-websocket-accept']).text)
    this.#splice = new StreamSplice(this.#stream, upgraded, this.#now)
    this.context.connection.upgraded = this.#splice
    this.#splice.start()
  }

  #send(given: Reply): void {
    const reply = this.replied(given)
    if (this.#stream.isOver) {
      reply.body.cancel()
      return
    }
    const { status } = reply.head
    if (this.head?.method === 'HEAD' || status === 204 || status === 304) this.#sendHeadAlone(reply)
    else this.#sendAll(reply)
  }

  #sendHeadAlone(reply: Reply): void {
    discardBody(reply)
    if (this.#respond(reply.head)) this.#stream.end()
  }

  #sendAll({ head, body }: Reply): void {
    if (body instanceof TextBody) {
      if (!this.#respond(head)) return
      this.#stream.writeText(body.text)
      this.#stream.end()
      return
    }
    this.#sender = new MessageSender({
      stream: this.#stream,
      body,
      head: () => this.#respond(head),
      failed: isSent => {
        if (isSent) this.#stream.reset(INTERNAL_ERROR)
        else this.#send(errorReply('upstream_closed', this.head))
      },
    })
    this.#sender.start()
  }

  #respond(head: ResponseHead): boolean {
    const confined = this.confined(head)
    const { status, fields } = confined
    if (status > LAST_STATUS && !this.#hasRefused) {
      this.#hasRefused = true
      this.#send(errorReply('upstream_invalid', this.head, { reason: 'its head cannot be sent in HTTP/2' }))
      return false
    }
    this.#body?.relax()
    const id = { name: REQUEST_ID, value: this.context.id }
    this.#stream.respond(status, lengthOf(confined), fields.text, id)
    return true
  }
}
