import type { Socket } from 'node:net'
import type { TunnelError } from '#tunnel/frame.ts'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import { writeSpent } from '#tunnel/slabs.ts'
import { readSocket, type SocketReads } from '#tunnel/socket-reads.ts'

export interface SpliceEnd {
  /** Bytes the visitor sent, and bytes it was sent. */
  readonly received: number
  readonly sent: number
  /** Why it was cut short; undefined when both sides had finished. */
  readonly error: Error | undefined
}

export interface SpliceOptions {
  /** Counts as the visitor's, though it was not read here: it left with the opening of the stream. */
  readonly alreadySent?: number
  readonly ended?: (end: SpliceEnd) => void
}

/** Joins a visitor's socket and a stream: bytes, half-close and resets pass both ways, and no more than fits. */
export function splice(socket: Socket, stream: ByteStream, options: SpliceOptions = {}): void {
  new Splice(socket, stream, options).start()
}

class Splice implements Sink {
  readonly #socket: Socket
  readonly #stream: ByteStream
  readonly #ended: SpliceOptions['ended']
  #received: number
  #sent = 0
  #error: Error | undefined
  #reads: SocketReads | undefined
  #visitorEnded = false
  #streamClosed = false

  constructor(socket: Socket, stream: ByteStream, { alreadySent = 0, ended }: SpliceOptions) {
    this.#socket = socket
    this.#stream = stream
    this.#received = alreadySent
    this.#ended = ended
  }

  start(): void {
    const socket = this.#socket
    if (socket.destroyed) {
      this.#stream.abort()
      this.#tell(new Error('The visitor left before the connection was opened.'))
      return
    }
    socket.on('error', error => (this.#error ??= error))
    socket.on('close', () => this.#socketClosed())
    socket.on('drain', () => this.#stream.resume())
    this.#stream.attach(this)
    this.#reads = readSocket(socket, {
      data: bytes => this.#fromVisitor(bytes),
      end: () => {
        this.#visitorEnded = true
        this.#stream.end()
      },
    })
  }

  data(bytes: Buffer): void {
    this.#sent += bytes.length
    if (!writeSpent(this.#socket, bytes)) this.#stream.pause()
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

  #fromVisitor(bytes: Buffer): void {
    this.#received += bytes.length
    if (!this.#stream.write(bytes)) this.#reads?.pause()
  }

  #socketClosed(): void {
    // After both ends were passed on the stream finishes on its own; otherwise the other side must hear that we cut.
    const finished = this.#visitorEnded && this.#socket.writableFinished
    if (!this.#streamClosed && !(finished && this.#error === undefined)) this.#stream.abort()
    if (!finished) this.#error ??= new Error('The visitor left.')
    this.#tell(this.#error)
  }

  #tell(error: Error | undefined): void {
    this.#ended?.({ received: this.#received, sent: this.#sent, error })
  }
}

/** Ends a connection so that the visitor does not take what it has for the whole. */
export function cut(socket: Socket): void {
  // Only TCP itself can be reset; of TLS the missing close_notify tells the same.
  if ('encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}
