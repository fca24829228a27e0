import { createHash } from 'node:crypto'
import { noBody } from '#http/body.ts'
import { ClientAbort, type Exchange, type HttpClientConnection, type Reply } from '#http/exchange.ts'
import { REQUEST_ID, type RequestHead, type ResponseHead } from '#http/head.ts'
import { HttpError } from '#http/http-error.ts'
import { TextBody } from '#http/http1-whole.ts'
import type { RequestOptions } from '#http/http2-request.ts'
import { IDLE_BODY } from '#http/http2-limits.ts'
import { RequestBody } from '#http/http2/request-body.ts'
import { KEY_NAME, requestHeadOf } from '#http/http2/request-head.ts'
import { ResponseSender } from '#http/http2/response-sender.ts'
import { StreamSplice } from '#http/http2/stream-splice.ts'
import { errorReply } from '#http/pages.ts'
import { withPage } from '#http/pages/send-page.ts'
import { defaultTheme } from '#http/pages/theme.ts'
import { requestClient } from '#http/request-client.ts'
import { RequestContext } from '#http/request-context.ts'
import type { HeaderField } from '#http2/header-field.ts'
import { INTERNAL_ERROR, NO_ERROR, PROTOCOL_ERROR } from '#http2/protocol.ts'
import type { RequestFields } from '#http2/request-fields.ts'
import type { Http2Stream, StreamReader } from '#http2/stream.ts'

/** RFC 6455 §1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const LAST_STATUS = 599

/** One request of a client and its response, on a stream. */
export class StreamRequest implements StreamReader {
  readonly #stream: Http2Stream
  readonly #options: RequestOptions
  readonly #now: () => number
  readonly #clientAbort = new ClientAbort()
  readonly #context = new RequestContext()
  #client: HttpClientConnection
  #head: RequestHead | undefined
  #body: RequestBody | undefined
  #sender: ResponseSender | undefined
  #splice: StreamSplice | undefined
  #hasRefused = false
  /** Its body is invalid and the error was sent: the service's response is dropped. */
  #isBroken = false

  constructor(stream: Http2Stream, options: RequestOptions, now: () => number) {
    this.#stream = stream
    this.#options = options
    this.#client = options.client
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
    this.#head = head
    this.#client = requestClient(this.#client, head, this.#options.proxies)
    if (!ends && fields.protocol === undefined)
      this.#context.connection.content = this.#body = this.#bodyOf(head)
    else this.#context.connection.contentEnded = performance.now()
    this.#options.answer(this.#exchange(head)).then(this.#replied, this.#faulted)
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
    if (this.#body !== undefined) this.#context.connection.contentEnded = performance.now()
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
    this.#options.observer?.ended(this.#context, this.#stream.isLocallyEnded)
    this.#body?.fail(new Error('The stream was reset.'))
    this.#clientAbort.abort()
    this.#sender?.cancel()
    this.#splice?.abort()
  }

  readonly #replied = (reply: Reply): void => {
    this.#guard(() => this.#reply(reply))
  }

