import type { Party } from '#base/shared-budget.ts'
import type { Body, BodySink } from '#http/body.ts'
import {
  timeoutChecker as sharedSweeper,
  type TimeoutChecker,
  type HasTimeouts,
} from '#http/timeout-checker.ts'
import type { MemoryBudget, BudgetHolder } from '#webhooks/memory-budget.ts'

const FIRST_BYTES = 16 * 1024
const EMPTY = Buffer.alloc(0)

/** Minimum bytes per second, below which a body is slow; ... */
const LEAST_BYTES = 1024
const LOOK_MS = 1000
/** ... and one that is slow for this long is aborted. */
const MAX_SLOW_MS = 10_000

/** `cut`: its sender did not finish. `full`: the budget is used up. `slow`: it takes too long. */
export type BufferingResult = 'whole' | 'too_large' | 'cut' | 'full' | 'slow'

interface Options {
  /** Bytes it may have. */
  readonly limit: number
  readonly budget: MemoryBudget
  readonly party: Party
  readonly timeouts?: TimeoutChecker
}

/** Reads a whole body. Its part of the budget is held until `release`. */
export class BufferedBody implements BodySink, BudgetHolder, HasTimeouts {
  readonly party: Party
  trailers = ''
  readonly #body: Body
  readonly #limit: number
  readonly #budget: MemoryBudget
  readonly #done = Promise.withResolvers<BufferingResult>()
  #bytes = EMPTY
  #length = 0
  #taken = 0
  #over = false
  readonly #timeouts: TimeoutChecker
  #lookedAt: number
  #lookedLength = 0
  #slowMs = 0

  constructor(body: Body, { limit, budget, party, timeouts = sharedSweeper }: Options) {
    this.#body = body
    this.#limit = limit
    this.#budget = budget
    this.party = party
    this.#timeouts = timeouts
    this.#lookedAt = timeouts.now
  }

  get taken(): number {
    return this.#taken
  }

  get isSlow(): boolean {
    return !this.#over && this.#slowMs > 0
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  read(): Promise<BufferingResult> {
    this.#timeouts.add(this)
    this.#body.read(this, false)
    return this.#done.promise
  }

  /** The body is aborted, or its sender is verified. */
  release(): void {
    this.#budget.release(this, this.#taken)
    this.#taken = 0
  }

  evict(): void {
    this.#giveUp('slow')
    this.release()
  }

  checkTimeouts(now: number): void {
    const waited = now - this.#lookedAt
    if (waited < LOOK_MS) return
    const isSlow = (this.#length - this.#lookedLength) * LOOK_MS < LEAST_BYTES * waited
    this.#slowMs = isSlow ? this.#slowMs + waited : 0
    this.#lookedAt = now
    this.#lookedLength = this.#length
    if (this.#slowMs >= MAX_SLOW_MS) this.evict()
  }

  data(piece: Buffer): void {
    if (this.#over) return
    const length = this.#length + piece.length
    if (length > this.#limit) this.#giveUp('too_large')
    else if (!this.#hasRoom(length)) this.#giveUp('full')
    else {
      // Copied, because chunks can be single bytes that each retain a whole read buffer.
      piece.copy(this.#bytes, this.#length)
      this.#length = length
    }
  }

  end(trailers: string): void {
    this.trailers = trailers
    this.#finish('whole')
  }

  fail(): void {
    this.#bytes = EMPTY
    this.#finish('cut')
  }

  #hasRoom(length: number): boolean {
    if (length <= this.#bytes.length) return true
    const size = Math.min(this.#limit, Math.max(length, this.#expected(), this.#bytes.length * 2))
    if (!this.#budget.take(this, size - this.#taken)) return false
    this.#taken = size
    const larger = Buffer.allocUnsafeSlow(size)
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
    return true
  }

  /** An announced length is trusted only as far as a wrong one is cheap. */
  #expected(): number {
    const { framing } = this.#body
    return framing.kind === 'length' ? Math.min(framing.length, FIRST_BYTES) : FIRST_BYTES
  }

  #giveUp(end: BufferingResult): void {
    this.#over = true
    this.#bytes = EMPTY
    this.#length = 0
    this.#body.cancel()
    this.#finish(end)
  }

  #finish(end: BufferingResult): void {
    this.#over = true
    this.#timeouts.delete(this)
    this.#done.resolve(end)
  }
}
