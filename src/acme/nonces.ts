const MOST = 64
const NONCE = /^[A-Za-z0-9_-]{1,512}$/

/** Nonces from the CA's responses, each valid for one message. */
export class Nonces {
  readonly #unused: string[] = []

  /** The newest: a CA forgets old ones first. */
  take(): string | undefined {
    return this.#unused.pop()
  }

  keep(nonce: string | undefined): void {
    if (nonce === undefined || !NONCE.test(nonce)) return
    this.#unused.push(nonce)
    if (this.#unused.length > MOST) this.#unused.shift()
  }
}
