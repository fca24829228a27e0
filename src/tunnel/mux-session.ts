import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Budget } from '#tunnel/budget.ts'
import {
  errorCodes,
  errorName,
  FIN,
  INITIAL_WINDOW,
  NUDGE_ID,
  SYN,
  TunnelError,
  type TunnelErrorCode,
} from '#tunnel/frame.ts'
import type { FloodMeter } from '#tunnel/flood-meter.ts'
import { OpenQueue } from '#tunnel/open-queue.ts'
import type { RoundTrip } from '#tunnel/receive-window.ts'
import { FrameReader } from '#tunnel/reader.ts'
import { readBorrowed } from '#tunnel/socket-reads.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { OpenOptions, MuxSessionOptions } from '#tunnel/mux-session-options.ts'
import { type StreamHost, TunnelStream } from '#tunnel/stream.ts'
import { FrameWriter } from '#tunnel/writer.ts'

// How long a peer may take to close its side after ours.
const LINGER_MS = 1000
const TYPE_BYTES = 4
/** Streams that may carry bulk. */
const growing: ReadonlySet<number> = new Set([streamTypes.proxy, streamTypes.forward])

/** One connection with an agent (or, in the agent, with the gateway) that carries many streams. */
export class MuxSession {
  /** Send a small frame when input produced no output, so that a peer with Nagle's algorithm gets its ACK immediately. */
  ackImmediately = false
  /** Why the session ended; resolves when no more frames are sent or received. Code `none`: it was closed here. */
  readonly closed: Promise<TunnelError>
  readonly #socket: Duplex
  readonly #accept: MuxSessionOptions['accept']
  readonly #maxAccepted: number
  readonly #growTo: number
  readonly #trustsLastId: boolean
  readonly #floods: FloodMeter | undefined
  readonly #roundTrip: RoundTrip = { roundTripMs: undefined }
  readonly #budget: Budget
  readonly #writer: FrameWriter
  readonly #reader: FrameReader
  readonly #host: StreamHost
  readonly #opening: OpenQueue
  readonly #streams = new Map<number, TunnelStream>()
  readonly #ready = new Set<TunnelStream>()
  readonly #resolveClosed: (reason: TunnelError) => void
  #nextId: number
  #lastPeerId = 0
  #accepted = 0
  #lastInput = performance.now()
  #ackDue = false
  #current: TunnelStream | undefined
  #currentFin = false
  #ended: TunnelError | undefined
  #drained: (() => void) | undefined

