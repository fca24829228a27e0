/** How long the bytes of a session may wait for its socket, at the rate at which that takes them. */
const WAIT_MS = 100
/** The system's buffer takes bytes in bursts, of up to a second on a slow link, so the rate is one of seconds. */
const MEMORY_MS = 1000
const LEAST_WAITING = 32_768
export const MOST_WAITING = 262_144

/**
 * How many bytes may wait for a socket: so few on a slow link that streams have equal shares and a late small frame is
 * not far behind, and on a fast one so many that writes are large.
 */
export class DrainRate {
  #waiting = LEAST_WAITING
  /** The bytes taken so far, each with less weight the longer ago it was. */
  #taken = 0
  #updated = performance.now()
  /** Bytes taken since then: few are not worth reading the clock. */
  #since = 0

  get waiting(): number {
    return this.#waiting
  }

  /** The socket took so many bytes. */
  took(bytes: number): void {
    this.#since += bytes
    if (this.#since < LEAST_WAITING / 2) return
    const now = performance.now()
    this.#taken = this.#taken * Math.exp((this.#updated - now) / MEMORY_MS) + this.#since
    this.#updated = now
    this.#since = 0
    const waiting = Math.floor((this.#taken * WAIT_MS) / MEMORY_MS)
    this.#waiting = Math.min(MOST_WAITING, Math.max(LEAST_WAITING, waiting))
  }
}
