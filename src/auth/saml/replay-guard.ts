import { FairShare } from '#base/fair-share.ts'

/** Room for more sign-ins than happen while an assertion is valid. */
const LIMIT = 50_000

/** Remembers single-use values until they expire. */
export class ReplayGuard {
  readonly #until = new Map<string, { readonly place: string; readonly until: number }>()
  readonly #room: FairShare
  readonly #now: () => number

  constructor(now: () => number = Date.now, limit = LIMIT) {
    this.#now = now
    this.#room = new FairShare(limit)
  }

  /**
   * False when it was used before at this place. When the table is full nothing more is accepted; each place has its
   * share.
   */
  claim(place: string, id: string, until: number): boolean {
    const key = `${place} ${id}`
    if (this.#until.has(key)) return false
    if (!this.#room.allows([place])) this.#forget()
    if (!this.#room.take([place])) return false
    this.#until.set(key, { place, until })
    return true
  }

  #forget(): void {
    const now = this.#now()
    for (const [key, { place, until }] of this.#until) {
      if (until > now) continue
      this.#until.delete(key)
      this.#room.release([place])
    }
  }
}
