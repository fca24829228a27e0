import { setImmediate } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { AgentError, refusal } from '#agent/agent-error.ts'
import type { Binding } from '#agent/binding.ts'
import { commandOf, serveCommand } from '#agent/commands.ts'
import type { Connections } from '#agent/connections.ts'
import type { AgentOptions } from '#agent/options.ts'
import { signIn } from '#agent/sign-in.ts'
import { Problem } from '#base/errors.ts'
import { OWN_ALPN } from '#tunnel/alpn.ts'
import type { TunnelError } from '#tunnel/frame.ts'
import { answerHeartbeat, type Heartbeat, startHeartbeat } from '#tunnel/heartbeat.ts'
import {
  type AuthAnswer,
  type AuthRequest,
  bindAnswer,
  type ConnectAddresses,
  connectAddressesRequest,
  type ConnectAddressesRequest,
  startTunnelWithLabelAnswer,
  stopTunnelRequest,
  type StopTunnelRequest,
  unbindAnswer,
} from '#tunnel/messages.ts'
import { call, serve } from '#tunnel/rpc.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

const OWN_WINDOW = 1_048_576
// Streams that are not connections: heartbeats and commands, and half-closed connections.
const SPARE_STREAMS = 256
const MAX_COMMANDS = 16
const COMMAND_BYTES = 65_536
const UNBIND_MS = 2000

export interface GatewayConnectionOptions {
  readonly agent: AgentOptions
  readonly connections: Connections
  /** The gateway's name in errors. */
  readonly server: string
  /** The gateway closes a tunnel. */
  readonly stopped: (binding: Binding, error: AgentError) => void
  /** The gateway's other nodes have changed since the sign-in. */
  readonly offered: (addresses: ConnectAddresses) => void
}

/** One connection to a gateway, from its TLS handshake to its end. */
export class GatewayConnection {
  readonly closed: Promise<TunnelError>
  readonly #options: GatewayConnectionOptions
  readonly #session: MuxSession
  readonly #heartbeat: Heartbeat
  readonly #bound = new Map<string, Binding>()
  readonly #binding = new Map<Binding, Promise<void>>()
  #commands = 0
  #signedIn = false
  #over = false

