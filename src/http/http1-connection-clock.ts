import type { Socket } from 'node:net'
import type { TimeoutChecker } from '#http/timeout-checker.ts'

/** How long a client connection waits, for bytes from the client and for the client to read. */
export class ConnectionClock {
  readonly #socket: Socket
  readonly #timeouts: TimeoutChecker
  /** When the wait began, or its last byte arrived. */
  #since: number
  /** When the running request began; undefined before. */
  #requestSince: number | undefined
  #sent = 0
  #unsent = 0
  #unsentSince = 0

  constructor(socket: Socket, timeouts: TimeoutChecker) {
    this.#socket = socket
    this.#timeouts = timeouts
    this.#since = timeouts.now
  }

  restart(): void {
    this.#since = this.#timeouts.now
  }

  waitedMs(now: number): number {
    return now - this.#since
  }

  /** The first bytes of a request, or all of its head, have arrived. */
  requestBegins(): void {
    this.#requestSince ??= this.#timeouts.now
  }

  requestEnds(): void {
    this.#requestSince = undefined
  }

  /** How long the running request has been arriving. */
  requestMs(now: number): number {
    return this.#requestSince === undefined ? 0 : now - this.#requestSince
  }

  /** How long the client has not read any buffered data. */
  stalledMs(now: number): number {
    const unsent = this.#socket.writableLength
    if (unsent !== this.#unsent || unsent === 0) {
      this.#unsent = unsent
      this.#unsentSince = now
    }
    return now - this.#unsentSince
  }

  /** Whether bytes were sent since the last call; the wait begins again then. */
  restartIfSent(): boolean {
    const sent = this.#socket.bytesWritten
    if (sent === this.#sent) return false
    this.#sent = sent
    this.restart()
    return true
  }
}
