import type { Memory } from '#api/change-watch.ts'

const MAX_PAGES = 64
/** Longer pages are not worth their memory. */
const MAX_LENGTH = 262_144

/**
 * The first pages of lists as they were last sent: dashboards and reconcilers ask for them again and again.
 * Later pages are read once in a walk and not kept.
 */
export class FirstPages implements Memory {
  readonly #pages = new Map<string, { kind: string; text: Buffer }>()
  #generation = 0

  /** To be taken before reading what will be kept. */
  get generation(): number {
    return this.#generation
  }

  find(url: string): Buffer | undefined {
    return this.#pages.get(url)?.text
  }

  /** Keeps a page, unless something was forgotten since `generation`: it may then be older than that change. */
  keep(url: string, kind: string, text: Buffer, generation: number): void {
    if (generation !== this.#generation || text.length > MAX_LENGTH) return
    if (this.#pages.size >= MAX_PAGES) this.#pages.clear()
    this.#pages.set(url, { kind, text })
  }

  forget(kind: string | undefined): void {
    this.#generation++
    for (const [url, page] of this.#pages) {
      if (kind === undefined || page.kind === kind) this.#pages.delete(url)
    }
  }
}
