import type { TLSSocket } from 'node:tls'
import { inBackground } from '#base/background.ts'
import { fail, type Problem } from '#base/errors.ts'
import type { AgentCommand, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { AgentConnection } from '#registry/agent-dialer.ts'
import { baseId } from '#registry/agent-connections.ts'
import { plainAddress } from '#base/addresses.ts'
import { sendCommand } from '#gateway/agents/agent-commands.ts'
import { dialAgent } from '#gateway/agents/agent-dial.ts'
import { agentError } from '#gateway/agents/agent-error.ts'
import { AgentRequests } from '#gateway/agents/agent-requests.ts'
import { connectAddresses, sendConnectAddresses } from '#gateway/agents/connect-addresses.ts'
import { type AgentOrigin, login, type LoginOptions, versionFor, welcome } from '#gateway/agents/login.ts'
import { probe } from '#gateway/agents/probe.ts'
import type { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import { OWN_ALPN } from '#tunnel/alpn.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { anyObject, type FieldReader, MessageError } from '#base/json-fields.ts'
import { FloodMeter } from '#tunnel/flood-meter.ts'
import { TunnelError } from '#tunnel/frame.ts'
import { answerHeartbeat, type Heartbeat, type HeartbeatOptions, startHeartbeat } from '#tunnel/heartbeat.ts'
import * as messages from '#tunnel/messages.ts'
import { serve } from '#tunnel/rpc.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

export interface AgentSessionOptions extends LoginOptions {
  readonly registry: AgentRegistry
  readonly heartbeat?: HeartbeatOptions
  /** Time to sign in. */
  readonly loginMs?: number
  /** Time to respond to a command. */
  readonly commandMs?: number
}

const LOGIN_MS = 10_000
// Before sign-in messages are small, and few.
const LOGIN_BYTES = 65_536
const LOGIN_REQUESTS = 4
// As many as the tunnels of a session, which may all be bound again at once.
const MAX_REQUESTS = 300
// An agent knows a tunnel only shortly after it has finished the request for it.
const SETTLE_MS = 15
// One that never finishes the request counts as ready after this.
const FINISH_MS = 2000
const CLOSE_GRACE_MS = 1000
const STOP_TUNNEL_MS = 1000
// An Adit agent.
const OWN_SESSION = {
  // Fewer than it accepts, because it frees reset ones a moment later.
  maxOpen: 980,
  leaveMs: 20,
  growTo: 4 * 1024 * 1024,
  maxDiscarded: 0,
  trustsLastId: true,
}

interface Signed {
  readonly record: SessionRecord
  readonly extra: messages.AuthRequest['Extra']
  readonly version: '2' | '3'
  readonly requests: AgentRequests
}

/** One agent: handles its requests, and opens connections through it. */
export class AgentSession implements AgentConnection {
  /** Resolves when the agent is known by its token, or has disconnected. */
  readonly settled: Promise<void>
  /** Resolves when the connection is closed and cleaned up. */
  readonly ended: Promise<void>
  readonly #options: AgentSessionOptions
  readonly #origin: AgentOrigin
  readonly #session: MuxSession
  readonly #settle: () => void
  #signing = false
  #signed: Signed | undefined
  #retries = false
  #running = 0
  #over = false
  #heartbeat: Heartbeat | undefined

  /** `ip` is the agent's address, in its plain form. */
  constructor(socket: TLSSocket, ip: string, options: AgentSessionOptions) {
    this.#options = options
    const { localAddress = '', servername } = socket
    this.#origin = { ip, localIp: plainAddress(localAddress), serverName: servername || undefined }
    const isOwn = socket.alpnProtocol === OWN_ALPN
    this.#session = new MuxSession(socket, {
      role: 'server',
      floods: new FloodMeter(),
      accept: (type, stream) => this.#accept(type, stream),
      ...(isOwn && OWN_SESSION),
    })
    const settling = Promise.withResolvers<void>()
    this.settled = settling.promise
    this.#settle = settling.resolve
    const timer = setTimeout(
      () => this.#session.close('none', 'The agent did not sign in in time.'),
      options.loginMs ?? LOGIN_MS,
    )
    void this.settled.then(() => clearTimeout(timer))
    this.ended = this.#session.closed.then(reason =>
      inBackground({ task: 'agents', log: options.log }, () => this.#end(reason)),
    )
  }

  /** Open connections through the agent. */
  get streams(): number {
    return this.#session.streamsOf(streamTypes.proxy)
  }

  get roundTripMs(): number | undefined {
    return this.#heartbeat?.latencyMs
  }

  async dial(tunnel: TunnelRecord, header: messages.ProxyHeader, first: Buffer): Promise<ByteStream> {
    return dialAgent(this.#session, { tunnel, header, first, retries: this.#retries })
  }

  async command(command: AgentCommand): Promise<void> {
    if (this.#signed === undefined) return fail('not_found')
    return sendCommand(this.#session, command, this.#signed.extra, this.#options.commandMs)
  }

  probe(): Promise<boolean> {
    return probe(this.#session)
  }

  stopTunnel(tunnelId: string, problem: Problem): void {
    // Older agents do not know the message.
    if (this.#signed?.version !== '3') return
    const request: messages.StopTunnelRequest = {
      Id: baseId(tunnelId),
      Message: problem.message,
      ErrorCode: problem.number === undefined ? null : `ERR_NGROK_${problem.number}`,
    }
    const opened = this.#session.open(streamTypes.stopTunnel, Buffer.from(JSON.stringify(request)))
    // There is no response, and one family never finishes the stream.
    opened.then(
      stream => setTimeout(() => stream.reset('stream_cancelled'), STOP_TUNNEL_MS).unref(),
      () => undefined,
    )
  }

  /** The other nodes have changed. */
  offerConnections(): void {
    const { UserAgent = '' } = this.#signed?.extra ?? {}
    // Agents of others have one connection.
    if (!UserAgent.startsWith('adit/')) return
    const addresses = connectAddresses(UserAgent, this.#options)
    void inBackground({ task: 'agents', log: this.#options.log }, () =>
      sendConnectAddresses(this.#session, addresses),
    )
  }

  close(reason: string): void {
    this.#session.close('none', reason)
  }

  /** Stops opening connections, waits for the open ones, then disconnects the agent. */
  drain(timeoutMs: number): Promise<void> {
    return this.#session.drain(timeoutMs)
  }

  async #end(reason: TunnelError): Promise<void> {
    this.#over = true
    this.#settle()
    if (this.#signed === undefined) return
    const { id } = this.#signed.record
    this.#options.log.info({ session: id, reason: reason.message }, 'agent disconnected')
    await this.#options.registry.remove(id, this, { error: failureOf(reason), lost: isLoss(reason) })
  }

  #accept(type: number, stream: TunnelStream): void {
    if (type === streamTypes.heartbeat) {
      answerHeartbeat(stream)
      return
    }
    // Each request has a bounded buffer, so their number must be bounded too.
    if (this.#running >= (this.#signed === undefined ? LOGIN_REQUESTS : MAX_REQUESTS)) {
      this.#session.refuse(stream)
      return
    }
    this.#running++
    void inBackground({ task: 'agents', log: this.#options.log }, () => this.#answer(type, stream)).then(
      () => this.#running--,
    )
  }

  #answer(type: number, stream: TunnelStream): Promise<void> {
    if (type === streamTypes.auth) return this.#serve(stream, messages.authRequest, it => this.#auth(it))
    if (type === streamTypes.srvInfo)
      return this.#serve(stream, messages.emptyRequest, async () => ({ Region: this.#options.info.region }))
    const requests = this.#signed?.requests
    if (requests === undefined) return this.#serve(stream, anyObject, async () => fail('agent_not_signed_in'))
    switch (type) {
      case streamTypes.bind:
        return this.#serveTunnel(stream, messages.bindRequest, it => requests.bind(it))
      case streamTypes.startTunnelWithLabel:
        return this.#serveTunnel(stream, messages.startTunnelWithLabelRequest, it =>
          requests.startTunnelWithLabel(it),
        )
      case streamTypes.unbind:
        return this.#serve(stream, messages.unbindRequest, it => requests.unbind(it))
      case streamTypes.patchTunnelState:
        return this.#serve(stream, messages.patchTunnelStateRequest, it => requests.patch(it))
      default:
        this.#session.refuse(stream)
        return Promise.resolve()
    }
  }

  async #serve<Request>(
    stream: TunnelStream,
    request: FieldReader<Request>,
    handle: (request: Request) => Promise<object>,
  ): Promise<void> {
    const answer = (message: Request): Promise<object> =>
      handle(message).catch((error: unknown) => {
        const text = agentError(error)
        if (text === 'Internal error.') this.#options.log.error({ error }, 'serving an agent failed')
        return { Error: text }
      })
    const limits = this.#signed === undefined ? { limit: LOGIN_BYTES, deadlineMs: LOGIN_MS } : {}
    try {
      await serve(stream, { request, handle: answer }, limits)
    } catch (error) {
      this.#options.log.debug({ error, ip: this.#origin.ip }, 'agent sent an invalid message')
    }
  }

  /** Responds to a bind; connections follow when the agent has seen the response. */
  async #serveTunnel<Request>(
    stream: TunnelStream,
    request: FieldReader<Request>,
    handle: (request: Request) => Promise<{ readonly Id: string }>,
  ): Promise<void> {
    let id: string | undefined
    await this.#serve(stream, request, async message => {
      const answer = await handle(message)
      id = answer.Id
      return answer
    })
    if (id === undefined || this.#signed === undefined) return
    const { extra, requests } = this.#signed
    // Adit agents know a tunnel before they read anything after the response.
    if (!extra.UserAgent.startsWith('adit/')) await finished(stream)
    requests.markReady(id)
  }

  async #auth(request: messages.AuthRequest): Promise<messages.AuthAnswer | { readonly Error: string }> {
    if (this.#signing) throw new MessageError('The agent has already signed in.')
    this.#signing = true
    const { registry, log } = this.#options
    try {
      const record = await login(request, this.#origin, this.#options)
      // From now on it waits for the gateway, not the gateway for it.
      this.#settle()
      await registry.add(record, this)
      const { Extra: extra, Version } = request
      const requests = new AgentRequests(registry, record.id)
      this.#signed = { record, extra, version: versionFor(Version), requests }
      if (this.#over) {
        await registry.remove(record.id, this)
        throw new TunnelError('session_closed', 'The connection was closed.')
      }
      this.#begin(extra)
      log.info({ session: record.id, ip: this.#origin.ip, agent: extra.UserAgent }, 'agent signed in')
      return welcome(request, record, this.#options)
    } catch (error) {
      // The error is read first; then there is nothing left to send.
      setTimeout(() => this.#session.close(), CLOSE_GRACE_MS).unref()
      throw error
    }
  }

  #begin({ UserAgent }: messages.AuthRequest['Extra']): void {
    this.#session.ackImmediately = UserAgent.includes('ngrok-rust')
    this.#retries = UserAgent.includes('ngrok-go')
    this.#heartbeat = startHeartbeat(this.#session, this.#options.heartbeat)
  }
}

/** The connection was lost: neither side has closed it. */
const isLoss = ({ code }: TunnelError): boolean => code !== 'none' && code !== 'remote_gone_away'

/** Why a connection was lost; undefined for a normal close. */
function failureOf({ code, message, cause }: TunnelError): string | undefined {
  if (code === 'none' || code === 'remote_gone_away') return undefined
  return code === 'peer_eof' && cause === undefined ? undefined : message
}

/** Resolves shortly after the peer has finished a stream. */
async function finished(stream: TunnelStream): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, FINISH_MS)
  stream.attach({ data: () => undefined, end: resolve, closed: () => resolve() })
  await promise
  clearTimeout(timer)
  await new Promise(settled => setTimeout(settled, SETTLE_MS))
}
