import type { Party } from '#base/shared-budget.ts'
import type { Coding } from '#http/compression/accept-encoding.ts'
import type { CompressionBudget } from '#http/compression/compression-budget.ts'
import { type CompressionStream, methods } from '#http/compression/engines.ts'
import type { Body, BodySink, Framing } from '#http/body.ts'
import { sendChunk } from '#http/send-chunk.ts'
import { ReadBuffer, release } from '#tunnel/buffer-pool.ts'

const CHUNKED: Framing = { kind: 'chunked' }

/** How a body is compressed. */
export interface CompressionTerms {
  readonly coding: Coding
  /** For whom the engine is. */
  readonly party: Party
  readonly budget: CompressionBudget
}

/**
 * Compresses a body while it streams. When the sender pauses, the data so far is flushed, so that the client does not
 * wait for it. Apart from the engine it holds little more than one slab: the slower side throttles both.
 */
export class CompressedBody implements Body, BodySink {
  readonly framing = CHUNKED
  readonly coding: Coding
  readonly #source: Body
  readonly #party: Party
  readonly #budget: CompressionBudget
  #engine: CompressionStream | undefined
  #sink: BodySink | undefined
  #raw = false
  #received = 0
  #sent = 0
  /** Chunks given to the engine and not consumed yet. */
  #writing = 0
  /** Data that arrived meanwhile, as one chunk: the cost per engine call does not depend on the size. */
  readonly #gathering = new ReadBuffer()
  /** What did not fit. */
  #overflow: Buffer[] = []
  #held = false
  #unflushed = false
  #flushDue = false
  #ended = false
  #over = false
  #trailers = ''

  constructor(source: Body, { coding, party, budget }: CompressionTerms) {
    this.#source = source
    this.coding = coding
    this.#party = party
    this.#budget = budget
  }

  get counted(): number {
    return this.#sent
  }

  /** Bytes saved; negative if the body did not compress. */
  get saved(): number {
    return this.#received - this.#sent
  }

  read(sink: BodySink, raw: boolean): void {
    if (this.#over) return
    const { framing } = this.#source
    const engine = methods[this.coding].create(framing.kind === 'length' ? framing.length : undefined)
    this.#budget.charge(this.#party, this.coding)
    this.#engine = engine
    this.#sink = sink
    this.#raw = raw
    engine.on('data', (bytes: Buffer) => this.#send(bytes))
    engine.on('end', () => this.#finish())
    engine.on('error', error => this.#break(error))
    this.#source.read(this, false)
  }

  pause(): void {
    this.#engine?.pause()
  }

  resume(): void {
    this.#engine?.resume()
  }

  cancel(): void {
    if (this.#over) return
    this.#close()
    this.#source.cancel()
  }

  data(bytes: Buffer): void {
    if (this.#engine === undefined) return
    this.#received += bytes.length
    if (this.#writing === 0) this.#write(bytes)
    else if (!this.#gathers(bytes)) {
      this.#overflow.push(bytes)
      this.#held = true
      this.#source.pause()
    }
  }

  end(trailers: string): void {
    this.#trailers = trailers
    this.#ended = true
    while (this.#writeNext());
    this.#engine?.end()
  }

  fail(error: Error): void {
    const sink = this.#sink
    if (this.#over) return
    this.#close()
    sink?.fail(error)
  }

  #gathers(bytes: Buffer): boolean {
    if (this.#overflow.length > 0 || bytes.length > this.#gathering.room) return false
    this.#gathering.add(bytes, 0, bytes.length)
    release(bytes)
    return true
  }

  #write(bytes: Buffer): void {
    this.#unflushed = true
    this.#writing++
    this.#engine?.write(bytes, error => {
      // After an error the engine may still hold the memory.
      if (!error) release(bytes)
      this.#written()
    })
  }

  /** Passes the data that arrived meanwhile to the engine; false when there is none. */
  #writeNext(): boolean {
    const next = this.#gathering.length > 0 ? this.#gathering.take() : this.#overflow.shift()
    if (next === undefined) return false
    this.#write(next)
    return true
  }

  /** There is room again. */
  #refill(): void {
    const waiting = this.#overflow
    this.#overflow = []
    for (const bytes of waiting) if (!this.#gathers(bytes)) this.#overflow.push(bytes)
    if (!this.#held || this.#overflow.length > 0) return
    this.#held = false
    this.#source.resume()
  }

  /** The engine has consumed a chunk. If none follows in this turn, the sender has paused. */
  #written(): void {
    this.#writing--
    if (this.#over) return
    if (this.#writing === 0 && this.#writeNext()) this.#refill()
    if (this.#writing > 0 || this.#ended || this.#flushDue) return
    this.#flushDue = true
    setImmediate(() => {
      this.#flushDue = false
      if (this.#writing > 0 || this.#ended || !this.#unflushed) return
      this.#unflushed = false
      this.#engine?.flush(methods[this.coding].flush)
    })
  }

  #send(bytes: Buffer): void {
    const sink = this.#sink
    if (sink === undefined || bytes.length === 0) return
    this.#sent += bytes.length
    if (this.#raw) sendChunk(sink, bytes)
    else sink.data(bytes)
  }

  #finish(): void {
    const sink = this.#sink
    if (this.#over || sink === undefined) return
    this.#close()
    if (this.#raw) sink.data(Buffer.from(`0\r\n${this.#trailers}\r\n`, 'latin1'))
    sink.end(this.#raw ? '' : this.#trailers)
  }

  /** An engine error. */
  #break(error: Error): void {
    const sink = this.#sink
    if (this.#over) return
    this.#close()
    this.#source.cancel()
    sink?.fail(error)
  }

  #close(): void {
    this.#over = true
    this.#sink = undefined
    const engine = this.#engine
    this.#engine = undefined
    if (engine === undefined) return
    this.#budget.release(this.#party, this.coding)
    engine.destroy()
  }
}
