import { CANCEL } from '#http2/protocol.ts'
import type { Http2Stream } from '#http2/stream.ts'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'

/** The service has half-closed; a client that neither closes nor sends for so long has gone. */
const HALF_CLOSED_MS = 30_000

/** Connects an HTTP/2 stream and a stream to the service, after an extended CONNECT. */
export class StreamSplice implements Sink {
  readonly #client: Http2Stream
  readonly #service: ByteStream
  readonly #now: () => number
  #since: number
  /** Bytes from the client, and to it. */
  received = 0
  sent = 0

  constructor(client: Http2Stream, service: ByteStream, now: () => number) {
    this.#client = client
    this.#service = service
    this.#now = now
    this.#since = now()
  }

  start(): void {
    this.#service.attach(this)
    this.#client.resume()
  }

  /** Bytes from the client. */
  send(bytes: Buffer): void {
    this.#since = this.#now()
    this.received += bytes.length
    if (!this.#service.write(bytes, true)) this.#client.pause()
  }

  /** The client has half-closed. */
  finish(): void {
    this.#service.end()
  }

  drained(): void {
    this.#service.resume()
  }

  abort(): void {
    if (!this.#service.closed) this.#service.abort()
  }

  checkTimeouts(now: number): void {
    if (this.#client.isLocallyEnded && now - this.#since > HALF_CLOSED_MS) this.#client.reset(CANCEL)
  }

  data(bytes: Buffer): void {
    this.sent += bytes.length
    if (!this.#client.write(bytes)) this.#service.pause()
  }

  end(): void {
    this.#since = this.#now()
    this.#client.end()
  }

  writable(): void {
    this.#client.resume()
  }

  closed(error: Error | undefined): void {
    if (error === undefined) this.#client.end()
    else this.#client.reset(CANCEL)
  }
}
