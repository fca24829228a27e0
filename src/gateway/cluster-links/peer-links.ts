import type { Socket } from 'node:net'
import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import { clientOf } from '#base/client-network.ts'
import { confirm, refuse, whenConfirmed } from '#gateway/cluster-links/confirmation.ts'
import { callPeer, type PeerMethods, serveCall } from '#gateway/cluster-links/peer-calls.ts'
import type { PeerTransport } from '#gateway/cluster-links/peer-transport.ts'
import { join } from '#gateway/cluster-links/join.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { TunnelError } from '#tunnel/frame.ts'
import { answerHeartbeat, startHeartbeat } from '#tunnel/heartbeat.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'
import { encodeProxyHeader, readProxyHeader } from '#tunnel/proxy-header.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

// A peer is one of our own processes: it has neither the stream limit nor the small windows of other agents.
const MAX_STREAMS = 16_384
const HEARTBEAT = { intervalMs: 2000, limitMs: 5000 }
const PEER = {
  maxOpen: MAX_STREAMS,
  maxAccepted: MAX_STREAMS,
  growTo: 4 * 1024 * 1024,
  leaveMs: 0,
  trustsLastId: true,
}

interface PeerOptions {
  /** Chosen by the process to connect to. */
  readonly transportTo: (node: string) => PeerTransport
  /** Those that other processes use to connect to this one. */
  readonly transports: readonly PeerTransport[]
  readonly node: string
  readonly tunnels: ReadonlyMap<string, TunnelRecord>
  /** The agents of this process. */
  readonly local: Pick<AgentDialer, 'dial'>
  /** What other processes may call. */
  readonly methods?: () => PeerMethods
  readonly log: Log
}

/**
 * Carries connections between gateway processes: a client may arrive at one, and the agent be connected to another. The
 * links use the agent protocol, with the process that holds the agent in the role of the agent.
 */
export class PeerLinks {
  readonly #options: PeerOptions
  readonly #outgoing = new Map<string, Promise<MuxSession>>()
  readonly #incoming = new Set<MuxSession>()

  constructor(options: PeerOptions) {
    this.#options = options
  }

  /** Links in both directions. */
  get size(): number {
    return this.#outgoing.size + this.#incoming.size
  }

  async listen(): Promise<void> {
    for (const transport of this.#options.transports) await transport.listen(socket => this.#welcome(socket))
  }

  /** Calls a method of another process; rejects with its Problem. */
  async call<Result>(node: string, method: string, argument: unknown): Promise<Result> {
    return callPeer(await this.#linkTo(node), method, argument)
  }

  /** Opens a connection through a tunnel of another process, once that has reached the agent. */
  async dial(tunnel: TunnelRecord, header: ProxyHeader, first: Buffer): Promise<ByteStream> {
    return whenConfirmed(await this.#open(tunnel, header, first))
  }

  async close(): Promise<void> {
    const closed = this.#options.transports.map(transport => transport.close())
    for (const session of this.#incoming) session.close()
    for (const link of this.#outgoing.values())
      void link.then(
        session => session.close(),
        // It was never opened.
        () => undefined,
      )
    await Promise.all(closed)
  }

  async #open(tunnel: TunnelRecord, header: ProxyHeader, first: Buffer): Promise<TunnelStream> {
    try {
      const link = await this.#linkTo(tunnel.node)
      const bytes = Buffer.concat([encodeProxyHeader(header), first])
      return await link.open(streamTypes.forward, bytes, { client: clientOf(header.ClientAddr) })
    } catch (error) {
      const busy = error instanceof TunnelError && error.code === 'streams_exhausted'
      throw new DialError(busy ? 'busy' : 'offline', `Process ${tunnel.node} cannot be reached.`, error)
    }
  }

  async #linkTo(node: string): Promise<MuxSession> {
    const known = this.#outgoing.get(node)
    if (known) return known
    const link = this.#connect(node)
    this.#outgoing.set(node, link)
    const forget = (): boolean => this.#outgoing.delete(node)
    void link.then(session => session.closed).then(forget, forget)
    return link
  }

  async #connect(node: string): Promise<MuxSession> {
    const socket = await this.#options.transportTo(node).connect(node)
    const session = new MuxSession(socket, { role: 'server', ...PEER })
    // A machine that is cut off closes nothing.
    startHeartbeat(session, HEARTBEAT)
    return session
  }

  #welcome(socket: Socket): void {
    const session = new MuxSession(socket, {
      role: 'client',
      ...PEER,
      accept: (type, stream) => {
        if (type === streamTypes.forward) this.#run(() => this.#answer(stream))
        else if (type === streamTypes.heartbeat) answerHeartbeat(stream)
        else if (type === streamTypes.peerCall)
          this.#run(() => serveCall(stream, this.#options.methods?.() ?? {}))
        else stream.reset('stream_refused')
      },
    })
    this.#incoming.add(session)
    this.#run(() => session.closed.then(() => this.#incoming.delete(session)))
  }

  #run(work: () => unknown): void {
    void inBackground({ task: 'peers', log: this.#options.log }, work)
  }

  /** Only tunnels of this process are served, so that a connection is forwarded once and never in a loop. */
  async #answer(stream: TunnelStream): Promise<void> {
    try {
      const header = await readProxyHeader(stream)
      const tunnel = this.#options.tunnels.get(header.Id)
      if (tunnel?.node !== this.#options.node) return refuse(stream, 'offline')
      const agent = await this.#options.local.dial(tunnel, header, Buffer.alloc(0))
      confirm(stream)
      join(stream, agent)
    } catch (error) {
      refuse(stream, error instanceof DialError ? error.code : 'offline')
    }
  }
}
