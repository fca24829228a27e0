import type { Socket } from 'node:net'
import type { TunnelError } from '#tunnel/frame.ts'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import { writeOwned } from '#tunnel/buffer-pool.ts'
import { readSocket, type SocketReads } from '#tunnel/socket-reads.ts'

export interface SpliceEnd {
  /** Bytes from the socket's peer, and to it. */
  readonly received: number
  readonly sent: number
  /** Why it was aborted; undefined when both sides had finished. */
  readonly error: Error | undefined
}

/** Observes passing bytes; they must not be kept or changed. */
export interface Tap {
  received(bytes: Buffer): void
  sent(bytes: Buffer): void
}

interface SpliceOptions {
  /** Counts as received, though it was not read here: it was sent with the opening of the stream. */
  readonly alreadySent?: number
  readonly tap?: Tap | undefined
  readonly ended?: ((end: SpliceEnd) => void) | undefined
  /** The socket closed before both sides had finished: notifies the stream's peer, default `abort`. */
  readonly giveUp?: ((error: Error) => void) | undefined
}

/** Connects a socket and a stream: bytes, half-close and resets go both ways, with backpressure. */
export function splice(socket: Socket, stream: ByteStream, options: SpliceOptions = {}): void {
  new Splice(socket, stream, options).start()
}

class Splice implements Sink {
  readonly #socket: Socket
  readonly #stream: ByteStream
  readonly #options: SpliceOptions
  readonly #tap: Tap | undefined
  #received: number
  #sent = 0
  #error: Error | undefined
  #reads: SocketReads | undefined
  #socketEnded = false
  #streamClosed = false

  constructor(socket: Socket, stream: ByteStream, options: SpliceOptions) {
    this.#socket = socket
    this.#stream = stream
    this.#options = options
    this.#tap = options.tap
    this.#received = options.alreadySent ?? 0
  }

  start(): void {
    const socket = this.#socket
    if (socket.destroyed) {
      this.#stream.abort()
      this.#reportEnd(new Error('The connection was closed before it could be used.'))
      return
    }
    socket.on('error', error => (this.#error ??= error))
    socket.on('close', () => this.#socketClosed())
    socket.on('drain', () => this.#stream.resume())
    this.#stream.attach(this)
    this.#reads = readSocket(socket, {
      data: bytes => this.#fromSocket(bytes),
      end: () => {
        this.#socketEnded = true
        this.#stream.end()
      },
    })
  }

  data(bytes: Buffer): void {
    this.#sent += bytes.length
    this.#tap?.sent(bytes)
    if (!writeOwned(this.#socket, bytes)) this.#stream.pause()
  }

  end(): void {
    this.#socket.end()
  }

  writable(): void {
    this.#reads?.resume()
  }

  closed(error: TunnelError | undefined): void {
    this.#streamClosed = true
    if (error === undefined) return
    this.#error ??= error
    cut(this.#socket)
  }

  #fromSocket(bytes: Buffer): void {
    this.#received += bytes.length
    this.#tap?.received(bytes)
    if (!this.#stream.write(bytes, true)) this.#reads?.pause()
  }

  #socketClosed(): void {
    // After both ends were forwarded the stream finishes by itself; otherwise its peer must be notified.
    const finished = this.#socketEnded && this.#socket.writableFinished
    if (!finished) this.#error ??= new Error('The connection was closed.')
    if (!this.#streamClosed && this.#error !== undefined) this.#giveUp(this.#error)
    this.#reportEnd(this.#error)
  }

  #giveUp(error: Error): void {
    if (this.#options.giveUp) this.#options.giveUp(error)
    else this.#stream.abort()
  }

  #reportEnd(error: Error | undefined): void {
    this.#options.ended?.({ received: this.#received, sent: this.#sent, error })
  }
}

/** Closes a connection so that its peer does not take partial data for complete. */
export function cut(socket: Socket): void {
  // A FIN in flight cannot be taken back, and node never closes a socket that is reset at that moment.
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  // Only connected TCP can be reset; for TLS the missing close_notify has the same meaning.
  const isTcp = !('encrypted' in socket) && !socket.connecting && socket.remoteAddress !== undefined
  if (isTcp && !isEnding) socket.resetAndDestroy()
  else socket.destroy()
}
