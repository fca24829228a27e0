/** Room for more sign-ins than happen while an assertion is valid. */
const LIMIT = 50_000

/** Remembers what may be used once, until it could not be used any more anyhow. */
export class Once {
  readonly #until = new Map<string, number>()
  readonly #limit: number
  readonly #now: () => number

  constructor(now: () => number = Date.now, limit = LIMIT) {
    this.#now = now
    this.#limit = limit
  }

  /** False when it was used before. When there is no room to remember it, nothing more is let through. */
  use(key: string, until: number): boolean {
    if (this.#until.has(key)) return false
    if (this.#until.size >= this.#limit) this.#forget()
    if (this.#until.size >= this.#limit) return false
    this.#until.set(key, until)
    return true
  }

  #forget(): void {
    const now = this.#now()
    for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key)
  }
}
