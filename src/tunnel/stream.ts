import type { Budget } from '#tunnel/budget.ts'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import { errorCodes, TunnelError, type TunnelErrorCode } from '#tunnel/frame.ts'
import { ReadSide } from '#tunnel/read-side.ts'
import { SendQueue } from '#tunnel/send-queue.ts'
import { type RoundTrip, ReceiveWindow } from '#tunnel/receive-window.ts'
import { release } from '#tunnel/buffer-pool.ts'
import type { Occupant, StreamSlot, StreamSlots } from '#tunnel/stream-slots.ts'
import type { FrameWriter } from '#tunnel/writer.ts'

/** What a stream needs of its session. */
export interface StreamHost {
  readonly writer: FrameWriter
  readonly budget: Budget
  readonly roundTrip: RoundTrip
  readonly slots: StreamSlots
  /** How many bytes of an aborted stream are dropped before it gets RST. */
  readonly maxDiscarded: number
  /** When the peer last sent bytes, by `performance.now`. */
  readonly lastInput: number
  /** Requests `pump` when the socket can take bytes. */
  ready(stream: TunnelStream): void
  forget(stream: TunnelStream): void
  /** A stream is open, but idle. */
  rest(slot: StreamSlot): void
}

const EMPTY = Buffer.alloc(0)

/**
 * One stream of a session: a bidirectional byte stream with half-close and a window each way. Not a node Duplex, which
 * costs more than all the rest of a small request; `asDuplex` makes one if needed.
 */
export class TunnelStream implements ByteStream, Occupant {
  readonly id: number
  /** The type in front of every stream; undefined until the peer has sent it. */
  type: number | undefined
  /** Its slot among the streams opened here. */
  slot: StreamSlot | undefined
  movedAt = performance.now()
  /** We closed it, at once and both ways. */
  wasReset = false
  readonly #host: StreamHost
  readonly #out: SendQueue
  readonly #input = new ReadSide()
  readonly #window: ReceiveWindow
  #peerFinished = false
  #endReported = false
  // Defined once the stream was aborted: bytes of the peer dropped since.
  #discarded: number | undefined
  #closed = false
  #error: TunnelError | undefined

