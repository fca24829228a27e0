import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import type { TunnelError } from '#tunnel/frame.ts'

// More than this is not buffered for a retry.
const KEPT_BYTES = 65_536

/**
 * A connection that is retried once when the agent had no room for it. One family of agents resets some streams of a
 * burst; nothing of them has reached the service, so everything is sent again.
 */
export class RetriedStream implements ByteStream {
  readonly #reopen: () => Promise<ByteStream>
  #stream: ByteStream
  #sink: Sink | undefined
  // Undefined once a retry is impossible.
  #sent: Buffer[] | undefined = []
  #size = 0
  #ended = false
  #reopening = false
  #gone = false
  readonly #reader: Sink = {
    data: bytes => {
      this.#sent = undefined
      this.#sink?.data(bytes)
    },
    end: () => {
      this.#sent = undefined
      this.#sink?.end()
    },
    writable: () => this.#sink?.writable?.(),
    closed: error => this.#closed(error),
  }

  constructor(stream: ByteStream, reopen: () => Promise<ByteStream>) {
    this.#stream = stream
    this.#reopen = reopen
  }

  get closed(): boolean {
    return this.#gone || (!this.#reopening && this.#stream.closed)
  }

  get peerFinished(): boolean {
    return this.#stream.peerFinished
  }

  attach(sink: Sink): void {
    this.#sink = sink
    if (!this.#reopening) this.#stream.attach(this.#reader)
  }

  detach(rest?: Buffer): void {
    this.#sink = undefined
    this.#stream.detach(rest)
  }

  hold(client: string | undefined): boolean {
    return this.#stream.hold?.(client) ?? true
  }

  rest(): void {
    this.#stream.rest?.()
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  write(bytes: Buffer): boolean {
    this.#keep(bytes)
    return this.#reopening ? false : this.#stream.write(bytes)
  }

  end(bytes?: Buffer): void {
    if (bytes !== undefined) this.#keep(bytes)
    this.#ended = true
    if (!this.#reopening) this.#stream.end(bytes)
  }

  abort(): void {
    this.#sink = undefined
    this.#gone = true
    this.#stream.abort()
  }

  #closed(error: TunnelError | undefined): void {
    if (error?.code === 'accept_queue_full' && this.#sent !== undefined) void this.#again(error)
    else this.#sink?.closed(error)
  }

  #keep(bytes: Buffer): void {
    this.#size += bytes.length
    if (this.#size > KEPT_BYTES && !this.#reopening) this.#sent = undefined
    else this.#sent?.push(bytes)
  }

  async #again(error: TunnelError): Promise<void> {
    try {
      await this.#resend()
    } catch {
      this.#sink?.closed(error)
    }
  }

  async #resend(): Promise<void> {
    this.#reopening = true
    this.#stream = await this.#reopen()
    const bytes = Buffer.concat(this.#sent ?? [])
    this.#reopening = false
    this.#sent = undefined
    if (this.#gone) return this.#stream.abort()
    if (this.#ended) this.#stream.end(bytes)
    else if (bytes.length > 0) this.#stream.write(bytes)
    this.#stream.attach(this.#reader)
    this.#sink?.writable?.()
  }
}
