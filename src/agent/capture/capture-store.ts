import { CapturedExchange, type ExchangeStart } from '#agent/capture/exchange.ts'

interface CaptureLimits {
  readonly maxExchanges: number
  /** Of all exchanges together. */
  readonly maxBytes: number
  /** Of one message, its head included. */
  readonly maxMessageBytes: number
}

export const defaultLimits: CaptureLimits = {
  maxExchanges: 1000,
  maxBytes: 50 * 1_048_576,
  maxMessageBytes: 1_048_576,
}

export type CaptureEvent =
  | { readonly kind: 'began' | 'responded' | 'finished'; readonly exchange: CapturedExchange }
  | { readonly kind: 'cleared' }

type Listener = (event: CaptureEvent) => void

/** The overhead of an exchange besides its bytes. */
const EXCHANGE_BYTES = 1024
const COMPACT_AFTER = 64
const MAX_NUMBER = 0x100_0000

/** The last captured exchanges, bounded in number and bytes: the oldest are evicted. */
export class CaptureStore {
  readonly #limits: CaptureLimits
  /** The oldest first; those before `#first` were evicted. */
  #exchanges: CapturedExchange[] = []
  #first = 0
  readonly #listeners = new Set<Listener>()
  #bytes = 0
  #count = 0

  constructor(limits: CaptureLimits = defaultLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#exchanges.length - this.#first
  }

  /** The newest first. */
  list(): CapturedExchange[] {
    return this.#exchanges.slice(this.#first).toReversed()
  }

  get(id: string): CapturedExchange | undefined {
    return this.list().find(exchange => exchange.id === id)
  }

  clear(): void {
    for (const exchange of this.#exchanges) exchange.evict()
    this.#exchanges = []
    this.#first = 0
    this.#bytes = 0
    this.#notify({ kind: 'cleared' })
  }

  /** Calls the listener for each event until the returned function is called. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  begin(start: ExchangeStart): CapturedExchange {
    this.#count = (this.#count + 1) % MAX_NUMBER
    const exchange = new CapturedExchange(start, this.#count)
    this.#exchanges.push(exchange)
    this.#bytes += EXCHANGE_BYTES
    this.#evict()
    this.#notifyOf('began', exchange)
    return exchange
  }

  add(exchange: CapturedExchange, part: 'request' | 'response', bytes: Buffer): void {
    // Evicted or cleared exchanges are no longer recorded.
    if (exchange.isKept) this.#keep(exchange[part].add(bytes, this.#limits.maxMessageBytes))
  }

  /** `now` is a `performance.now` time. */
  respond(exchange: CapturedExchange, status: number, now: number): void {
    exchange.respond(status, now)
    this.#notifyOf('responded', exchange)
  }

  finish(exchange: CapturedExchange, isComplete: boolean, now: number): void {
    if (exchange.durationMs !== undefined) return
    exchange.finish(isComplete, now)
    this.#notifyOf('finished', exchange)
  }

  #keep(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#limits.maxBytes) this.#evict()
  }

  #evict(): void {
    const { maxExchanges, maxBytes } = this.#limits
    while (this.size > maxExchanges || this.#bytes > maxBytes) {
      const oldest = this.#exchanges[this.#first]
      if (oldest === undefined) return
      this.#first++
      oldest.evict()
      this.#bytes -= EXCHANGE_BYTES + oldest.request.kept + oldest.response.kept
    }
    // Not each time: moving the others costs more than keeping a few for longer.
    if (this.#first >= COMPACT_AFTER) {
      this.#exchanges = this.#exchanges.slice(this.#first)
      this.#first = 0
    }
  }

  /** Not of one that was cleared or evicted: listeners would list it again. */
  #notifyOf(kind: 'began' | 'responded' | 'finished', exchange: CapturedExchange): void {
    if (exchange.isKept) this.#notify({ kind, exchange })
  }

  #notify(event: CaptureEvent): void {
    for (const listener of this.#listeners) listener(event)
  }
}
