import type { Socket } from 'node:net'
import { DialError } from '#registry/fleet.ts'

const MAX_DIALS = 128
const MAX_WAITING = 1024
/** So many failures in a row, and for so long nobody tries. */
const MAX_FAILURES = 3
const REST_MS = 2000

export interface StaticDialerOptions {
  readonly connect: () => Promise<Socket>
  /** Told when it cannot be reached any more, and when it can be again. */
  readonly changed: (failure: DialError | undefined) => void
  readonly now?: () => number
}

/**
 * Opens connections to one address, so many at a time. While it cannot be reached most requests are refused at once,
 * and now and then one tries.
 */
export class StaticDialer {
  readonly #options: StaticDialerOptions
  readonly #now: () => number
  readonly #waiting: (() => void)[] = []
  #dialling = 0
  #failures = 0
  #failure: DialError | undefined
  #restsUntil = -Infinity

  constructor(options: StaticDialerOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** Rejects with a DialError; its cause tells why. */
  async dial(): Promise<Socket> {
    this.#refuseAtRest()
    if (this.#dialling < MAX_DIALS) this.#dialling++
    else if (this.#waiting.length < MAX_WAITING)
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    else throw new DialError('busy', 'Too many connections are being opened.')
    try {
      this.#refuseAtRest()
      return await this.#attempt()
    } finally {
      // Whoever waits takes over this one's place.
      const next = this.#waiting.shift()
      if (next === undefined) this.#dialling--
      else next()
    }
  }

  #refuseAtRest(): void {
    if (this.#failure !== undefined && this.#now() < this.#restsUntil) throw this.#failure
  }

  async #attempt(): Promise<Socket> {
    // After a rest one tries, and the others wait for what becomes of it.
    if (this.#failure !== undefined) this.#restsUntil = this.#now() + REST_MS
    try {
      const socket = await this.#options.connect()
      const wasDown = this.#failure !== undefined
      this.#failures = 0
      this.#failure = undefined
      if (wasDown) this.#options.changed(undefined)
      return socket
    } catch (error) {
      if (error instanceof DialError) this.#failed(error)
      throw error
    }
  }

  #failed(error: DialError): void {
    if (++this.#failures < MAX_FAILURES) return
    const wasUp = this.#failure === undefined
    this.#failure = error
    this.#restsUntil = this.#now() + REST_MS
    if (wasUp) this.#options.changed(error)
  }
}
