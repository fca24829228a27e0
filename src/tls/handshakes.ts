import type { Socket } from 'node:net'
import { clientNetwork } from '#base/client-network.ts'
import { Holdings } from '#base/holdings.ts'
import { RoundRobin } from '#base/round-robin.ts'
import { plainAddress } from '#base/addresses.ts'

export interface HandshakeLimits {
  /** To send the ClientHello, and from the begin of the handshake to its end. */
  readonly deadlineMs: number
  /** Between the two, while others compute. A client that waits for longer has probably given up. */
  readonly waitMs: number
  /** Connections before the end of their handshake; one more closes the oldest of the address that has most. */
  readonly pending: number
  /** Those of them that have begun; others wait, so that these can finish in time. */
  readonly active: number
  /** Handshakes started per turn of the event loop: the signature of each blocks all others. */
  readonly perTurn: number
}

const handshakeDefaults: HandshakeLimits = {
  deadlineMs: 10_000,
  waitMs: 5000,
  pending: 2048,
  active: 2048,
  perTurn: 16,
}

interface Pending {
  readonly client: string
  timer: NodeJS.Timeout
  isActive: boolean
}

interface QueuedHandshake {
  readonly socket: Socket
  readonly begin: () => void
}

/**
 * Limits the handshakes of a process. At the limit, the address with most of them loses its oldest: normal ones are
 * quick, so a flood of stalled ones evicts itself and cannot keep others out. Those waiting to compute are scheduled
 * round robin by address. The time that they wait for others is not that of their handshake.
 */
export class Handshakes {
  readonly #limits: HandshakeLimits
  readonly #pending = new Map<Socket, Pending>()
  /** Those of each address, in the order of their arrival. */
  readonly #ofClient = new Map<string, Set<Socket>>()
  readonly #clients = new Holdings<string>()
  readonly #waiting = new RoundRobin<QueuedHandshake>()
  #active = 0
  #begun = 0
  #scheduled = false

  constructor(limits: Partial<HandshakeLimits> = {}) {
    this.#limits = { ...handshakeDefaults, ...limits }
  }

  get pending(): number {
    return this.#pending.size
  }

  /** From here on the socket is destroyed unless each step is done in time. */
  enter(socket: Socket): void {
    const oldest = this.#pending.size >= this.#limits.pending ? this.#oldest() : undefined
    const timer = closeAfter(socket, this.#limits.deadlineMs)
    const client = clientOf(socket)
    this.#pending.set(socket, { client, timer, isActive: false })
    this.#ofClient.set(client, (this.#ofClient.get(client) ?? new Set()).add(socket))
    this.#clients.add(client)
    socket.on('close', () => this.leave(socket))
    if (oldest === undefined) return
    this.leave(oldest)
    oldest.destroy()
  }

  /** Resolves when this one may compute. */
  acquire(socket: Socket): Promise<void> {
    this.#restart(socket, this.#limits.waitMs)
    const { promise, resolve: begin } = Promise.withResolvers<void>()
    this.#waiting.push(clientOf(socket), { socket, begin })
    this.#schedule()
    if (this.#mayBegin) this.#begin()
    return promise
  }

  /** The handshake is complete, so it has no deadline any more; it counts as active until `leave`. */
  complete(socket: Socket): void {
    clearTimeout(this.#pending.get(socket)?.timer)
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
    if (!pending.isActive) return
    this.#active--
    if (this.#waiting.size > 0) this.#schedule()
  }

  get #mayBegin(): boolean {
    const { active, perTurn } = this.#limits
    return this.#waiting.size > 0 && this.#active < active && this.#begun < perTurn
  }

  /** Aborted ones cost nothing, and must not pile up. */
  #begin(): void {
    const next = this.#waiting.shift()
    const pending = next && this.#restart(next.socket, this.#limits.deadlineMs)
    if (pending) {
      pending.isActive = true
      this.#active++
      this.#begun++
    }
    next?.begin()
  }

  #schedule(): void {
    if (!this.#scheduled) setImmediate(() => this.#nextTurn())
    this.#scheduled = true
  }

  #nextTurn(): void {
    this.#scheduled = false
    this.#begun = 0
    while (this.#mayBegin) this.#begin()
    if (this.#begun > 0) this.#schedule()
  }

  /** Gives a socket that is still open this much time; otherwise undefined. */
  #restart(socket: Socket, ms: number): Pending | undefined {
    const pending = this.#pending.get(socket)
    if (pending === undefined || socket.destroyed) return undefined
    clearTimeout(pending.timer)
    pending.timer = closeAfter(socket, ms)
    return pending
  }

  #oldest(): Socket | undefined {
    const [oldest] = this.#ofClient.get(this.#clients.largest() ?? '') ?? []
    return oldest
  }
}

const closeAfter = (socket: Socket, ms: number): NodeJS.Timeout => setTimeout(() => socket.destroy(), ms)

const clientOf = ({ remoteAddress = '' }: Socket): string => clientNetwork(plainAddress(remoteAddress))
