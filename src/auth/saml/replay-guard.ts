import { FairShare } from '#base/fair-share.ts'

/** Room for more sign-ins than happen while an assertion is valid. */
const LIMIT = 50_000

/** Remembers single-use values until they expire. */
export class ReplayGuard {
  readonly #until = new Map<string, { readonly realm: string; readonly until: number }>()
  readonly #room: FairShare
  readonly #now: () => number

  constructor(now: () => number = Date.now, limit = LIMIT) {
    this.#now = now
    this.#room = new FairShare(limit)
  }

  /**
   * False when it was used before in this realm. When the table is full nothing more is accepted; each realm has its
   * share.
   */
  claim(realm: string, id: string, until: number): boolean {
    const key = `${realm} ${id}`
    if (this.#until.has(key)) return false
    if (!this.#room.allows([realm])) this.#forget()
    if (!this.#room.take([realm])) return false
    this.#until.set(key, { realm, until })
    return true
  }

  #forget(): void {
    const now = this.#now()
    for (const [key, { realm, until }] of this.#until) {
      if (until > now) continue
      this.#until.delete(key)
      this.#room.release([realm])
    }
  }
}
