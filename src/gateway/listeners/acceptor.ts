import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { acceptQueued, listenOn, type SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { Admission, Admitted } from '#gateway/listeners/admission.ts'
import type { ClosingSockets } from '#gateway/listeners/closing-sockets.ts'
import type { ClientBytes } from '#gateway/listeners/client-bytes.ts'
import { plainAddress } from '#base/addresses.ts'
import type { ProxiedSockets } from '#tunnel/proxied-sockets.ts'
import type { TrafficEvents } from '#telemetry/traffic-events.ts'
import type { UsageCounter } from '#telemetry/usage/usage-counter.ts'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Common dependencies of the client listeners. */
export interface ListenerOptions {
  /** One for all listeners of a process. */
  readonly admission: Admission
  readonly log: Log
  /** Several processes share the port; a port of another program is then not always detected. */
  readonly sharesPorts?: SharesPorts | undefined
  /** The byte counter; one for all listeners of a process. */
  readonly bytes?: ClientBytes
  /** One for all listeners of a gateway. */
  readonly closing?: ClosingSockets
  /** Notified of closed connections. */
  readonly traffic?: TrafficEvents | undefined
  readonly usage?: UsageCounter | undefined
  /** Reads PROXY headers; absent: there are none. */
  readonly proxied?: ProxiedSockets | undefined
}

interface AcceptorOptions extends ListenerOptions {
  readonly accept: (socket: Socket) => void
  /** Handles a rejected client; by default its connection is closed silently. */
  readonly refuse?: (socket: Socket, reason: Exclude<Admitted, { ok: true }>['reason']) => void
}

// Reads and writes of 64 KiB: the default of 16 KiB halves bulk throughput.
const HIGH_WATER_MARK = 65_536
const BACKLOG = 4096
const KEEP_ALIVE_MS = 60_000

/** A listening socket, its connections, and how to close both. */
export class Acceptor {
  readonly #options: AcceptorOptions
  readonly #server: Server
  /** Open connections, each with the release of its admission. */
  readonly #sockets = new Map<Socket, () => void>()
  readonly #waiting: (() => void)[] = []

  constructor(options: AcceptorOptions) {
    this.#options = options
    this.#server = createServer(
      // Half-open, because a client may finish sending long before the response.
      { allowHalfOpen: true, noDelay: true, highWaterMark: HIGH_WATER_MARK },
      socket => this.#arrived(socket),
    )
  }

  /** Open admitted connections. */
  get connections(): number {
    return this.#sockets.size
  }

  /** Resolves to the address in use; rejects with the system's error (`EADDRINUSE`, `EACCES`, ...). */
  async listen({ host, port }: ListenAddress): Promise<ListenAddress> {
    const { sharesPorts, log } = this.#options
    await listenOn(this.#server, { host, port, backlog: BACKLOG }, sharesPorts)
    this.#server.on('error', error => log.error({ error }, 'a listener failed to accept a connection'))
    return { host, port: (this.#server.address() as AddressInfo).port }
  }

  /** Stops accepting. Connections continue. */
  close(): void {
    if (this.#server.listening) this.#server.close()
  }

  /** Stops accepting and waits until all connections are closed; those that last longer are aborted. */
  async drain(deadlineMs: number): Promise<void> {
    await acceptQueued(this.#server)
    this.close()
    const timer = setTimeout(() => this.destroy(), deadlineMs)
    await this.whenEmpty()
    clearTimeout(timer)
  }

  /** Resolves when no connection is open. */
  whenEmpty(): Promise<void> {
    if (this.#sockets.size === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    return promise
  }

  /** Aborts all connections. */
  destroy(): void {
    this.close()
    for (const socket of this.#sockets.keys()) socket.destroy()
  }

  /** Hands a connection over to another acceptor, which admits and closes it from then on. */
  handOver(socket: Socket, to: Acceptor, accept: (socket: Socket) => void): void {
    this.#left(socket)
    to.#take(socket, accept)
  }

  #arrived(socket: Socket): void {
    const { proxied } = this.#options
    if (proxied) proxied.receive(socket, () => this.#take(socket))
    else this.#take(socket)
  }

  #take(socket: Socket, accept = this.#options.accept): void {
    // The new owner listens too; this one keeps an early or late error from crashing the process.
    socket.on('error', () => undefined)
    const { admission, bytes, refuse, log } = this.#options
    try {
      const admitted = admission.admit(plainAddress(socket.remoteAddress ?? ''))
      if (!admitted.ok) {
        if (refuse) refuse(socket, admitted.reason)
        else socket.resetAndDestroy()
        return
      }
      this.#sockets.set(socket, admitted.release)
      bytes?.add(socket)
      socket.on('close', () => this.#left(socket))
      // A client that vanished silently would hold its slot forever.
      socket.setKeepAlive(true, KEEP_ALIVE_MS)
      accept(socket)
    } catch (error) {
      log.error({ error }, 'a connection could not be served')
      socket.destroy()
    }
  }

  #left(socket: Socket): void {
    this.#sockets.get(socket)?.()
    if (!this.#sockets.delete(socket)) return
    this.#options.bytes?.remove(socket)
    if (this.#sockets.size === 0) this.#waiting.splice(0).forEach(resolve => resolve())
  }
}