  constructor(socket: Duplex, options: MuxSessionOptions) {
    this.#socket = socket
    this.#accept = options.accept
    this.#maxAccepted = options.maxAccepted ?? 1024
    this.#growTo = options.growTo ?? INITIAL_WINDOW
    this.#trustsLastId = options.trustsLastId ?? false
    this.#floods = options.floods
    this.#budget = new Budget(options.memoryLimit ?? 64 * 1024 * 1024)
    this.#nextId = options.role === 'client' ? 3 : 2
    this.#opening = new OpenQueue({
      maxOpen: options.maxOpen ?? 480,
      maxWaiting: options.maxWaiting ?? 1024,
      leaveMs: options.leaveMs ?? 2000,
    })
    const { promise, resolve } = Promise.withResolvers<TunnelError>()
    this.closed = promise
    this.#resolveClosed = resolve
    this.#writer = new FrameWriter(
      socket,
      () => this.#fillTurn(),
      () => this.#ready.size > 0 && this.#writer.schedule(),
    )
    // After an abort a well-behaved peer stops soon.
    this.#host = this.#makeStreamHost(options.maxDiscarded ?? INITIAL_WINDOW / 2)
    this.#reader = this.#makeReader()
    if (socket instanceof Socket) socket.setNoDelay(true)
    readBorrowed(socket, {
      onRead: (bytes, length, lasting) => this.#input(bytes, length, lasting),
      end: () => this.#end(new TunnelError('peer_eof', 'The peer closed the connection.')),
    })
    socket.on('close', () => this.#end(new TunnelError('peer_eof', 'The connection was closed.')))
    socket.on('error', error => this.#end(new TunnelError('peer_eof', 'The connection failed.', error)))
  }

  /** Open streams of both sides. */
  get streams(): number {
    return this.#streams.size
  }

  /** Open streams of one type. */
  streamsOf(type: number): number {
    let count = 0
    for (const stream of this.#streams.values()) if (stream.type === type) count++
    return count
  }

  /** Unread bytes of all streams. */
  get unread(): number {
    return this.#budget.unread
  }

  /** When the peer last sent bytes, by `performance.now`. */
  get lastInput(): number {
    return this.#lastInput
  }

  /** A measured round trip. The shortest is kept: a longer one shows the load, not the distance. */
  measured(roundTripMs: number): void {
    this.#roundTrip.roundTripMs = Math.min(roundTripMs, this.#roundTrip.roundTripMs ?? roundTripMs)
  }

  /**
   * Opens a stream: its type and `first` are sent in one frame. Waits while too many are open, or its client has used
   * its share; rejects with `streams_exhausted` when too many wait already or after `waitMs`, and with `session_closed`
   * when the session is closed.
   */
  async open(
    type: number,
    first: Uint8Array = new Uint8Array(),
    options: OpenOptions = {},
  ): Promise<TunnelStream> {
    const slot = await this.#opening.enter(options)
    if (this.#ended !== undefined) throw this.#ended
    const id = this.#nextId
    if (id >= NUDGE_ID) throw new TunnelError('streams_exhausted', 'The session has used up its stream ids.')
    this.#nextId += 2
    const stream = new TunnelStream(id, this.#host)
    stream.type = type
    stream.slot = slot
    slot.occupant = stream
    this.#streams.set(id, stream)
    const bytes = Buffer.allocUnsafe(TYPE_BYTES + first.length)
    bytes.writeUInt32BE(type)
    bytes.set(first, TYPE_BYTES)
    stream.start(bytes, SYN)
    if (growing.has(type)) stream.mayGrowTo(this.#growTo)
    return stream
  }

  /** Closes the session now. Open streams fail; what they sent so far is written first. */
  close(code: TunnelErrorCode = 'none', text = ''): void {
    this.#end(new TunnelError(code, text || 'The session was closed.'))
  }

  /** Rejects a stream of the peer. */
  refuse(stream: TunnelStream, code: TunnelErrorCode = 'stream_refused'): void {
    stream.reset(code)
    this.#floods?.count('refused')
  }

  /** Drops the connection silently: the peer is known not to read it. */
  fail(reason: TunnelError): void {
    this.#end(reason, false)
  }

  /** Opens nothing more, waits until the streams of both sides are finished or the time is over, then closes. */
  async drain(timeoutMs: number): Promise<void> {
    if (this.#ended !== undefined) return
    this.#opening.stop(new TunnelError('session_closed', 'The session is being drained.'))
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#drained = resolve
    const timer = setTimeout(resolve, timeoutMs)
    this.#checkDrained()
    await promise
    clearTimeout(timer)
    this.close()
  }

  #makeStreamHost(maxDiscarded: number): StreamHost {
    const lastInput = (): number => this.#lastInput
    return {
      slots: this.#opening.slots,
      get lastInput() {
        return lastInput()
      },
      rest: slot => {
        this.#opening.slots.rest(slot)
        this.#opening.admit()
      },
      writer: this.#writer,
      budget: this.#budget,
      roundTrip: this.#roundTrip,
      maxDiscarded,
      ready: stream => {
        this.#ready.add(stream)
        this.#writer.schedule()
      },
      forget: stream => this.#forget(stream),
    }
  }

  #makeReader(): FrameReader {
    return new FrameReader({
      begin: (id, flags, length) => this.#begin(id, flags, length),
      piece: bytes => this.#piece(bytes),
      finish: () => this.#finish(),
      reset: (id, code) => this.#peerReset(id, code),
      window: (id, increment) => this.#window(id, increment),
      goaway: (lastId, code, text) => this.#peerLeaves(lastId, goodbye(errorName(code), text)),
    })
  }

  #input(bytes: Buffer, length: number, owned: boolean): void {
    if (this.#ended !== undefined) return
    this.#lastInput = performance.now()
    try {
      this.#reader.push(bytes, length, owned)
    } catch (error) {
      this.#fault(error)
    }
    if (this.ackImmediately && this.#ackDue) this.#writer.schedule()
  }

  /** An error in one peer's input, or in the code that serves it, must not affect other sessions. */
  #fault(error: unknown): void {
    this.#end(error instanceof TunnelError ? error : new TunnelError('internal', 'A stream failed.', error))
  }

  #begin(id: number, flags: number, length: number): boolean {
    this.#ackDue = true
    this.#currentFin = (flags & FIN) !== 0
    this.#current = undefined
    const known = this.#streams.get(id)
    if ((flags & SYN) !== 0 && known !== undefined)
      throw new TunnelError('protocol', `Stream ${id} was opened twice.`)
    const stream = (flags & SYN) === 0 ? known : this.#admit(id)
    if (stream === undefined || stream.peerFinished) {
      if ((flags & SYN) === 0 && (length > 0 || !this.#currentFin)) this.#answerStray(id)
      return false
    }
    if (stream.expect(length)) this.#current = stream
    else this.refuse(stream, 'flow_control')
    return this.#current !== undefined
  }

  #piece(bytes: Buffer): void {
    const stream = this.#current
    if (stream === undefined) return
    this.#ackDue = true
    stream.receive(bytes)
    if (stream.type === undefined && stream.held >= TYPE_BYTES) this.#introduce(stream)
  }

  #finish(): void {
    const stream = this.#current
    if (stream === undefined || !this.#currentFin || stream.closed) return
    if (stream.type === undefined) this.refuse(stream, 'protocol')
    else stream.finish()
  }

  #admit(id: number): TunnelStream | undefined {
    if (id % 2 === this.#nextId % 2)
      throw new TunnelError('protocol', `The peer opened stream ${id}, which is one of our ids.`)
    if (this.#accept === undefined || this.#accepted >= this.#maxAccepted) {
      this.#answerReset(id, 'stream_refused')
      this.#floods?.count('refused')
      return undefined
    }
    this.#accepted++
    this.#lastPeerId = Math.max(this.#lastPeerId, id)
    const stream = new TunnelStream(id, this.#host)
    this.#streams.set(id, stream)
    return stream
  }

  #introduce(stream: TunnelStream): void {
    const type = stream.take(TYPE_BYTES).readUInt32BE()
    stream.type = type
    if (growing.has(type)) stream.mayGrowTo(this.#growTo)
    this.#accept?.(type, stream)
  }

  #answerStray(id: number): void {
    this.#answerReset(id, 'stream_closed')
    this.#floods?.count('stray')
  }

  #answerReset(id: number, code: TunnelErrorCode): void {
    // A peer that does not read gets no responses, or they would pile up as long as it sends.
    if (!this.#writer.fullFor(0)) this.#writer.reset(id, errorCodes[code])
  }

  #peerReset(id: number, code: number): void {
    this.#ackDue = true
    const stream = this.#streams.get(id)
    if (stream === undefined) this.#floods?.count('stray')
    // A stream that the peer opens and resets costs as much as a rejected one.
    else if (id % 2 !== this.#nextId % 2) this.#floods?.count('refused')
    stream?.fail(new TunnelError(errorName(code), 'The stream was reset by the peer.'))
  }

  #peerLeaves(lastId: number, reason: string): void {
    if (this.#trustsLastId) {
      const unread = new TunnelError('stream_refused', 'The peer left before it had read the stream.')
      for (const stream of this.#streams.values())
        if (stream.slot !== undefined && stream.id > lastId) stream.fail(unread)
    }
    this.#end(new TunnelError('remote_gone_away', reason))
  }

  #window(id: number, increment: number): void {
    // Two ends that both nudge must not do so in turns forever.
    this.#ackDue ||= id !== NUDGE_ID
    const stream = this.#streams.get(id)
    if (stream === undefined) this.#floods?.count('stray')
    else stream.allow(increment)
  }

  #fillTurn(): void {
    try {
      for (const stream of this.#ready) {
        if (this.#writer.full) break
        this.#ready.delete(stream)
        // It requests its next turn behind the others, so that a large transfer does not block them.
        stream.pump(this.#writer.shareOf(this.#ready.size + 1))
      }
    } catch (error) {
      this.#fault(error)
    }
    if (this.ackImmediately && this.#ackDue && this.#writer.idle && !this.#writer.full)
      this.#writer.window(NUDGE_ID, 1)
    this.#ackDue = false
  }

  #forget(stream: TunnelStream): void {
    this.#ready.delete(stream)
    this.#budget.forget(stream)
    if (!this.#streams.delete(stream.id)) return
    this.#floods?.finished()
    if (stream.slot !== undefined && stream.wasReset) this.#opening.leaveSoon(stream.slot)
    else if (stream.slot !== undefined) this.#opening.leave(stream.slot)
    else this.#accepted--
    this.#checkDrained()
  }

  #checkDrained(): void {
    // Heartbeats last as long as the session, so they cannot be waited for.
    if (this.#drained === undefined) return
    if ([...this.#streams.values()].every(stream => stream.type === streamTypes.heartbeat)) this.#drained()
  }

  #end(
    reason: TunnelError,
    notifyPeer = reason.code !== 'peer_eof' && reason.code !== 'remote_gone_away',
  ): void {
    if (this.#ended !== undefined) return
    this.#ended = reason
    this.#reader.stop()
    const gone = new TunnelError(
      reason.code === 'none' ? 'session_closed' : reason.code,
      reason.message,
      reason,
    )
    for (const stream of this.#streams.values()) stream.fail(gone)
    this.#opening.stop(gone)
    this.#drained?.()
    if (notifyPeer) this.#leave(reason)
    else this.#socket.destroy()
    this.#resolveClosed(reason)
  }

  #leave(reason: TunnelError): void {
    this.#writer.leave(this.#lastPeerId, reason.code, reason.message)
    const timer = setTimeout(() => this.#socket.destroy(), LINGER_MS)
    this.#socket.once('close', () => clearTimeout(timer))
    // Further input is read and dropped: unread input would turn our close into a reset that loses the GOAWAY.
    this.#socket.once('end', () => this.#socket.destroy())
  }
}

/** What a peer says when it leaves; an ordinary end has no error worth a name. */
const goodbye = (code: TunnelErrorCode, text: string): string =>
  code === 'none' && text !== '' ? text : `${code}: ${text}`
