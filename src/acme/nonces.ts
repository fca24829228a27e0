const MOST = 64
const NONCE = /^[A-Za-z0-9_-]{1,512}$/

/** Nonces that the authority gave with its answers, each good for one message. */
export class Nonces {
  readonly #unused: string[] = []

  /** The newest: old ones are forgotten by the authority first. */
  take(): string | undefined {
    return this.#unused.pop()
  }

  keep(nonce: string | undefined): void {
    if (nonce === undefined || !NONCE.test(nonce)) return
    this.#unused.push(nonce)
    if (this.#unused.length > MOST) this.#unused.shift()
  }
}
