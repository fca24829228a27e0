import { Exchange } from '#agent/capture/exchange.ts'

export interface CaptureLimits {
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
  | { readonly kind: 'began' | 'responded' | 'finished'; readonly exchange: Exchange }
  | { readonly kind: 'cleared' }

type Listener = (event: CaptureEvent) => void

/** What the objects of an exchange take beside its bytes. */
const EXCHANGE_BYTES = 1024

/** The last captured exchanges, bounded in number and bytes: the oldest are evicted. */
export class CaptureStore {
  readonly #limits: CaptureLimits
  readonly #exchanges = new Map<string, Exchange>()
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
    return this.#exchanges.size
  }

  /** The newest first. */
  list(): Exchange[] {
    return [...this.#exchanges.values()].toReversed()
  }

  get(id: string): Exchange | undefined {
    return this.#exchanges.get(id)
  }

  clear(): void {
    this.#exchanges.clear()
    this.#bytes = 0
    this.#notify({ kind: 'cleared' })
  }

  /** Calls the listener for each event until the returned function is called. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  begin(tunnelName: string, clientAddr: string, replayOf?: string): Exchange {
    const exchange = new Exchange({ id: this.#newId(), tunnelName, clientAddr, replayOf })
    this.#exchanges.set(exchange.id, exchange)
    this.#bytes += EXCHANGE_BYTES
    this.#evict()
    this.#notify({ kind: 'began', exchange })
    return exchange
  }

  add(exchange: Exchange, part: 'request' | 'response', bytes: Buffer): void {
    // What was evicted or cleared is no longer recorded.
    if (!this.#exchanges.has(exchange.id)) return
    this.#bytes += exchange[part].add(bytes, this.#limits.maxMessageBytes)
    if (this.#bytes > this.#limits.maxBytes) this.#evict()
  }

  respond(exchange: Exchange, status: number): void {
    exchange.respond(status)
    this.#notify({ kind: 'responded', exchange })
  }

  finish(exchange: Exchange, isComplete: boolean): void {
    if (exchange.durationMs !== undefined) return
    exchange.finish(isComplete)
    this.#notify({ kind: 'finished', exchange })
  }

  #evict(): void {
    const { maxExchanges, maxBytes } = this.#limits
    for (const [id, { request, response }] of this.#exchanges) {
      if (this.#exchanges.size <= maxExchanges && this.#bytes <= maxBytes) return
      this.#exchanges.delete(id)
      this.#bytes -= EXCHANGE_BYTES + request.kept + response.kept
    }
  }

  /** Ids sort by time as text. */
  #newId(): string {
    this.#count = (this.#count + 1) % 0x100_0000
    return `airt_${Date.now().toString(16).padStart(12, '0')}${this.#count.toString(16).padStart(6, '0')}`
  }

  #notify(event: CaptureEvent): void {
    for (const listener of this.#listeners) listener(event)
  }
}
