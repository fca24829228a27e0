import type { Socket } from 'node:net'
import {
  ClientAbort,
  type Endpoint,
  type Exchange,
  type Observer,
  type Reply,
  type HttpClientConnection,
} from '#http/exchange.ts'
import { type Body, bodyOf, noBody } from '#http/body.ts'
import type { RequestHead, ResponseHead } from '#http/head.ts'
import { AnswerWriter } from '#http/http1-answer.ts'
import { type BodySource, IncomingBody } from '#http/http1-body.ts'
import { requestTrailers } from '#http/http1-chunks.ts'
import { defaultClientLimits, type Http1ClientLimits } from '#http/http1-limits.ts'
import { findRequestEnd, MAX_REQUEST_HEAD, parseRequestHead } from '#http/http1-request-head.ts'
import { SocketSplice } from '#http/http1-splice.ts'
import type { SiteIsolation } from '#http/site-isolation.ts'
import { endsWithConnection, serializeInformationalHead, isBare } from '#http/http1-serialize.ts'
import { malformed, HttpError } from '#http/http-error.ts'
import { errorReply } from '#http/pages.ts'
import { RequestContext } from '#http/request-context.ts'
import { ownedCopy } from '#tunnel/buffer-pool.ts'
import { type BorrowedReader, readBorrowed, type SocketReads } from '#tunnel/socket-reads.ts'
import { cut } from '#tunnel/splice.ts'
import {
  timeoutChecker as sharedSweeper,
  type TimeoutChecker,
  type HasTimeouts,
} from '#http/timeout-checker.ts'

export interface ServeOptions {
  readonly client: HttpClientConnection
  readonly answer: Endpoint
  readonly observer?: Observer
  readonly limits?: Partial<Http1ClientLimits>
  readonly timeouts?: TimeoutChecker
  /** Isolates responses of hosts from each other; absent: off. */
  readonly isolation?: SiteIsolation | undefined
  /** Bytes already read from the connection. */
  readonly first?: Buffer
}

/** A client connection being served. */
export interface Served {
  /** Finishes the running request, or one that arrives in a moment, then closes. */
  drain(): void
  /** Aborts the running request, if any. */
  cut(): void
  readonly closed: Promise<void>
}

/** Serves HTTP/1 on a socket, plain or TLS, created with `allowHalfOpen` and no reader. */
export function serveHttp1(socket: Socket, options: ServeOptions): Served {
  return new Http1ServerConnection(socket, options)
}

// Nearly every head is shorter, so a large body after it is not converted to text.
const FIRST_LOOK = 2048
const emptyBody = bodyOf(Buffer.alloc(0))

/**
 * head: waiting for a complete request head. serving: the response is not finished. unwanted: the response is, the
 * request body is not. upgraded: another protocol. leaving: we have closed, and wait for the client to do so.
 */
type State = 'head' | 'serving' | 'unwanted' | 'upgraded' | 'leaving'

