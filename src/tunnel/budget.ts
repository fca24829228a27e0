/** Someone who gives a peer credit, and may have to wait with it. */
export interface Granter {
  grant(): void
}

/** The unread bytes of all streams of a session, and who waits with credit until they are fewer. */
export class Budget {
  readonly #limit: number
  readonly #waiting = new Set<Granter>()
  #unread = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get unread(): number {
    return this.#unread
  }

  get exceeded(): boolean {
    return this.#unread > this.#limit
  }

  hold(bytes: number): void {
    this.#unread += bytes
  }

  release(bytes: number): void {
    this.#unread -= bytes
    if (this.exceeded || this.#waiting.size === 0) return
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const granter of waiting) granter.grant()
  }

  /** False while too much is unread; then `grant` is called when that has changed. */
  mayGrant(granter: Granter): boolean {
    if (this.exceeded) this.#waiting.add(granter)
    return !this.exceeded
  }

  forget(granter: Granter): void {
    this.#waiting.delete(granter)
  }
}
