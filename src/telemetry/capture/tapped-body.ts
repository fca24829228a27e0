import type { Body, BodySink, Framing } from '#http/body.ts'
import { ChunkScanner, requestTrailers, responseTrailers } from '#http/http1-chunks.ts'
import type { CapturedRequests, Part } from '#telemetry/capture/captured-requests.ts'
import type { CapturedRequest } from '#telemetry/capture/captured-request.ts'

const rules = { request: requestTrailers, response: responseTrailers }

/** Records a body while its bytes pass, without holding any of them back or changing them. */
export class TappedBody implements Body, BodySink {
  readonly framing: Framing
  readonly #body: Body
  readonly #store: CapturedRequests
  readonly #captured: CapturedRequest
  readonly #part: Part
  #sink: BodySink | undefined
  /** Finds the content between chunk sizes, if the reader wants these too. */
  #chunks: ChunkScanner | undefined
  #passed = 0

  constructor(body: Body, store: CapturedRequests, captured: CapturedRequest, part: Part) {
    this.framing = body.framing
    this.#body = body
    this.#store = store
    this.#captured = captured
    this.#part = part
  }

  get counted(): number {
    return this.#body.counted ?? this.#passed
  }

  get isRead(): boolean {
    return this.#body.isRead === true
  }

  read(sink: BodySink, raw: boolean): void {
    this.#sink = sink
    if (raw && this.framing.kind === 'chunked') this.#chunks = new ChunkScanner(rules[this.#part])
    this.#body.read(this, raw)
  }

  pause(): void {
    this.#body.pause()
  }

  resume(): void {
    this.#body.resume()
  }

  cancel(): void {
    this.#body.cancel()
  }

  data(bytes: Buffer): void {
    // Before the reader, who may return the memory to its pool.
    if (this.#chunks === undefined) this.#record(bytes)
    else this.#chunks.scan(bytes, (from, to) => this.#record(bytes.subarray(from, to)))
    this.#sink?.data(bytes)
  }

  end(trailers: string): void {
    this.#captured[this.#part].end()
    this.#sink?.end(trailers)
  }

  fail(error: Error): void {
    this.#sink?.fail(error)
  }

  #record(bytes: Buffer): void {
    this.#passed += bytes.length
    this.#store.add(this.#captured, this.#part, bytes)
  }
}
