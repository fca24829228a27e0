import type { Body, BodySink } from '#http/body.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'

/** Sends a request body to the service, in its original framing. */
export class Upload implements BodySink {
  /** Some of it was sent, so it cannot be retried. */
  started = false
  finished = false
  readonly #body: Body
  readonly #moved: () => void
  readonly #failed: () => void
  #stream: ByteStream | undefined

  /** `moved` is called when bytes arrive, `failed` when the client cannot finish. */
  constructor(body: Body, moved: () => void, failed: () => void) {
    this.#body = body
    this.#moved = moved
    this.#failed = failed
  }

  /** The service has started to receive the body, so it cannot go elsewhere. */
  get touched(): boolean {
    return this.#stream !== undefined
  }

  /** Starts, or continues on another connection. */
  connect(stream: ByteStream): void {
    const first = this.#stream === undefined
    this.#stream = stream
    if (first) this.#body.read(this, true)
    else this.#body.resume()
  }

  /** The connection was lost before anything was sent; the body waits for another. */
  wait(): void {
    this.#body.pause()
  }

  resume(): void {
    this.#body.resume()
  }

  data(bytes: Buffer): void {
    this.started = true
    this.#moved()
    if (this.#stream?.write(bytes, true) === false) this.#body.pause()
  }

  end(): void {
    this.finished = true
  }

  fail(): void {
    this.#failed()
  }
}
