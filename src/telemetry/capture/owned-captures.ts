import { CapturePage, pageBytes, textOf } from '#telemetry/capture/capture-page.ts'
import type { CapturedRequest } from '#telemetry/capture/captured-request.ts'

/** A page of most owners; a capture that needs more gets a page of its own. */
export const PAGE_BYTES = 65_536
/** The first page of an owner; each further one is twice as large. */
const FIRST_PAGE_BYTES = 4096

/** Memory for a page of this many bytes. */
type Allocate = (bytes: number) => Buffer

/** The captures of one owner. */
export class OwnedCaptures {
  readonly ownerId: string
  /** Memory that they hold, those under way included. */
  bytes = 0
  /** How many are under way. */
  underWay = 0
  /** The oldest first. */
  readonly #pages: CapturePage[] = []
  /** Those from before a restart, the newest first. */
  readonly #older: CapturePage[] = []

  constructor(ownerId: string) {
    this.ownerId = ownerId
  }

  get isEmpty(): boolean {
    return this.underWay === 0 && this.#pages.length === 0 && this.#older.length === 0
  }

  /** The newest first. */
  *pages(): Generator<CapturePage> {
    for (let at = this.#pages.length - 1; at >= 0; at--) yield this.#pages[at] as CapturePage
    yield* this.#older
  }

  /** Keeps a capture that has ended. */
  add(captured: CapturedRequest, allocate: Allocate): void {
    this.#put(this.#pages, captured, allocate)
  }

  /** One that is older than all others. */
  addOlder(captured: CapturedRequest, allocate: Allocate): void {
    this.#put(this.#older, captured, allocate)
  }

  takeOldest(): CapturePage | undefined {
    const oldest = this.#older.pop() ?? this.#pages.shift()
    if (oldest !== undefined) this.bytes -= oldest.held
    return oldest
  }

  #put(pages: CapturePage[], captured: CapturedRequest, allocate: Allocate): void {
    const text = textOf(captured)
    const needed = pageBytes(captured, text)
    let page = pages.at(-1)
    if (page === undefined || page.room < needed) {
      const usual = Math.min(PAGE_BYTES, FIRST_PAGE_BYTES * 2 ** pages.length)
      page = new CapturePage(this.ownerId, allocate(Math.max(needed, usual)))
      pages.push(page)
      this.bytes += page.held
    }
    this.bytes -= page.held
    page.add(captured, text)
    this.bytes += page.held
  }
}
