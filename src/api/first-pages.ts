import type { RowCache } from '#api/change-watch.ts'

const MAX_PAGES = 64
/** Longer pages are not worth their memory. */
const MAX_LENGTH = 262_144

/**
 * Cache of the first pages of lists: dashboards and reconcilers request them again and again. Later pages are read once
 * and not cached.
 */
export class FirstPages implements RowCache {
  readonly #pages = new Map<string, { kind: string; text: Buffer }>()
  #generation = 0

  /** To be read before the rows that will be cached. */
  get generation(): number {
    return this.#generation
  }

  find(url: string): Buffer | undefined {
    return this.#pages.get(url)?.text
  }

  /** Caches a page, unless something was invalidated since `generation`: it may be older than that change. */
  keep(url: string, kind: string, text: Buffer, generation: number): void {
    if (generation !== this.#generation || text.length > MAX_LENGTH) return
    if (this.#pages.size >= MAX_PAGES) this.#pages.clear()
    this.#pages.set(url, { kind, text })
  }

  invalidate(kind: string | undefined): void {
    this.#generation++
    for (const [url, page] of this.#pages) {
      if (kind === undefined || page.kind === kind) this.#pages.delete(url)
    }
  }
}
