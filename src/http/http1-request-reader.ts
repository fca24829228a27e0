import type { Socket } from 'node:net'
import { type Body, bodyOf, noBody } from '#http/body.ts'
import type { RequestHead } from '#http/head.ts'
import { type BodySource, IncomingBody } from '#http/http1-body.ts'
import { requestTrailers } from '#http/http1-chunks.ts'
import type { ConnectionClock } from '#http/http1-connection-clock.ts'
import type { Http1ClientLimits } from '#http/http1-limits.ts'
import { findRequestEnd, parseRequestHead, RepeatedFields } from '#http/http1-request-head.ts'
import { SocketSplice } from '#http/http1-splice.ts'
import { HttpError } from '#http/http-error.ts'
import { ownedCopy, release } from '#tunnel/buffer-pool.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { type BorrowedReader, readBorrowed, type SocketReads } from '#tunnel/socket-reads.ts'

/** Gets what a reader has read. */
export interface RequestReceiver {
  /** A request whose body is still to come, if it has one. The next one is read after `next`. */
  request(head: RequestHead, body: Body): void
  invalidHead(error: HttpError): void
  invalidBody(reason: string): void
  bodyComplete(): void
  /** More of a body that is not needed has arrived than is worth reading. */
  bodyExcess(): void
  /** The client has half-closed. */
  clientEnded(): void
}

interface ReaderOptions {
  readonly receiver: RequestReceiver
  readonly clock: ConnectionClock
  readonly limits: Http1ClientLimits
  /** A service will interpret the requests. */
  readonly isForwarded: boolean
}

// Nearly every head is shorter, so a large body after it is not converted to text.
const FIRST_LOOK = 2048
const emptyBody = bodyOf(Buffer.alloc(0))

/** What the next bytes are: of a head, of a body or pipelined, of a body that is dropped, for a stream, or nothing. */
type Mode = 'head' | 'body' | 'discard' | 'forward' | 'drop'

/** Reads requests from a client socket: heads, bodies, and pipelined requests, which wait for their turn. */
export class RequestReader implements BodySource, BorrowedReader {
  readonly #socket: Socket
  readonly #receiver: RequestReceiver
  readonly #clock: ConnectionClock
  readonly #limits: Http1ClientLimits
  readonly #reads: SocketReads
  readonly #fields: RepeatedFields
  readonly #isForwarded: boolean
  #mode: Mode = 'head'
  #partial: Buffer | undefined
  #waiting: Buffer | undefined
  #held = false
  #body: IncomingBody | undefined
  #discarded = 0
  #splice: SocketSplice | undefined

  constructor(socket: Socket, { receiver, clock, limits, isForwarded }: ReaderOptions) {
    this.#socket = socket
    this.#receiver = receiver
    this.#clock = clock
    this.#limits = limits
    this.#isForwarded = isForwarded
    this.#fields = new RepeatedFields(isForwarded)
    this.#reads = readBorrowed(socket, this)
  }

  /** The body of the running request, if it has one on the connection. */
  get body(): IncomingBody | undefined {
    return this.#body
  }

  /** Body bytes of the running request are outstanding. */
  get isBodyDue(): boolean {
    return this.#body?.finished === false
  }

  get isReceiving(): boolean {
    return this.#body?.finished === false && this.#body.flowing
  }

  get isWithinHead(): boolean {
    return this.#partial !== undefined
  }

  /** Bytes after the running request have arrived. */
  get isPipelined(): boolean {
    return this.#waiting !== undefined
  }

  get isHeld(): boolean {
    return this.#held
  }