  constructor(id: number, host: StreamHost) {
    this.id = id
    this.#host = host
    this.#out = new SendQueue(id, host.writer)
    this.#window = new ReceiveWindow(host.budget, host.roundTrip)
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Unread bytes. */
  get held(): number {
    return this.#input.held.length
  }

  get isUnread(): boolean {
    return this.#input.held.length > 0
  }

  get peerFinished(): boolean {
    return this.#peerFinished
  }

  /** Attaches a reader; buffered bytes are delivered at once. */
  attach(sink: Sink): void {
    if (this.#closed) {
      sink.closed(this.#error)
      return
    }
    this.#input.sink = sink
    this.#deliver()
  }

  /** Detaches the reader, for another one; `rest` is what it got but did not use. */
  detach(rest: Buffer = EMPTY): void {
    this.#input.release()
    if (rest.length === 0 || this.#closed) return
    this.#input.held.unshift(rest)
    this.#host.budget.hold(rest.length)
  }

  hold(client: string | undefined): boolean {
    this.movedAt = performance.now()
    return this.slot === undefined || this.#host.slots.hold(this.slot, client)
  }

  rest(): void {
    if (this.slot !== undefined) this.#host.rest(this.slot)
  }

  pause(): void {
    this.#input.paused = true
  }

  resume(): void {
    this.#input.paused = false
    this.#deliver()
  }

  /** Sends bytes, which must not change afterwards. False: wait for `writable` before sending more. */
  write(bytes: Buffer, transferOwnership = false): boolean {
    if (this.#closed || this.#discarded !== undefined) return true
    const done = this.#out.write(bytes, transferOwnership)
    if (done) this.movedAt = performance.now()
    this.#afterSending()
    return done
  }

  /** Like `write`, for binary strings: message heads, which need no buffer of their own. */
  writeText(text: string): boolean {
    if (this.#closed || this.#discarded !== undefined || this.#out.sendText(text)) return true
    return this.write(Buffer.from(text, 'latin1'))
  }

  /** Half-closes, after the buffered bytes; the peer may keep sending. */
  end(bytes: Buffer = EMPTY): void {
    if (this.#closed || this.#discarded !== undefined) return
    this.#out.end(bytes)
    this.#afterSending()
  }

  /**
   * Aborts the stream in the way that frees it in every agent: FIN, then input is dropped, and RST only if it keeps
   * coming. The stream stays counted until the peer has finished, and its reader gets no more events.
   */
  abort(): void {
    if (this.#closed || this.#discarded !== undefined) return
    this.#input.release()
    this.#discardRest()
  }

  /** Like `abort`, in favour of others, and its reader is notified. */
  evict(): void {
    if (this.#closed || this.#discarded !== undefined) return
    const sink = this.#input.release()
    if (this.slot !== undefined) this.#host.slots.evacuate(this.slot)
    this.#discardRest()
    sink?.closed(new TunnelError('streams_exhausted', 'The stream was evicted: others needed its place.'))
  }

  /** Closes both directions at once. Some agents then leak the stream: prefer `abort` for a proxied connection. */
  reset(code: TunnelErrorCode): void {
    if (this.#closed) return
    this.#sendReset(code)
    this.fail(new TunnelError(code, 'The stream was reset by this side.'))
  }

  /** The session reports that the stream has ended. */
  fail(error: TunnelError): void {
    if (this.#closed) return
    this.#out.clear()
    this.#dropHeld()
    this.#close(error)
  }

  /** Sends the first frame, with SYN; the session has prepended the type. */
  start(bytes: Buffer, flags: number): void {
    this.#out.start(bytes, flags)
    this.#afterSending()
  }

  /** Sends one frame of at most so many bytes, then requests another turn if there is more. */
  pump(most: number): void {
    this.movedAt = this.#host.lastInput
    if (this.#out.pump(most)) this.#input.sink?.writable?.()
    this.#afterSending()
  }

  /** Credit from the peer. */
  allow(increment: number): void {
    if (this.#out.allow(increment)) this.#afterSending()
    else this.reset('flow_control')
  }

  /** Grows the peer's window while that makes the stream faster. */
  mayGrowTo(window: number): void {
    this.#window.mayGrowTo(window)
  }

  /** Returns credit for what was read, if it is due. */
  grant(): void {
    if (!this.#window.isDue(this.#input.held.length)) return
    if (this.#closed || this.#peerFinished || this.#discarded !== undefined) return
    // A stream that is read as fast as it arrives buffers nothing, and does not wait for those that are not read.
    if (this.#input.held.length > 0 && !this.#host.budget.mayGrant(this)) return
    const increment = this.#window.grant(this.#input.held.length)
    // Credit of 0 crashes the session of some agents.
    if (increment > 0) this.#host.writer.window(this.id, increment)
  }

  /** A DATA frame is announced. False: it exceeds the peer's window. */
  expect(length: number): boolean {
    return this.#window.receive(length)
  }

  receive(bytes: Buffer): void {
    if (this.#closed) return
    if (this.#discarded !== undefined) {
      this.#discarded += bytes.length
      if (this.#discarded > this.#host.maxDiscarded) this.reset('stream_cancelled')
      return
    }
    if (this.#input.isFlowing) {
      this.movedAt = this.#host.lastInput
      this.#input.pass(bytes)
      // The reader may have passed some of it on to another one.
      if (this.#input.held.length > 0) this.#deliver()
      else this.grant()
      return
    }
    if (this.#input.held.push(bytes)) release(bytes)
    this.#host.budget.hold(bytes.length)
  }

  /** Removes the first bytes; for the stream type, before it has a reader. */
  take(count: number): Buffer {
    this.#host.budget.release(count)
    return this.#input.held.take(count)
  }

  /** The peer's FIN. */
  finish(): void {
    this.#peerFinished = true
    this.#deliver()
    this.#settle()
  }

  #discardRest(): void {
    this.#discarded = 0
    this.#dropHeld()
    this.#out.cut()
    // A peer without credit can neither continue nor finish, and its stream would count as open forever.
    const credit = this.#peerFinished ? 0 : this.#window.refill()
    if (credit > 0) this.#host.writer.window(this.id, credit)
    this.#settle()
  }

  #sendReset(code: TunnelErrorCode): void {
    this.wasReset = true
    this.#host.writer.reset(this.id, errorCodes[code])
  }

  #deliver(): void {
    const delivered = this.#input.deliver(length => {
      this.movedAt = performance.now()
      this.#host.budget.release(length)
    })
    if (!delivered) return
    this.grant()
    const { held, sink } = this.#input
    if (!this.#peerFinished || this.#endReported || held.length > 0 || sink === undefined) return
    this.#endReported = true
    sink.end()
    this.#settle()
  }

  #afterSending(): void {
    if (this.#out.finished) this.#settle()
    else if (this.#out.sendable) this.#host.ready(this)
  }

  /** Removes a stream that is finished both ways from the session, and notifies the reader once it has read all. */
  #settle(): void {
    if (!this.#out.finished || !this.#peerFinished) return
    this.#window.close()
    this.#host.forget(this)
    if (this.#endReported || this.#discarded !== undefined) this.#close(undefined)
  }

  #dropHeld(): void {
    this.#host.budget.release(this.#input.held.length)
    this.#input.held.clear()
  }

  #close(error: TunnelError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#error = error
    this.#window.close()
    this.#host.forget(this)
    const sink = this.#input.release()
    sink?.closed(error)
  }
}
