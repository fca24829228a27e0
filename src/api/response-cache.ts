import type { RowCache } from '#api/change-watch.ts'

const MAX_BYTES = 8 * 1024 * 1024
/** A longer response is not worth its memory. */
const MAX_LENGTH = 256 * 1024
/** The memory of an entry besides its URL and body. */
const ENTRY_BYTES = 512

interface Entry {
  readonly kind: string
  readonly body: string | Buffer
  readonly generation: number
  /** Since it was last spared from eviction. */
  used?: boolean
}

/**
 * Cache of responses that are the same for every caller: dashboards, reconcilers and clients that page through a list
 * request them again and again. Evicts the oldest response that was not used since the last eviction reached it: to
 * reorder them at each use, as an LRU does, would cost more than the look-up.
 */
export class ResponseCache implements RowCache {
  /** By URL, next to evict first. */
  readonly #entries = new Map<string, Entry>()
  /** How often each kind, and everything, was invalidated. */
  readonly #invalidated = new Map<string, number>()
  #allInvalidated = 0
  #bytes = 0

  /** To be read before the rows that will be cached. */
  generation(kind: string): number {
    return this.#allInvalidated + (this.#invalidated.get(kind) ?? 0)
  }

  find(url: string): string | Buffer | undefined {
    const entry = this.#entries.get(url)
    if (entry === undefined) return undefined
    if (entry.generation !== this.generation(entry.kind)) {
      this.#drop(url)
      return undefined
    }
    entry.used = true
    return entry.body
  }

  /** Caches a response, unless its kind was invalidated since: it may be older than that change. */
  keep(url: string, entry: Entry): void {
    if (entry.generation !== this.generation(entry.kind) || entry.body.length > MAX_LENGTH) return
    this.#drop(url)
    this.#put(url, entry)
    for (const [oldest, candidate] of this.#entries) {
      if (this.#bytes <= MAX_BYTES) return
      this.#drop(oldest)
      if (candidate.used) this.#put(oldest, { ...candidate, used: false })
    }
  }

  /** Stale entries stay until they are requested or evicted: most writes are followed by others, not by reads. */
  invalidate(kind: string | undefined): void {
    if (kind === undefined) this.#allInvalidated++
    else this.#invalidated.set(kind, (this.#invalidated.get(kind) ?? 0) + 1)
  }

  #put(url: string, entry: Entry): void {
    this.#entries.set(url, entry)
    this.#bytes += sizeOf(url, entry)
  }

  #drop(url: string): void {
    const entry = this.#entries.get(url)
    if (entry === undefined) return
    this.#entries.delete(url)
    this.#bytes -= sizeOf(url, entry)
  }
}

const sizeOf = (url: string, { body }: Entry): number => body.length + url.length + ENTRY_BYTES