  constructor(socket: TLSSocket, options: GatewayConnectionOptions) {
    this.#options = options
    this.#session = new MuxSession(socket, {
      role: 'client',
      accept: (type, stream) => this.#accept(type, stream),
      maxAccepted: options.connections.limit + SPARE_STREAMS,
      ...(socket.alpnProtocol === OWN_ALPN && { growTo: OWN_WINDOW }),
    })
    this.closed = this.#session.closed
    void this.closed.then(() => (this.#over = true))
    this.#heartbeat = startHeartbeat(this.#session, options.agent.heartbeat)
  }

  get over(): boolean {
    return this.#over
  }

  get latencyMs(): number | undefined {
    return this.#heartbeat.latencyMs
  }

  async signIn(request: AuthRequest): Promise<AuthAnswer> {
    const answer = await signIn(this.#session, request, this.#options.server)
    this.#signedIn = true
    return answer
  }

  /** Requests a tunnel. Rejects with an AgentError, also when the connection ends meanwhile. */
  async bind(binding: Binding): Promise<void> {
    const work =
      binding.endpoint.labels === undefined ? this.#bindAddress(binding) : this.#bindLabels(binding)
    this.#binding.set(binding, work)
    try {
      await work
    } catch (error) {
      throw error instanceof AgentError ? error : this.#unusable(error)
    } finally {
      this.#binding.delete(binding)
    }
  }

  /** Closes a tunnel. If the connection has ended, the gateway has already done so. */
  async unbind(binding: Binding): Promise<void> {
    // A pending bind could be processed after this one.
    await this.#binding.get(binding)?.catch(() => undefined)
    for (const [id, bound] of this.#bound) {
      if (bound !== binding) continue
      this.#bound.delete(id)
      const request = { type: streamTypes.unbind, request: { Id: id }, answer: unbindAnswer }
      await call(this.#session, request, { deadlineMs: UNBIND_MS }).catch(() => undefined)
    }
  }

  /** Closes the connection gracefully. */
  close(): void {
    this.#session.close()
  }

  async #bindAddress(binding: Binding): Promise<void> {
    const request = binding.request()
    // A returning tunnel has a known id, under which connections may arrive at once.
    if (binding.id !== '') this.#bound.set(binding.id, binding)
    const answer = await call(this.#session, { type: streamTypes.bind, request, answer: bindAnswer })
    if (answer.Error !== '') {
      this.#bound.delete(binding.id)
      throw refusal(answer.Error, 'bind')
    }
    if (answer.Id !== binding.id) this.#bound.delete(binding.id)
    this.#register(answer.Id, binding)
    binding.accept(answer)
  }

  async #bindLabels(binding: Binding): Promise<void> {
    const request = binding.labelledRequest(binding.endpoint.labels ?? {})
    const type = streamTypes.startTunnelWithLabel
    const answer = await call(this.#session, { type, request, answer: startTunnelWithLabelAnswer })
    if (answer.Error !== '') throw refusal(answer.Error, 'bind')
    this.#register(answer.Id, binding)
    binding.acceptLabelled(answer.Id)
  }

  #register(id: string, binding: Binding): void {
    const other = this.#bound.get(id)
    if (id === '' || (other !== undefined && other !== binding))
      throw this.#unusable(new Error('A tunnel needs an id of its own.'))
    this.#bound.set(id, binding)
  }

  #unusable(error: unknown): AgentError {
    const reason = error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
    const { server } = this.#options
    const name = this.#over ? 'agent_connection_lost' : 'agent_answer'
    return AgentError.of(new Problem(name, { server, reason }), { cause: error })
  }

  #accept(type: number, stream: TunnelStream): void {
    const command = commandOf(type)
    if (type === streamTypes.heartbeat) answerHeartbeat(stream)
    else if (type === streamTypes.connectAddresses) this.#run(stream, () => this.#serveOffer(stream))
    else if (!this.#signedIn) stream.reset('stream_refused')
    else if (type === streamTypes.proxy) this.#options.connections.accept(stream, id => this.#find(id))
    else if (type === streamTypes.stopTunnel) this.#run(stream, () => this.#serveStop(stream))
    else if (command) this.#run(stream, () => serveCommand(command, stream, this.#options.agent))
    else stream.reset('stream_refused')
  }

  /**
   * The tunnel of a connection. It may follow the response that created the tunnel so closely that both are read at
   * once.
   */
  async #find(id: string): Promise<Binding | undefined> {
    const found = this.#bound.get(id)
    if (found !== undefined || this.#binding.size === 0) return found
    await Promise.allSettled(this.#binding.values())
    return this.#bound.get(id)
  }

  /** Limits concurrent commands; an invalid one is dropped. */
  #run(stream: TunnelStream, work: () => Promise<void>): void {
    if (this.#commands >= MAX_COMMANDS) {
      stream.reset('stream_refused')
      return
    }
    this.#commands++
    work()
      .catch(() => undefined)
      .finally(() => this.#commands--)
  }

  #serveStop(stream: TunnelStream): Promise<void> {
    const handle = async (request: StopTunnelRequest): Promise<object> => {
      this.#stop(request)
      return {}
    }
    return serve(stream, { request: stopTunnelRequest, handle }, { limit: COMMAND_BYTES })
  }

  #serveOffer(stream: TunnelStream): Promise<void> {
    const handle = async ({ ConnectAddresses }: ConnectAddressesRequest): Promise<object> => {
      // The response to the sign-in may have been read in the same moment; it is the older one.
      await setImmediate()
      if (this.#signedIn) this.#options.offered(ConnectAddresses)
      return {}
    }
    return serve(stream, { request: connectAddressesRequest, handle }, { limit: COMMAND_BYTES })
  }

  #stop({ Id, Message, ErrorCode }: StopTunnelRequest): void {
    const binding = this.#bound.get(Id)
    if (binding === undefined) return
    this.#bound.delete(Id)
    this.#options.stopped(binding, refusal(`${Message}\n${ErrorCode ?? ''}`, 'bind'))
  }
}
