import type { Socket } from 'node:net'
import { DialError } from '#registry/agent-dialer.ts'

const MAX_DIALS = 128
const MAX_WAITING = 1024
/** After this many consecutive failures, dialling pauses for this long. */
const MAX_FAILURES = 3
const REST_MS = 2000

interface StaticDialerOptions {
  readonly connect: () => Promise<Socket>
  /** Called when it becomes unreachable, and when it is reachable again. */
  readonly changed: (failure: DialError | undefined) => void
  readonly now?: () => number
}

/**
 * Dials one address with limited concurrency. While it is unreachable most requests fail at once, and one tries now and
 * then.
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

  /** Rejects with a DialError that has the reason as cause. */
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
      // A waiting dial takes over this slot.
      const next = this.#waiting.shift()
      if (next === undefined) this.#dialling--
      else next()
    }
  }

  #refuseAtRest(): void {
    if (this.#failure !== undefined && this.#now() < this.#restsUntil) throw this.#failure
  }

  async #attempt(): Promise<Socket> {
    // After the pause one dial tries, and the others wait for its result.
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
