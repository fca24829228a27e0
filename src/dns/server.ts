import type { RemoteInfo, Socket as UdpSocket } from 'node:dgram'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { bindOn, listenOn, type SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import { networkOf } from '#dns/network.ts'
import { Responder, type DnsClient, type ResponderOptions } from '#dns/responder.ts'
import { serveConnection } from '#dns/tcp.ts'

export interface DnsServerOptions extends ResponderOptions {
  readonly log: Log
  readonly connections?: Partial<DnsConnectionLimits>
  readonly sharesPorts?: SharesPorts
}

interface DnsConnectionLimits {
  readonly total: number
  /** Of one network. */
  readonly perNetwork: number
  /** How long one may be without a complete query. */
  readonly idleMs: number
}

const connectionDefaults: DnsConnectionLimits = { total: 512, perNetwork: 32, idleMs: 10_000 }
/** Unsent responses; more are dropped, as the network would. */
const MAX_UNSENT = 1024
/** For a system-assigned port: one that is free for UDP may be in use for TCP. */
const ATTEMPTS = 10
const LOG_EVERY_MS = 10_000

/** Serves the given zones, over UDP and TCP, and nothing else. */
export class DnsServer {
  readonly #options: DnsServerOptions
  readonly #limits: DnsConnectionLimits
  readonly #responder: Responder
  readonly #sockets = new Set<Socket>()
  readonly #networks = new Map<string, number>()
  #udp: UdpSocket | undefined
  #tcp: Server | undefined
  #loggedAt = -Infinity

  constructor(options: DnsServerOptions) {
    this.#options = options
    this.#limits = { ...connectionDefaults, ...options.connections }
    this.#responder = new Responder(options)
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#sockets.size
  }

  /** Resolves to the address in use; rejects with the system's error (`EADDRINUSE`, `EACCES`, ...). */
  async listen({ host, port }: AddressSetting): Promise<AddressSetting> {
    for (let attempt = 1; ; attempt++) {
      try {
        const udp = await this.#listenUdp(host, port)
        await this.#listenTcp(host, udp.port)
        return { host, port: udp.port }
      } catch (error) {
        this.close()
        const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
        if (!isTaken || port !== 0 || attempt === ATTEMPTS) throw error
      }
    }
  }

  /** At once: waiting clients ask the other name server. */
  close(): void {
    this.#udp?.close()
    this.#tcp?.close()
    this.#udp = undefined
    this.#tcp = undefined
    for (const socket of this.#sockets) socket.destroy()
  }

  async #listenUdp(host: string, port: number): Promise<AddressInfo> {
    const udp = await bindOn({ host, port }, this.#options.sharesPorts)
    this.#udp = udp
    udp.on('error', error => this.#logError(error))
    udp.on('message', (query, from) => this.#datagram(udp, query, from))
    return udp.address()
  }

  async #listenTcp(host: string, port: number): Promise<void> {
    const tcp = createServer({ noDelay: true }, socket => this.#accept(socket))
    this.#tcp = tcp
    tcp.maxConnections = this.#limits.total
    await listenOn(tcp, { host, port }, this.#options.sharesPorts)
    tcp.on('error', error => this.#logError(error))
  }

  #datagram(udp: UdpSocket, query: Buffer, { address, port }: RemoteInfo): void {
    const reply = this.#respond(query, { address, over: 'udp' })
    // Port 0 is unreachable, and sending there throws.
    if (reply === undefined || port === 0 || udp.getSendQueueCount() >= MAX_UNSENT) return
    // The client may have gone, or its network may be unreachable: it retries if needed.
    udp.send(reply, port, address, () => undefined)
  }

  #accept(socket: Socket): void {
    const { perNetwork, idleMs } = this.#limits
    const address = socket.remoteAddress ?? ''
    const network = networkOf(address)
    const open = this.#networks.get(network) ?? 0
    socket.on('error', () => undefined)
    if (open >= perNetwork) return void socket.resetAndDestroy()
    this.#networks.set(network, open + 1)
    this.#sockets.add(socket)
    socket.on('close', () => this.#left(socket, network))
    const client: DnsClient = { address, over: 'tcp' }
    serveConnection(socket, query => this.#respond(query, client), idleMs)
  }

  #left(socket: Socket, network: string): void {
    this.#sockets.delete(socket)
    const rest = (this.#networks.get(network) ?? 0) - 1
    if (rest > 0) this.#networks.set(network, rest)
    else this.#networks.delete(network)
  }

  /** A query that triggers a bug gets no response; the next one is served. */
  #respond(query: Buffer, client: DnsClient): Buffer | undefined {
    try {
      return this.#responder.respond(query, client)
    } catch (error) {
      this.#options.counted?.('failed')
      this.#logError(error)
      return undefined
    }
  }

  /** Now and then: queries are cheap to send, and each could cost a log line. */
  #logError(error: unknown): void {
    const now = performance.now()
    if (now - this.#loggedAt < LOG_EVERY_MS) return
    this.#loggedAt = now
    this.#options.log.error({ error }, 'the DNS server failed')
  }
}