  readonly #faulted = (error: unknown): void => {
    this.#guard(() => {
      if (this.#head !== undefined) this.#options.observer?.failed(this.#head, error)
      if (!this.#isBroken) this.#send(errorReply('gateway_fault', this.#head))
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

  #exchange(head: RequestHead): Exchange {
    return {
      client: this.#client,
      head,
      body: this.#body ?? (head.framing.kind === 'none' ? noBody : { ...noBody, framing: head.framing }),
      clientAbort: this.#clientAbort,
      context: this.#context,
      sendInformational: interim => this.#sendInformational(interim),
    }
  }

  #bodyOf({ framing, fields }: RequestHead): RequestBody {
    // In a gRPC call either side may be silent for hours; gRPC has its own keep-alive and deadlines.
    const isCall = fields.get('content-type')?.startsWith('application/grpc') === true
    return new RequestBody({
      stream: this.#stream,
      framing,
      idleMs: isCall ? Infinity : (this.#options.bodyPatience ?? IDLE_BODY),
      now: this.#now,
      broken: reason => this.#rejectContent(reason),
    })
  }

  #rejectContent(reason: string): void {
    this.#isBroken = true
    this.#clientAbort.abort()
    if (this.#stream.hasResponded) this.#stream.reset(PROTOCOL_ERROR)
    else this.#send(errorReply('bad_message', this.#head, { reason }))
  }

  #sendInformational(interim: ResponseHead): void {
    const { status, fields } = this.#confined(interim)
    // RFC 9113 §8.6: HTTP/2 has no 101.
    if (this.#stream.hasResponded || status === 101) return
    this.#stream.respond(status, undefined, fields.text)
  }

  #confined(head: ResponseHead): ResponseHead {
    const { isolation } = this.#options
    return isolation === undefined || this.#head === undefined
      ? head
      : isolation.confined(head, this.#head.host)
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
      this.#send(errorReply('upstream_invalid', this.#head, { reason: 'it changed the protocol' }))
    }
  }

  /** Whether the service has accepted the WebSocket that was asked for. */
  #isAccepted({ fields }: ResponseHead): boolean {
    if (this.#head?.upgrade !== 'websocket') return false
    const key = this.#head.fields.get(KEY_NAME) ?? ''
    const accept = createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64')
    return fields.get('sec-websocket-accept') === accept
  }

  #upgrade(reply: Reply, upgraded: NonNullable<Reply['upgraded']>): void {
    this.#options.observer?.replied(this.#client, this.#head, reply, this.#context)
    if (this.#stream.isOver) {
      upgraded.abort()
      return
    }
    const { fields } = this.#confined(reply.head)
    this.#stream.respond(200, undefined, fields.withoutAll(['upgrade', 'sec-websocket-accept']).text)
    this.#splice = new StreamSplice(this.#stream, upgraded, this.#now)
    this.#context.connection.upgraded = this.#splice
    this.#splice.start()
  }

  #send(given: Reply): void {
    const { observer, theme = defaultTheme } = this.#options
    const client = this.#client
    const context = this.#context
    const reply = given.page === undefined ? given : withPage(given, { theme, ip: client.ip, context })
    observer?.replied(client, this.#head, reply, context)
    if (this.#stream.isOver) {
      reply.body.cancel()
      return
    }
    const { status } = reply.head
    if (this.#head?.method === 'HEAD' || status === 204 || status === 304) this.#sendHeadAlone(reply)
    else this.#sendAll(reply)
  }

  #sendHeadAlone({ head, body }: Reply): void {
    // Reading an empty body signals the end of the exchange; any other body is not needed.
    if (body.framing.kind === 'none') body.read(ignored, false)
    else body.cancel()
    if (this.#respond(head)) this.#stream.end()
  }

  #sendAll({ head, body }: Reply): void {
    if (body instanceof TextBody) {
      if (!this.#respond(head)) return
      this.#stream.writeText(body.text)
      this.#stream.end()
      return
    }
    this.#sender = new ResponseSender({
      stream: this.#stream,
      body,
      head: () => this.#respond(head),
      failed: isSent => {
        if (isSent) this.#stream.reset(INTERNAL_ERROR)
        else this.#send(errorReply('upstream_closed', this.#head))
      },
    })
    this.#sender.start()
  }

  #respond(head: ResponseHead): boolean {
    const { framing, announcedLength, status, fields } = this.#confined(head)
    if (status > LAST_STATUS && !this.#hasRefused) {
      this.#hasRefused = true
      this.#send(errorReply('upstream_invalid', this.#head, { reason: 'its head cannot be sent in HTTP/2' }))
      return false
    }
    const length = framing.kind === 'length' ? framing.length : announcedLength
    this.#body?.relax()
    const id = `${REQUEST_ID}: ${this.#context.id}\r\n`
    this.#stream.respond(status, status === 204 ? undefined : length, fields.text, id)
    return true
  }
}

const ignored = { data: () => undefined, end: () => undefined, fail: () => undefined }
