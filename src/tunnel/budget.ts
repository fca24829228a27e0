/** A stream that gives credit to its peer, and may have to delay it. */
interface WindowOwner {
  grant(): void
}

/**
 * The unread bytes of all streams of a session, and the streams that delay credit until there are fewer. Never more
 * than the limit, half of it again for grown windows, and an initial window for each stream.
 */
export class Budget {
  readonly #limit: number
  readonly #waiting = new Set<WindowOwner>()
  #unread = 0
  #lent = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get unread(): number {
    return this.#unread
  }

  get exceeded(): boolean {
    return this.#unread > this.#limit
  }

  /** So much is unread that windows should not be large. */
  get tight(): boolean {
    return this.#unread * 2 > this.#limit
  }

  /** Lends memory for a larger window, which the peer may fill; false: nothing is left to lend. */
  lend(bytes: number): boolean {
    if (this.#lent + bytes > this.#limit / 2) return false
    this.#lent += bytes
    return true
  }

  unlend(bytes: number): void {
    this.#lent -= bytes
  }

  hold(bytes: number): void {
    this.#unread += bytes
  }

  release(bytes: number): void {
    this.#unread -= bytes
    if (this.exceeded || this.#waiting.size === 0) return
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const owner of waiting) owner.grant()
  }

  /** False while too much is unread; then `grant` is called when that has changed. */
  mayGrant(owner: WindowOwner): boolean {
    if (this.exceeded) this.#waiting.add(owner)
    return !this.exceeded
  }

  forget(owner: WindowOwner): void {
    this.#waiting.delete(owner)
  }
}
