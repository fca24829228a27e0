import type { Socket } from 'node:net'

export interface HandshakeLimits {
  /** From the first byte, or its absence, to the end of the handshake. */
  readonly deadlineMs: number
  /** Handshakes under way; one more ends the oldest. */
  readonly pending: number
  /** Handshakes begun in one turn of the event loop: the signature of each holds up all others. */
  readonly perTurn: number
}

export const handshakeDefaults: HandshakeLimits = { deadlineMs: 10_000, pending: 2048, perTurn: 16 }

/**
 * Bounds the handshakes of a process. When there are too many, the one that has taken longest is given up: honest
 * ones are quick, so a flood of stalled ones ends itself and cannot keep newcomers out.
 */
export class Handshakes {
  readonly #limits: HandshakeLimits
  // In the order of their arrival.
  readonly #pending = new Map<Socket, NodeJS.Timeout>()
  readonly #waiting: { readonly socket: Socket | undefined; readonly begin: () => void }[] = []
  #begun = 0
  #scheduled = false

  constructor(limits: Partial<HandshakeLimits> = {}) {
    this.#limits = { ...handshakeDefaults, ...limits }
  }

  get pending(): number {
    return this.#pending.size
  }

  /** From here on the socket is destroyed unless `leave` comes in time. */
  enter(socket: Socket): void {
    const [oldest] = this.#pending.size >= this.#limits.pending ? this.#pending.keys() : []
    this.#pending.set(
      socket,
      setTimeout(() => socket.destroy(), this.#limits.deadlineMs),
    )
    socket.on('close', () => this.leave(socket))
    if (oldest === undefined) return
    this.leave(oldest)
    oldest.destroy()
  }

  leave(socket: Socket): void {
    clearTimeout(this.#pending.get(socket))
    this.#pending.delete(socket)
  }

  /** Resolves when it is this one's turn to compute. */
  turn(socket?: Socket): Promise<void> {
    const { promise, resolve: begin } = Promise.withResolvers<void>()
    this.#waiting.push({ socket, begin })
    if (!this.#scheduled) setImmediate(() => this.#nextTurn())
    this.#scheduled = true
    if (this.#begun < this.#limits.perTurn) this.#begin()
    return promise
  }

  /** Those that were given up meanwhile cost nothing, and must not pile up. */
  #begin(): void {
    const next = this.#waiting.shift()
    if (next?.socket?.destroyed !== true) this.#begun++
    next?.begin()
  }

  #nextTurn(): void {
    this.#begun = 0
    while (this.#waiting.length > 0 && this.#begun < this.#limits.perTurn) this.#begin()
    this.#scheduled = this.#begun > 0
    if (this.#scheduled) setImmediate(() => this.#nextTurn())
  }
}
