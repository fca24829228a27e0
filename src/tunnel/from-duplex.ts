import type { Duplex } from 'node:stream'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import { TunnelError } from '#tunnel/frame.ts'
import { ReadSide } from '#tunnel/read-side.ts'
import type { Occupant } from '#tunnel/stream-slots.ts'

/** How a shared stream, or one with its own half-close, differs from a plain Duplex. */
interface DuplexHooks {
  /** Half-closes once all bytes are sent; default `end` of the Duplex. */
  readonly finish?: () => void
  /** Both directions are finished. */
  readonly release?: () => void
  /** `hold` and `rest` of the stream, if it is counted among others. */
  readonly hold?: (client: string | undefined) => boolean
  readonly rest?: () => void
  /** It is evicted in favour of others. */
  readonly evicted?: () => void
  /** The layer below the Duplex is full; call `wake` on the stream when it is not. */
  readonly full?: () => boolean
}

/** Bytes that may be buffered in the Duplex before writers must wait. */
const WAITING_BYTES = 256 * 1024
const EMPTY = Buffer.alloc(0)

/** Adapts a Duplex to a ByteStream. A socket must allow half-open, or our end closes both directions. */
export const fromDuplex = (duplex: Duplex, hooks: DuplexHooks = {}): DuplexStream =>
  new DuplexStream(duplex, hooks)

export class DuplexStream implements ByteStream, Occupant {
  movedAt = performance.now()
  readonly #duplex: Duplex
  readonly #hooks: DuplexHooks
  readonly #input = new ReadSide()
  #unsent = 0
  #writerWaits = false
  #ended = false
  #finished = false
  #peerFinished = false
  #endReported = false
  #duplexClosed = false
  #closed = false
  #error: TunnelError | undefined

  constructor(duplex: Duplex, hooks: DuplexHooks) {
    this.#duplex = duplex
    this.#hooks = hooks
    duplex.on('data', (bytes: Buffer) => this.#receive(bytes))
    duplex.on('end', () => this.#peerEnded())
    duplex.on('error', error => this.fail(new TunnelError('stream_reset', error.message, error)))
    duplex.on('close', () => this.#gone())
  }

  get closed(): boolean {
    return this.#closed
  }

  get peerFinished(): boolean {
    return this.#peerFinished
  }

  /** Unread bytes from the peer. */
  get waiting(): number {
    return this.#input.held.length + this.#duplex.readableLength
  }

  get isUnread(): boolean {
    return this.#input.paused && this.waiting > 0
  }

  hold(client: string | undefined): boolean {
    this.movedAt = performance.now()
    return this.#hooks.hold?.(client) ?? true
  }

  rest(): void {
    this.#hooks.rest?.()
  }

  /** Evicts the stream in favour of others, and notifies its reader. */
  evict(): void {
    if (this.#closed) return
    this.#hooks.evicted?.()
    this.#close(new TunnelError('streams_exhausted', 'The connection was evicted: others needed its place.'))
    this.#duplex.destroy()
  }

  attach(sink: Sink): void {
    if (this.#closed) {
      sink.closed(this.#error)
      return
    }
    this.#input.sink = sink
    this.#deliver()
  }

  detach(rest: Buffer = EMPTY): void {
    this.#input.release()
    // The next reader must get the end too.
    this.#endReported = false
    if (rest.length > 0 && !this.#closed) this.#input.held.unshift(rest)
  }

  pause(): void {
    this.#input.paused = true
    if (!this.#peerFinished) this.#duplex.pause()
  }

  resume(): void {
    this.#input.paused = false
    this.#deliver()
  }

  write(bytes: Buffer): boolean {
    if (this.#closed || this.#ended) return true
    if (bytes.length > 0) this.#send(bytes)
    const takesMore = this.#unsent <= WAITING_BYTES && this.#hooks.full?.() !== true
    this.#writerWaits ||= !takesMore
    return takesMore
  }

  end(bytes: Buffer = EMPTY): void {
    if (this.#closed || this.#ended) return
    if (bytes.length > 0) this.#send(bytes)
    this.#ended = true
    this.#finish()
  }

  abort(): void {
    if (this.#closed) return
    this.#input.release()
    this.#close(undefined)
    this.#duplex.destroy()
  }

  /** The layer below has room again. */
  wake(): void {
    if (!this.#writerWaits || this.#unsent > 0 || this.#closed || this.#hooks.full?.() === true) return
    this.#writerWaits = false
    this.#input.sink?.writable?.()
  }

  /** The stream is closed: its transport is gone. */
  fail(error: TunnelError): void {
    this.#close(error)
  }

  #send(bytes: Buffer): void {
    this.#unsent += bytes.length
    this.#duplex.write(bytes, error => {
      this.#unsent -= bytes.length
      if (error) return
      this.movedAt = performance.now()
      this.wake()
      if (this.#ended) this.#finish()
    })
  }

  #finish(): void {
    if (this.#unsent > 0 || this.#finished || this.#closed) return
    this.#finished = true
    if (this.#hooks.finish) this.#hooks.finish()
    else this.#duplex.end()
    this.#settle()
  }

  #receive(bytes: Buffer): void {
    if (this.#closed) return
    if (this.#input.isFlowing) {
      this.movedAt = performance.now()
      this.#input.pass(bytes)
    } else {
      this.#input.held.push(bytes)
    }
    this.#deliver()
  }

  #peerEnded(): void {
    this.#peerFinished = true
    this.#deliver()
  }

  /** Delivers buffered data, then lets the Duplex flow or pause as the reader needs. */
  #deliver(): void {
    if (this.#closed) return
    const delivered = this.#input.deliver(() => (this.movedAt = performance.now()))
    if (!delivered || this.#closed) return
    const { held, sink, paused } = this.#input
    // A paused Duplex reports neither its end nor its close, so it is paused only as long as necessary.
    if (!this.#peerFinished) {
      if (paused || held.length > 0) this.#duplex.pause()
      else this.#duplex.resume()
      return
    }
    if (this.#endReported || held.length > 0 || sink === undefined) return
    this.#endReported = true
    sink.end()
    this.#settle()
  }

  #settle(): void {
    if (!this.#endReported || this.#closed) return
    if (this.#finished) {
      this.#close(undefined)
      this.#hooks.release?.()
    } else if (this.#duplexClosed) {
      this.fail(new TunnelError('stream_closed', 'The connection was closed by the peer.'))
    }
  }

  /** Earlier data is still read; then the reader is notified that writing is no longer possible. */
  #gone(): void {
    this.#duplexClosed = true
    if (this.#peerFinished) this.#settle()
    else this.fail(new TunnelError('stream_closed', 'The connection was aborted.'))
  }

  #close(error: TunnelError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#error = error
    this.#input.held.clear()
    // Further data is dropped, so that the end and the close of the Duplex are reported.
    this.#duplex.resume()
    this.#input.release()?.closed(error)
  }
}