  /** Most requests are a head that arrives whole: it is parsed in place. All else is kept beyond this call. */
  onRead(bytes: Buffer, length: number, owned: boolean): void {
    if (this.#mode === 'head' && this.#partial === undefined && !owned) this.#readBorrowed(bytes, length)
    else this.receive(owned ? bytes.subarray(0, length) : ownedCopy(bytes, 0, length))
  }

  end(): void {
    this.#receiver.clientEnded()
  }

  /** Owned bytes of the connection. */
  receive(bytes: Buffer): void {
    if (this.#mode === 'head') this.#readHead(bytes)
    else if (this.#mode === 'forward') this.#forward(bytes)
    else if (this.#mode !== 'drop') this.#readBody(bytes)
  }

  /** Reads the next request, which may have arrived already. */
  next(): void {
    const waiting = this.#waiting
    this.#mode = 'head'
    this.#body = this.#waiting = undefined
    this.#clock.restart()
    this.#clock.requestEnds()
    if (waiting !== undefined) this.#readHead(waiting)
  }

  /** Reads the rest of the body without using it. */
  discardBody(): void {
    this.#mode = 'discard'
    this.#clock.restart()
    this.#body?.cancel()
    this.resume()
  }

  /** Connects the socket to a stream of another protocol. */
  upgrade(stream: ByteStream): SocketSplice {
    const waiting = this.#waiting
    this.#mode = 'forward'
    this.#waiting = undefined
    this.#splice = new SocketSplice(this.#socket, this.#reads, stream)
    if (waiting !== undefined) this.#splice.send(waiting)
    return this.#splice
  }

  /** Reads and drops everything from here on: unread bytes would turn the close into a reset. */
  drop(): void {
    this.#mode = 'drop'
    this.#waiting = this.#partial = undefined
    this.resume()
  }

  /** The connection is gone. */
  abandon(): void {
    this.#mode = 'drop'
    this.#waiting = this.#partial = undefined
    this.#body?.fail(new Error('The client has disconnected.'))
  }

  /** Resumes reading, which may deliver bytes at once; not while requests wait. */
  resume(): void {
    if (!this.#held || (this.#waiting?.length ?? 0) >= this.#limits.waitingBytes) return
    this.#held = false
    this.#reads.resume()
  }

  holdContent(): void {
    this.#held = true
    this.#reads.pause()
  }

  moreContent(): void {
    this.#clock.restart()
    this.resume()
  }

  contentEnded(rest: Buffer | undefined): void {
    this.#waiting = rest
    // Before the response ends, only the end of the connection shows that the client has disconnected.
    this.resume()
    this.#receiver.bodyComplete()
  }

  contentBroken(reason: string): void {
    this.#receiver.invalidBody(reason)
  }

  contentUnwanted(): void {
    this.#discarded = 0
  }

  #readBorrowed(bytes: Buffer, length: number): void {
    const text = bytes.toString('latin1', 0, Math.min(length, FIRST_LOOK))
    const repeated = length <= FIRST_LOOK ? this.#fields.read(text) : undefined
    if (repeated !== undefined) {
      this.#request(repeated, undefined)
      return
    }
    const end = findRequestEnd(text, this.#limits)
    if (typeof end !== 'number' || end + 2 < length) {
      this.#readHead(ownedCopy(bytes, 0, length))
      return
    }
    const head = parseRequestHead(bytes, text, end, this.#isForwarded)
    if (head instanceof HttpError) {
      this.#receiver.invalidHead(head)
    } else {
      this.#fields.keep(text, head)
      this.#request(head, undefined)
    }
  }

  #readHead(bytes: Buffer): void {
    const chunk = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes])
    const { headBytes } = this.#limits
    let text = chunk.toString('latin1', 0, FIRST_LOOK)
    let end = findRequestEnd(text, this.#limits)
    if (end === undefined && chunk.length > FIRST_LOOK) {
      text = chunk.toString('latin1', 0, headBytes + 1)
      end = findRequestEnd(text, this.#limits)
    }
    if (end === undefined) {
      if (this.#partial === undefined) this.#clock.restart()
      this.#clock.requestBegins()
      this.#partial = chunk
      return
    }
    this.#partial = undefined
    if (end instanceof HttpError) {
      this.#receiver.invalidHead(end)
      return
    }
    const head = parseRequestHead(chunk, text, end, this.#isForwarded)
    if (head instanceof HttpError) {
      this.#receiver.invalidHead(head)
      return
    }
    release(chunk, end + 2)
    this.#request(head, end + 2 < chunk.length ? chunk.subarray(end + 2) : undefined)
  }

  #request(head: RequestHead, rest: Buffer | undefined): void {
    this.#mode = 'body'
    this.#clock.restart()
    this.#clock.requestBegins()
    this.#receiver.request(head, this.#bodyOf(head, rest))
    const body = this.#body
    if (body !== undefined && !body.finished && !body.flowing && !body.unwanted) this.holdContent()
  }

  /** The body of a request; `rest` is what has arrived after the head. */
  #bodyOf({ framing }: RequestHead, rest: Buffer | undefined): Body {
    if (framing.kind === 'chunked' || (framing.kind === 'length' && framing.length > 0)) {
      const body = (this.#body = new IncomingBody(framing, this, requestTrailers))
      if (rest !== undefined) body.push(rest)
      return body
    }
    this.#body = undefined
    this.#waiting = rest
    return framing.kind === 'length' ? emptyBody : noBody
  }

  #forward(bytes: Buffer): void {
    this.#clock.restart()
    this.#splice?.send(bytes)
  }

  /** Bytes while a request runs: its body, or pipelined requests, which wait. */
  #readBody(bytes: Buffer): void {
    const body = this.#body
    if (body === undefined || body.finished) {
      this.#waiting = this.#waiting === undefined ? bytes : Buffer.concat([this.#waiting, bytes])
      if (this.#waiting.length >= this.#limits.waitingBytes) this.holdContent()
      return
    }
    if (this.#mode === 'body') this.#clock.restart()
    if (body.unwanted && (this.#discarded += bytes.length) > this.#limits.unwantedBytes)
      this.#receiver.bodyExcess()
    else body.push(bytes)
  }
}
