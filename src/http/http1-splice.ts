import type { Socket } from 'node:net'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import { writeOwned } from '#tunnel/buffer-pool.ts'
import type { SocketReads } from '#tunnel/socket-reads.ts'

const HIGH_WATER = 131_072

/** Connects a client socket and a stream after an upgrade. The owner of the socket reports its events. */
export class SocketSplice implements Sink {
  readonly #socket: Socket
  readonly #reads: SocketReads
  readonly #stream: ByteStream
  #held = false
  /** Bytes from the client, and to it. */
  received = 0
  sent = 0

  constructor(socket: Socket, reads: SocketReads, stream: ByteStream) {
    this.#socket = socket
    this.#reads = reads
    this.#stream = stream
    stream.attach(this)
  }

  /** Bytes from the client. */
  send(bytes: Buffer): void {
    this.received += bytes.length
    if (!this.#stream.write(bytes, true)) this.#reads.pause()
  }

  /** The client has half-closed. */
  finish(): void {
    this.#stream.end()
  }

  /** The socket has drained. */
  drained(): void {
    if (!this.#held) return
    this.#held = false
    this.#stream.resume()
  }

  abort(): void {
    this.#stream.abort()
  }

  data(bytes: Buffer): void {
    this.sent += bytes.length
    writeOwned(this.#socket, bytes)
    if (this.#held || this.#socket.writableLength < HIGH_WATER) return
    this.#held = true
    this.#stream.pause()
  }

  end(): void {
    this.#socket.end()
  }

  writable(): void {
    this.#reads.resume()
  }

  closed(error: Error | undefined): void {
    if (error === undefined) this.#socket.end()
    else this.#socket.destroy()
  }
}
