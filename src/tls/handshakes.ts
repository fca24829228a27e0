import type { Socket } from 'node:net'
import { clientNetwork } from '#base/client-network.ts'
import { Holdings } from '#base/holdings.ts'
import { RoundRobin } from '#base/round-robin.ts'
import { plainAddress } from '#base/addresses.ts'

export interface HandshakeLimits {
  /** From the connection to the end of the handshake. */
  readonly deadlineMs: number
  /** Concurrent handshakes; one more closes the oldest of the address that has most. */
  readonly pending: number
  /** Handshakes started per turn of the event loop: the signature of each blocks all others. */
  readonly perTurn: number
}

const handshakeDefaults: HandshakeLimits = { deadlineMs: 10_000, pending: 2048, perTurn: 16 }

interface Pending {
  readonly client: string
  readonly timer: NodeJS.Timeout
}

interface QueuedHandshake {
  readonly socket: Socket
  readonly begin: () => void
}

/**
 * Limits the handshakes of a process. At the limit, the address with most of them loses its oldest: normal ones are
 * quick, so a flood of stalled ones evicts itself and cannot keep others out. Those waiting to compute are scheduled
 * round robin by address.
 */
export class Handshakes {
  readonly #limits: HandshakeLimits
  readonly #pending = new Map<Socket, Pending>()
  /** Those of each address, in the order of their arrival. */
  readonly #ofClient = new Map<string, Set<Socket>>()
  readonly #clients = new Holdings<string>()
  readonly #waiting = new RoundRobin<QueuedHandshake>()
  #begun = 0
  #scheduled = false

  constructor(limits: Partial<HandshakeLimits> = {}) {
    this.#limits = { ...handshakeDefaults, ...limits }
  }

  get pending(): number {
    return this.#pending.size
  }

  /** From here on the socket is destroyed unless `leave` is called in time. */
  enter(socket: Socket): void {
    const oldest = this.#pending.size >= this.#limits.pending ? this.#oldest() : undefined
    const timer = setTimeout(() => socket.destroy(), this.#limits.deadlineMs)
    const client = clientOf(socket)
    this.#pending.set(socket, { client, timer })
    this.#ofClient.set(client, (this.#ofClient.get(client) ?? new Set()).add(socket))
    this.#clients.add(client)
    socket.on('close', () => this.leave(socket))
    if (oldest === undefined) return
    this.leave(oldest)
    oldest.destroy()
  }

  leave(socket: Socket): void {
    const pending = this.#pending.get(socket)
    if (pending === undefined) return
    clearTimeout(pending.timer)
    this.#pending.delete(socket)
    this.#clients.remove(pending.client)
    const others = this.#ofClient.get(pending.client)
    others?.delete(socket)
    if (others?.size === 0) this.#ofClient.delete(pending.client)
  }

  /** Resolves when this one may compute. */
  acquire(socket: Socket): Promise<void> {
    const { promise, resolve: begin } = Promise.withResolvers<void>()
    this.#waiting.push(clientOf(socket), { socket, begin })
    if (!this.#scheduled) setImmediate(() => this.#nextTurn())
    this.#scheduled = true
    if (this.#begun < this.#limits.perTurn) this.#begin()
    return promise
  }

  /** Aborted ones cost nothing, and must not pile up. */
  #begin(): void {
    const next = this.#waiting.shift()
    if (next?.socket.destroyed === false) this.#begun++
    next?.begin()
  }

  #nextTurn(): void {
    this.#begun = 0
    while (this.#waiting.size > 0 && this.#begun < this.#limits.perTurn) this.#begin()
    this.#scheduled = this.#begun > 0
    if (this.#scheduled) setImmediate(() => this.#nextTurn())
  }

  #oldest(): Socket | undefined {
    const [oldest] = this.#ofClient.get(this.#clients.largest() ?? '') ?? []
    return oldest
  }
}

const clientOf = ({ remoteAddress = '' }: Socket): string => clientNetwork(plainAddress(remoteAddress))
