import type { Socket } from 'node:net'

interface Held {
  /** Whether the connection is no longer allowed. */
  isRevoked(): boolean
  cut(): void
}

/** Changes arrive in groups, and a group is checked once. */
const SETTLE_MS = 50

/** Connections whose admission can be revoked while they are open. */
export class Revocations {
  readonly #held = new Set<Held>()
  #timer: NodeJS.Timeout | undefined

  add(socket: Socket, held: Held): void {
    if (socket.destroyed) return
    this.#held.add(held)
    socket.on('close', () => this.#held.delete(held))
  }

  /** Something that admissions depend on has changed. */
  changed(): void {
    if (this.#held.size === 0 || this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#check(), SETTLE_MS).unref()
  }

  #check(): void {
    this.#timer = undefined
    for (const held of this.#held) if (held.isRevoked()) held.cut()
  }
}
