import type { Socket } from 'node:net'
import { inBackground } from '#base/background.ts'
import type { SharesPorts } from '#base/listen-on.ts'
import { Acceptor, type ListenAddress } from '#gateway/listeners/acceptor.ts'
import { Admission, type AdmissionLimits } from '#gateway/listeners/admission.ts'
import { ClosingSockets } from '#gateway/listeners/closing-sockets.ts'
import { plainAddress } from '#base/addresses.ts'
import { AgentSession, type AgentSessionOptions } from '#gateway/agents/agent-session.ts'
import type { Certificates } from '#tls/certificates.ts'
import { Handshakes, type HandshakeLimits } from '#tls/handshakes.ts'
import { peekClientHello, type PeekedHello } from '#tls/peek.ts'
import { alpnList, terminate } from '#tls/terminate.ts'
import { ProxiedSockets } from '#tunnel/proxied-sockets.ts'
import { elsewhereAlpn, OWN_ALPN } from '#tunnel/alpn.ts'

export interface AgentListenerOptions extends AgentSessionOptions {
  readonly certificates: Pick<Certificates, 'contextFor' | 'has'>
  /** Connections that have not signed in yet, including those that wait until they may. */
  readonly unauthenticated?: Partial<AdmissionLimits>
  readonly handshakes?: Partial<HandshakeLimits>
  readonly sharesPorts?: SharesPorts | undefined
  /** One for all listeners of a gateway. */
  readonly closing?: ClosingSockets
  /** Duration of a completed handshake, in seconds. */
  readonly handshaken?: (seconds: number) => void
}

// Signed-in connections are limited as sessions.
const OPEN: AdmissionLimits = { total: 110_000, perAddress: 110_000 }
// One that waits costs a socket; one that signs in also a TLS session.
const UNAUTHENTICATED: AdmissionLimits = { total: 4096, perAddress: 100 }
const SIGNING_IN = 512

const AGENT_ALPN = alpnList(OWN_ALPN)

// Fatal TLS alerts: `no_application_protocol` and `unrecognized_name`.
const SENT_AWAY = Buffer.from([0x15, 3, 3, 0, 2, 2, 120])
const UNKNOWN_NAME = Buffer.from([0x15, 3, 3, 0, 2, 2, 112])

/** Accepts agents. */
export class AgentListener {
  readonly #options: AgentListenerOptions
  readonly #acceptor: Acceptor
  readonly #unauthenticated: Admission
  readonly #handshakes: Handshakes
  readonly #agents = new Set<AgentSession>()
  readonly #closing: ClosingSockets
  readonly #elsewhere: string
  readonly #unwatch: (() => void) | undefined

  constructor(options: AgentListenerOptions) {
    this.#options = options
    const { log, info, sharesPorts, otherNodes } = options
    this.#closing = options.closing ?? new ClosingSockets()
    this.#elsewhere = elsewhereAlpn(info.node)
    this.#unauthenticated = new Admission({ ...UNAUTHENTICATED, ...options.unauthenticated })
    const { total: pending } = UNAUTHENTICATED
    this.#handshakes = new Handshakes({ pending, active: SIGNING_IN, ...options.handshakes })
    this.#acceptor = new Acceptor({
      admission: new Admission(OPEN),
      log,
      sharesPorts,
      proxied: new ProxiedSockets({ settings: info, listener: 'agent', log }),
      accept: socket => this.#accept(socket),
    })
    this.#unwatch = otherNodes?.watch(() => {
      for (const agent of this.#agents) agent.offerConnections()
    })
  }

  get connections(): number {
    return this.#acceptor.connections
  }

  /** Open connections through agents. */
  get streams(): number {
    return [...this.#agents].reduce((sum, { streams }) => sum + streams, 0)
  }

  listen(address: ListenAddress): Promise<ListenAddress> {
    return this.#acceptor.listen(address)
  }

  /** Stops accepting; each agent is disconnected when its connections are finished, or at the deadline. */
  async drain(deadlineMs: number): Promise<void> {
    this.#unwatch?.()
    this.#acceptor.close()
    await Promise.all([...this.#agents].map(agent => agent.drain(deadlineMs)))
    await this.#acceptor.drain(CLOSE_GRACE_MS)
    await Promise.all([...this.#agents].map(agent => agent.ended))
  }

  /** Serves an agent from another listener, which has read its ClientHello. */
  adopt(socket: Socket, from: Acceptor, peeked: PeekedHello): void {
    from.handOver(socket, this.#acceptor, () => this.#accept(socket, peeked))
  }

  #accept(socket: Socket, peeked?: PeekedHello): void {
    const ip = plainAddress(socket.remoteAddress ?? '')
    const entered = this.#unauthenticated.admit(ip)
    if (!entered.ok) {
      socket.resetAndDestroy()
      return
    }
    socket.on('close', entered.release)
    void inBackground({ task: 'listeners', log: this.#options.log }, () =>
      this.#serve(socket, ip, entered.release, peeked),
    )
  }

  async #serve(socket: Socket, ip: string, leave: () => void, known?: PeekedHello): Promise<void> {
    const { log, certificates, handshaken } = this.#options
    try {
      this.#handshakes.enter(socket)
      const peeked = known ?? (await peekClientHello(socket))
      if (peeked.kind !== 'hello') return void socket.destroy()
      if (peeked.hello.alpn.includes(this.#elsewhere)) return this.#closing.writeAndClose(socket, SENT_AWAY)
      const { serverName } = peeked.hello
      // Perhaps a deleted ingress. There is no certificate that an agent would accept.
      if (serverName !== undefined && !certificates.has(serverName))
        return this.#closing.writeAndClose(socket, UNKNOWN_NAME)
      await this.#handshakes.acquire(socket)
      const begun = performance.now()
      const secured = await terminate(socket, peeked.bytes, {
        context: await certificates.contextFor(serverName, {}, peeked.hello.ticketKey),
        // Only if it is offered: most agents offer nothing, and another protocol is left unselected.
        alpn: peeked.hello.alpn.includes(OWN_ALPN) ? AGENT_ALPN : undefined,
        clientCertificate: false,
      })
      this.#handshakes.complete(socket)
      handshaken?.((performance.now() - begun) / 1000)
      const agent = new AgentSession(secured, ip, this.#options)
      this.#agents.add(agent)
      void agent.ended.then(() => this.#agents.delete(agent))
      await agent.settled
      this.#handshakes.leave(socket)
      leave()
    } catch (error) {
      log.debug({ error, ip }, 'agent connection failed')
      socket.destroy()
    }
  }
}

// Time for the last frames to be read. Some agents never close their end, and all count the server's absence from this
// moment.
const CLOSE_GRACE_MS = 250