class Http1ServerConnection implements Served, BodySource, HasTimeouts, BorrowedReader {
  readonly closed: Promise<void>
  readonly #socket: Socket
  readonly #client: HttpClientConnection
  readonly #answer: Endpoint
  readonly #observer: Observer | undefined
  readonly #limits: Http1ClientLimits
  readonly #timeouts: TimeoutChecker
  readonly #isolation: SiteIsolation | undefined
  readonly #writer: AnswerWriter
  readonly #reads: SocketReads
  readonly #sendInformational = (head: ResponseHead): void => this.#interim(head)
  readonly #replied = (reply: Reply): void => {
    try {
      this.#reply(reply)
    } catch (error) {
      this.#faulted(error)
    }
  }
  readonly #faulted = (error: unknown): void => {
    if (this.#head !== undefined) this.#observer?.failed(this.#head, error)
    this.#refuse(new HttpError('gateway_fault'))
  }
  #state: State = 'head'
  /** When the state began, or its last byte arrived. */
  #since: number
  #requests = 0
  #partial: Buffer | undefined
  #waiting: Buffer | undefined
  #held = false
  #head: RequestHead | undefined
  #content: IncomingBody | undefined
  #clientAbort: ClientAbort | undefined
  /** Of the running request. */
  #context: RequestContext | undefined
  #splice: SocketSplice | undefined
  #answering = false
  #keepAlive = true
  #continued = false
  #discarded = 0
  #draining = false
  #clientEnded = false
  #sent = 0
  #unsent = 0
  #unsentSince = 0

  constructor(socket: Socket, options: ServeOptions) {
    const { client, answer, observer, limits, timeouts = sharedSweeper, first } = options
    this.#socket = socket
    this.#client = client
    this.#answer = answer
    this.#observer = observer
    this.#limits = limits === undefined ? defaultClientLimits : { ...defaultClientLimits, ...limits }
    this.#timeouts = timeouts
    this.#isolation = options.isolation
    this.#writer = new AnswerWriter(
      socket,
      () => this.#answerEnded(),
      reason => this.#replace(reason),
    )
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    timeouts.add(this)
    this.#since = timeouts.now
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('drain', () => this.#drained())
    socket.on('close', () => {
      this.#gone()
      resolve()
    })
    this.#reads = readBorrowed(socket, this)
    if (first !== undefined && first.length > 0) this.#data(first)
  }

  /** Most requests are a head that arrives whole: it is parsed in place. All else is kept beyond this call. */
  onRead(bytes: Buffer, length: number, owned: boolean): void {
    if (this.#state === 'head' && this.#partial === undefined && !owned) this.#readBorrowed(bytes, length)
    else this.#data(owned ? bytes.subarray(0, length) : ownedCopy(bytes, 0, length))
  }

  end(): void {
    this.#ended()
  }

  drain(): void {
    this.#draining = true
    this.#keepAlive = false
    // Not closed yet: the first request of a new connection would be lost, and the client would not retry it.
    if (this.#state === 'head' && this.#partial === undefined) this.#since = this.#timeouts.now
  }

  cut(): void {
    if (this.#state !== 'head') this.#socket.destroy()
  }

  checkTimeouts(now: number): void {
    const waited = now - this.#since
    if (this.#stalled(now)) cut(this.#socket)
    else if (this.#state === 'head') this.#sweepHead(waited)
    else if (this.#state === 'serving') this.#sweepServing(waited)
    else if (this.#state === 'upgraded') this.#sweepUpgraded(waited)
    else if (waited > this.#limits.lingerMs) this.#socket.destroy()
  }

  holdContent(): void {
    this.#held = true
    this.#reads.pause()
  }

  moreContent(): void {
    this.#since = this.#timeouts.now
    if (this.#held) this.#read()
  }

  contentEnded(rest: Buffer | undefined): void {
    this.#waiting = rest
    if (this.#context !== undefined) this.#context.contentEnded = performance.now()
    // Before the response ends, only the end of the connection shows that the client has disconnected.
    this.#read()
    if (this.#state === 'unwanted') this.#next()
  }

  contentBroken(reason: string): void {
    if (this.#state === 'serving') this.#refuse(malformed(reason))
    else this.#leave()
  }

  contentUnwanted(): void {
    this.#discarded = 0
  }

  /** Body bytes of the running request are outstanding. */
  get #contentDue(): boolean {
    return this.#content?.finished === false
  }

  #data(bytes: Buffer): void {
    if (this.#state === 'head') this.#readHead(bytes)
    else if (this.#state === 'upgraded') this.#pass(bytes)
    else if (this.#state !== 'leaving') this.#behindHead(bytes)
  }

  #readBorrowed(bytes: Buffer, length: number): void {
    const text = bytes.toString('latin1', 0, Math.min(length, FIRST_LOOK))
    const end = findRequestEnd(text)
    if (typeof end !== 'number' || end + 2 < length) {
      this.#readHead(ownedCopy(bytes, 0, length))
      return
    }
    const head = parseRequestHead(text, end)
    if (head instanceof HttpError) this.#refuse(head)
    else this.#serve(head, undefined)
  }

  #readHead(bytes: Buffer): void {
    const chunk = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes])
    let text = chunk.toString('latin1', 0, FIRST_LOOK)
    let end = findRequestEnd(text)
    if (end === undefined && chunk.length > FIRST_LOOK) {
      text = chunk.toString('latin1', 0, MAX_REQUEST_HEAD + 1)
      end = findRequestEnd(text)
    }
    if (end === undefined) {
      if (this.#partial === undefined) this.#since = this.#timeouts.now
      this.#partial = chunk
      return
    }
    this.#partial = undefined
    const head = end instanceof HttpError ? end : parseRequestHead(text, end)
    if (head instanceof HttpError) this.#refuse(head)
    else
      this.#serve(
        head,
        typeof end === 'number' && end + 2 < chunk.length ? chunk.subarray(end + 2) : undefined,
      )
  }

  #serve(head: RequestHead, rest: Buffer | undefined): void {
    const { framing } = head
    this.#state = 'serving'
    this.#since = this.#timeouts.now
    this.#head = head
    this.#continued = false
    this.#keepAlive = head.keepAlive && !this.#draining && ++this.#requests < this.#limits.maxRequests
    let body: Body = noBody
    this.#content = undefined
    if (framing.kind === 'chunked' || (framing.kind === 'length' && framing.length > 0)) {
      body = this.#content = new IncomingBody(framing, this, requestTrailers)
      if (rest !== undefined) this.#content.push(rest)
    } else {
      if (framing.kind === 'length') body = emptyBody
      this.#waiting = rest
    }
    this.#clientAbort = new ClientAbort()
    const context = (this.#context = new RequestContext())
    context.content = this.#content
    this.#ask({
      client: this.#client,
      head,
      body,
      clientAbort: this.#clientAbort,
      context,
      sendInformational: this.#sendInformational,
    })
    const content = this.#content
    if (content !== undefined && !content.finished && !content.flowing && !content.unwanted)
      this.holdContent()
  }

  #ask(exchange: Exchange): void {
    try {
      this.#answer(exchange).then(this.#replied, this.#faulted)
    } catch (error) {
      this.#faulted(error)
    }
  }

  #pass(bytes: Buffer): void {
    this.#since = this.#timeouts.now
    this.#splice?.send(bytes)
  }

  /** Bytes while a request runs: its body, or pipelined requests, which wait. */
  #behindHead(bytes: Buffer): void {
    const content = this.#content
    if (content === undefined || content.finished) {
      this.#waiting = this.#waiting === undefined ? bytes : Buffer.concat([this.#waiting, bytes])
      if (this.#waiting.length >= this.#limits.waitingBytes) this.holdContent()
      return
    }
    this.#since = this.#state === 'serving' ? this.#timeouts.now : this.#since
    if (content.unwanted && (this.#discarded += bytes.length) > this.#limits.unwantedBytes) {
      if (this.#state === 'unwanted') this.#leave()
      else this.holdContent()
      return
    }
    content.push(bytes)
  }

  #interim(head: ResponseHead): void {
    if (this.#state !== 'serving' || this.#answering || this.#head?.version !== '1.1') return
    this.#continued ||= head.status === 100
    this.#socket.write(serializeInformationalHead(this.#confined(head, this.#head.host)), 'latin1')
  }

  #confined(head: ResponseHead, host: string): ResponseHead {
    return this.#isolation?.confined(head, host) ?? head
  }

  #reply(reply: Reply): void {
    const head = this.#head
    const context = this.#context
    if (this.#state !== 'serving' || this.#answering || head === undefined || context === undefined) {
      reply.body.cancel()
      reply.upgraded?.abort()
      return
    }
    this.#answering = true
    this.#observer?.replied(this.#client, head, reply, context)
    const answer = this.#confined(reply.head, head.host)
    if (reply.upgraded !== undefined) {
      this.#upgrade(answer, reply.upgraded)
      return
    }
    const version = head.version === '1.0' ? '1.0' : '1.1'
    const bare = isBare(head.method, reply.head.status)
    const unsure = head.expectsContinue && !this.#continued && this.#contentDue
    if (unsure || (!bare && endsWithConnection(reply.head.framing, version))) this.#keepAlive = false
    const sent = answer === reply.head ? reply : { ...reply, head: answer }
    this.#writer.begin(sent, { version, keepAlive: this.#keepAlive, bare, requestId: context.id })
  }

  #upgrade(head: ResponseHead, stream: NonNullable<Reply['upgraded']>): void {
    this.#state = 'upgraded'
    this.#socket.write(serializeInformationalHead(head), 'latin1')
    const waiting = this.#waiting
    this.#waiting = undefined
    this.#splice = new SocketSplice(this.#socket, this.#reads, stream)
    if (this.#context !== undefined) this.#context.upgraded = this.#splice
    if (waiting !== undefined) this.#splice.send(waiting)
    if (this.#clientEnded) this.#splice.finish()
    this.#read()
  }

  /** Rejects a request and closes, because the start of the next one is unknown. */
  #refuse(error: HttpError): void {
    if (this.#state === 'leaving') return
    if (this.#answering) {
      this.#socket.destroy()
      return
    }
    const head = this.#head
    const asked = this.#state === 'serving' ? head : undefined
    this.#state = 'serving'
    this.#answering = true
    this.#keepAlive = false
    this.#clientAbort?.abort()
    this.#content?.fail(new Error('The request was refused.'))
    const reply = errorReply(error.code, asked, error.values)
    const context = (this.#context ??= new RequestContext())
    this.#observer?.replied(this.#client, asked, reply, context)
    const bare = asked !== undefined && isBare(asked.method, reply.head.status)
    this.#writer.begin(reply, { version: '1.1', keepAlive: false, bare, requestId: context.id })
  }

  /** The response is invalid from its first chunk on, so an error can still be sent. */
  #replace(reason: string): void {
    this.#answering = false
    this.#refuse(new HttpError('upstream_invalid', { reason }))
  }

  #answerEnded(): void {
    this.#over(true)
    const content = this.#content
    if (content === undefined || content.finished) {
      this.#next()
      return
    }
    const { framing } = content
    const known = framing.kind === 'length' && content.left > this.#limits.unwantedBytes
    if (!this.#keepAlive || known || (content.unwanted && this.#held)) {
      content.cancel()
      this.#leave()
      return
    }
    this.#state = 'unwanted'
    this.#since = this.#timeouts.now
    content.cancel()
    this.#read()
  }

  /** The running request has ended. */
  #over(whole: boolean): void {
    const context = this.#context
    this.#context = undefined
    if (context !== undefined) this.#observer?.ended(context, whole)
  }

  #next(): void {
    this.#answering = false
    this.#clientAbort = undefined
    this.#content = undefined
    const waiting = this.#waiting
    if (!this.#keepAlive || (this.#clientEnded && waiting === undefined)) {
      this.#leave()
      return
    }
    this.#state = 'head'
    this.#since = this.#timeouts.now
    this.#waiting = undefined
    if (waiting !== undefined) this.#readHead(waiting)
    if (this.#clientEnded && this.#partial !== undefined) this.#leave()
    else if (!this.#contentDue) this.#read()
  }

  /** Resumes reading, which may deliver bytes at once; not while requests wait. */
  #read(): void {
    if (!this.#held || (this.#waiting?.length ?? 0) >= this.#limits.waitingBytes) return
    this.#held = false
    this.#reads.resume()
  }

  /** Half-closes. Incoming bytes are read and dropped: unread ones would turn the close into a reset. */
  #leave(): void {
    this.#state = 'leaving'
    this.#since = this.#timeouts.now
    this.#waiting = this.#partial = undefined
    this.#clientAbort = undefined
    this.#read()
    if (this.#clientEnded) this.#socket.destroySoon()
    else this.#socket.end()
  }

  #drained(): void {
    this.#writer.drained()
    this.#splice?.drained()
  }

  #ended(): void {
    this.#clientEnded = true
    if (this.#state === 'upgraded') this.#splice?.finish()
    else if (this.#state !== 'serving') this.#leave()
    else if (this.#contentDue) this.#socket.destroy()
  }

  #gone(): void {
    this.#timeouts.delete(this)
    const clientAbort = this.#clientAbort
    this.#state = 'leaving'
    this.#over(false)
    this.#waiting = this.#partial = this.#clientAbort = undefined
    this.#content?.fail(new Error('The client has disconnected.'))
    this.#splice?.abort()
    this.#writer.abandon()
    clientAbort?.abort()
  }

  #stalled(now: number): boolean {
    const unsent = this.#socket.writableLength
    if (unsent !== this.#unsent || unsent === 0) {
      this.#unsent = unsent
      this.#unsentSince = now
    }
    return now - this.#unsentSince > this.#limits.writeStallMs
  }

  #sweepHead(waited: number): void {
    const { headMs, keepAliveMs, drainMs } = this.#limits
    if (this.#partial !== undefined) {
      if (waited > headMs) this.#refuse(new HttpError('request_timeout'))
      return
    }
    const patience = this.#requests === 0 ? headMs : keepAliveMs
    if (waited > (this.#draining ? drainMs : patience)) this.#leave()
  }

  #sweepServing(waited: number): void {
    const { bodyIdleMs } = this.#limits
    const content = this.#content
    if (content?.finished === false && content.flowing && waited > bodyIdleMs)
      this.#refuse(new HttpError('request_timeout'))
    else if (this.#clientEnded) this.#sweepHalfClosed(waited)
  }

  /** The service has half-closed; a client that neither closes nor sends has gone. */
  #sweepUpgraded(waited: number): void {
    if (this.#socket.writableEnded && waited > this.#limits.halfClosedMs) this.#socket.destroy()
  }

  #sweepHalfClosed(waited: number): void {
    const sent = this.#socket.bytesWritten
    if (sent === this.#sent) {
      if (waited > this.#limits.halfClosedMs) this.#socket.destroy()
      return
    }
    this.#sent = sent
    this.#since = this.#timeouts.now
  }
}
