import type { OutgoingEvent } from '#events/destination.ts'
import type { Store } from '#store/store.ts'

/** An event with its sequence number. */
interface Numbered extends OutgoingEvent {
  readonly sequence: number
}

const PAGE = 1000
/** Size of the cache of recent events. */
const KEPT_EVENTS = 2000
const KEPT_BYTES = 8_388_608

/** Reads the store's outbox for many readers: new events are read once for all that are up to date. */
export class Outbox {
  readonly #store: Pick<Store, 'events'>
  #kept: Numbered[] = []
  #bytes = 0
  /** Everything after `#from` and up to `#to` is cached. */
  #from: number
  #to: number
  #reading: Promise<void> | undefined

  constructor(store: Pick<Store, 'events'>, from: number) {
    this.#store = store
    this.#from = from
    this.#to = from
  }

  /**
   * Events after this number, in commit order; none when there are no more. A reader that is far behind gets no more
   * than it requests: the rest would be read again for each batch.
   */
  async read(after: number, most = PAGE): Promise<readonly Numbered[]> {
    if (after < this.#from) return this.#store.events(after, Math.min(most, PAGE))
    if (after >= this.#to) await this.#readOn()
    // From the end, where most readers are.
    const first = this.#kept.findLastIndex(({ sequence }) => sequence <= after) + 1
    return this.#kept.slice(first, first + PAGE)
  }

  #readOn(): Promise<void> {
    this.#reading ??= this.#fetch().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async #fetch(): Promise<void> {
    const fresh = await this.#store.events(this.#to, PAGE)
    this.#kept.push(...fresh)
    this.#to = fresh.at(-1)?.sequence ?? this.#to
    for (const { body } of fresh) this.#bytes += body.length
    this.#trim(fresh.length)
  }

  /** What was just read stays, whatever its size: it is about to be used. */
  #trim(fresh: number): void {
    let gone = 0
    while (
      gone < this.#kept.length - fresh &&
      (this.#kept.length - gone > KEPT_EVENTS || this.#bytes > KEPT_BYTES)
    ) {
      this.#bytes -= this.#kept[gone]?.body.length ?? 0
      this.#from = this.#kept[gone]?.sequence ?? this.#from
      gone++
    }
    if (gone > 0) this.#kept = this.#kept.slice(gone)
  }
}
