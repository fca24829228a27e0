import { inBackground } from '#base/background.ts'
import { fail, Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import { KeyedSerialQueue } from '#base/serial-queue.ts'
import type { AgentCommand, Directory, SessionEnd, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { type AgentConnection, DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import { baseId } from '#registry/agent-connections.ts'
import type { Modules } from '#gateway/modules/index.ts'
import type { Credential } from '#registry/records/credentials.ts'
import type { Records } from '#registry/records/records.ts'
import { AgentAccess } from '#gateway/agents/agent-access.ts'
import { Binder } from '#gateway/agents/binder.ts'
import type { BindSpec } from '#gateway/agents/bind-spec.ts'
import { ConnectedAgent, BoundTunnel } from '#gateway/agents/connected-agent.ts'
import { ConnectedAgents } from '#gateway/agents/connected-agents.ts'
import { LabelledTunnelIds, tunnelLeft } from '#gateway/agents/labelled-tunnel-ids.ts'
import { refuseAddress } from '#gateway/agents/refuse-address.ts'
import { OnlineNames } from '#gateway/agents/online-names.ts'
import type { ResumptionTokens } from '#gateway/agents/resumption-tokens.ts'
import {
  type Amount,
  type UsageHolder,
  ofSession,
  ofTunnel,
  Usage,
  type UsageLimits,
} from '#gateway/agents/usage.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'

const MAX_SESSIONS = 100_000
const MAX_TUNNELS = 256
// How long a returning agent may take to bind its tunnels again.
const REBIND_MS = 10_000
// How long a connection waits for its agent to be ready.
const READY_MS = 5000

export interface AgentRegistryOptions {
  readonly info: GatewayInfo
  readonly records: Records
  readonly directory: Directory
  readonly resumption: ResumptionTokens
  readonly modules: Modules
  readonly log: Log
  readonly now?: () => number
  /** Probes an agent of any process; by default those of this one. */
  readonly probe?: AgentDialer['probe']
  readonly maxSessions?: number
  /** Limits per credential and per owner; unlimited when absent. */
  readonly limits?: UsageLimits
}

/** The agents connected to this process, and their permissions. */
export class AgentRegistry implements AgentDialer {
  readonly #options: AgentRegistryOptions
  readonly #binder: Binder
  readonly #usage: Usage | undefined
  readonly #agents = new ConnectedAgents()
  readonly #labelledIds: LabelledTunnelIds
  readonly #directoryQueue = new KeyedSerialQueue()
  // Sessions that this process itself is removing from the directory.
  readonly #removing = new Set<string>()
  readonly #stopWatching: (() => void)[]

  constructor(options: AgentRegistryOptions) {
    this.#options = options
    const { now = Date.now, records, log } = options
    const mayTakeOver = (holder: TunnelRecord, newcomer: ConnectedAgent) =>
      this.#mayTakeOver(holder, newcomer)
    this.#labelledIds = new LabelledTunnelIds(options.directory)
    const online = new OnlineNames(options.directory)
    this.#binder = new Binder({ ...options, now, online, mayTakeOver })
    this.#usage = this.#countUsage()
    const access = new AgentAccess({
      agents: this.#agents,
      records,
      log,
      evict: (sessionId, reason) => this.#evict(sessionId, reason),
      unbind: (sessionId, tunnelId) => this.unbind(sessionId, tunnelId),
    })
    this.#stopWatching = [
      () => online.close(),
      () => this.#usage?.close(),
      () => access.close(),
      options.directory.watch({
        sessionAdded: session => this.#reconnectedElsewhere(session),
        sessionRemoved: session => this.#evictedByPeer(session),
      }),
    ]
  }

  /** Agents connected to this process. */
  get size(): number {
    return this.#agents.size
  }

  close(): void {
    for (const stop of this.#stopWatching) stop()
  }

  /** An agent has signed in. It replaces an earlier connection of the same session. */
  async add(record: SessionRecord, connection: AgentConnection): Promise<void> {
    const limit = this.#options.maxSessions ?? MAX_SESSIONS
    const earlier = this.#agents.get(record.id)
    if (earlier === undefined && this.#agents.size >= limit) fail('agent_sessions_full', { limit })
    const { ownerId } = this.#requireCredential(record)
    // An SSH CA without an owner counts as its own owner.
    const agent = new ConnectedAgent(record, ownerId || record.credentialId, connection)
    const isListed = this.#options.directory.sessions.has(record.id)
    const listed = isListed ? undefined : this.#usage?.take(holderOf(agent), ofSession(record))
    try {
      if (earlier !== undefined) this.#replace(earlier, agent)
      this.#agents.add(agent)
      await this.#directoryQueue.run(record.id, () => this.#options.directory.addSession(record))
    } catch (error) {
      // It is not signed in, whether or not it is listed.
      this.#run(() => this.remove(record.id, connection))
      throw error
    } finally {
      listed?.()
    }
  }

  /** A connection has closed. Ignored when another one has replaced it. */
  async remove(id: string, connection: AgentConnection, end: SessionEnd = { lost: false }): Promise<void> {
    const agent = this.#agents.get(id)
    if (agent?.connection !== connection) return
    this.#agents.delete(agent)
    this.#labelledIds.keep(id, agent.tunnels.values())
    for (const bound of agent.tunnels.values()) bound.cancel()
    await this.#directoryQueue.run(id, async () => {
      this.#removing.add(id)
      await this.#options.directory.removeSession(id, agent.record.node, end)
      this.#removing.delete(id)
    })
  }

  /** Creates a tunnel for an agent, or restores the one it had. */
  async bind(sessionId: string, spec: BindSpec): Promise<TunnelRecord> {
    const agent = this.#agents.get(sessionId)
    if (agent === undefined) return fail('agent_not_signed_in')
    if (agent.tunnels.size + agent.pending >= MAX_TUNNELS && !this.#isReturning(agent, spec))
      fail('bind_limit', { limit: MAX_TUNNELS })
    const listed = this.#isReturning(agent, spec)
      ? undefined
      : this.#usage?.take(holderOf(agent), ofSpec(spec))
    agent.beginBind()
    try {
      const record = await this.#bind(agent, spec)
      await this.#hold(agent, record, spec.notReady ?? false)
      return record
    } finally {
      agent.endBind()
      listed?.()
    }
  }

  /** The agent is ready for connections to a tunnel that was bound with `notReady`. */
  markReady(sessionId: string, tunnelId: string): void {
    this.#agents.get(sessionId)?.tunnels.get(tunnelId)?.markReady()
  }

  /** The token that restores a tunnel after a lost connection. */
  tokenOf({ id, sessionId, address, startedAt, options }: TunnelRecord): string {
    const credentialId = this.#options.directory.sessions.get(sessionId)?.credentialId
    if (address === undefined || credentialId === undefined) return ''
    return this.#options.resumption.token({ id: baseId(id), credentialId, address, startedAt, options })
  }

  /** Closes a tunnel. It may already be closed: some agents send this several times. */
  async unbind(sessionId: string, tunnelId: string): Promise<void> {
    this.#agents.get(sessionId)?.drop(tunnelId)
    const { directory } = this.#options
    if (directory.tunnels.get(tunnelId)?.sessionId === sessionId) await directory.removeTunnel(tunnelId)
  }

  /** Changes the description of a tunnel. */
  async patch(
    sessionId: string,
    tunnelId: string,
    change: Partial<Pick<TunnelRecord, 'metadata' | 'pooling'>>,
  ): Promise<void> {
    const agent = this.#agents.get(sessionId)
    const bound = agent?.tunnels.get(tunnelId)
    if (agent === undefined || bound === undefined) return fail('not_found')
    const record = { ...bound.record, ...change }
    const described = { ...ofTunnel(record, false), tunnels: 0 }
    const listed = change.metadata ? this.#usage?.take(holderOf(agent), described) : undefined
    try {
      const added = await this.#options.directory.addTunnel(record)
      if (!added.ok) refuseAddress(record, added)
    } finally {
      listed?.()
    }
    await this.#hold(agent, record, !bound.open)
  }

  /** Closes a tunnel whose address another agent has got at another node; its agent gets the reason. */
  revoke({ id, sessionId, url }: TunnelRecord): void {
    const agent = this.#agents.get(sessionId)
    agent?.connection.stopTunnel?.(id, new Problem('tunnel_superseded', { url }))
    agent?.drop(id)
  }

  async dial(tunnel: TunnelRecord, header: ProxyHeader, first: Buffer): Promise<ByteStream> {
    if (this.#agents.get(tunnel.sessionId)?.tunnels.get(tunnel.id)?.open !== true)
      await this.#whenReady(tunnel)
    const agent = this.#agents.get(tunnel.sessionId)
    const ready = agent?.tunnels.get(tunnel.id)
    if (agent === undefined || ready?.open !== true)
      throw new DialError('offline', `The tunnel ${tunnel.id} is not connected.`)
    return agent.connection.dial(ready.record, header, first)
  }

  async command(sessionId: string, command: AgentCommand): Promise<void> {
    const agent = this.#agents.get(sessionId)
    if (agent === undefined) return fail('not_found')
    return agent.connection.command(command)
  }

  async probe(sessionId: string): Promise<boolean> {
    return (await this.#agents.get(sessionId)?.connection.probe()) ?? false
  }

  async roundTrip(sessionId: string): Promise<number | null> {
    return this.#agents.get(sessionId)?.connection.roundTripMs ?? null
  }

  /** Waits for an agent that has just bound a tunnel, or is about to do so again on another connection. */
  async #whenReady({ id, sessionId }: TunnelRecord): Promise<void> {
    const deadline = performance.now() + READY_MS
    for (;;) {
      const agent = this.#agents.get(sessionId)
      const bound = agent?.tunnels.get(id)
      const left = deadline - performance.now()
      if (agent === undefined || bound?.open === true || left <= 0) return
      if (bound !== undefined) await bound.whenSettled(left)
      // Already listed, though its binding has not ended.
      else if (agent.pending > 0) await agent.whenBindEnds(left)
      else return
    }
  }

  #countUsage(): Usage | undefined {
    const { limits, directory, records, info } = this.#options
    if (limits === undefined) return undefined
    const { first, last } = info.randomTcpPorts
    return new Usage({
      directory,
      limits,
      ownerOf: ({ credentialId }) => records.credential(credentialId)?.ownerId || credentialId,
      portShare: id => (records.owner(id)?.role === 'admin' ? Infinity : Math.ceil((last - first + 1) / 2)),
    })
  }

  #replace(earlier: ConnectedAgent, agent: ConnectedAgent): void {
    this.#agents.delete(earlier)
    agent.inherit(earlier)
    for (const bound of earlier.tunnels.values()) bound.cancel()
    earlier.connection.close('The agent has reconnected.')
    // Tunnels that are not requested again by then were closed meanwhile.
    setTimeout(() => this.#run(() => this.#dropUnbound(agent)), REBIND_MS).unref()
  }

  async #dropUnbound(agent: ConnectedAgent): Promise<void> {
    if (this.#agents.get(agent.record.id) !== agent) return
    for (const { bound, record } of agent.tunnels.values())
      if (!bound) await this.unbind(agent.record.id, record.id)
  }

  #isReturning(agent: ConnectedAgent, spec: BindSpec): boolean {
    return spec.kind === 'address'
      ? agent.tunnels.has(spec.tunnelId)
      : tunnelLeft(agent, spec.labels) !== undefined
  }

  async #bind(agent: ConnectedAgent, spec: BindSpec): Promise<TunnelRecord> {
    const credential = this.#requireCredential(agent.record)
    if (spec.kind === 'address') return this.#binder.bindAddress(agent, spec, credential)
    const earlier = this.#labelledIds.next(agent, spec.labels)
    return this.#binder.bindLabels(agent, spec, { acl: credential.acl, earlier })
  }

  /** The credential may have been deleted, or its owner deactivated, after the sign-in. */
  #requireCredential({ credentialId }: SessionRecord): Credential {
    const credential = this.#options.records.credential(credentialId) ?? fail('agent_token_unknown')
    return credential.active ? credential : fail('agent_owner_inactive')
  }

  async #hold(agent: ConnectedAgent, record: TunnelRecord, waits: boolean): Promise<void> {
    const current = this.#agents.get(record.sessionId)
    if (current !== agent) {
      // The connection closed while the address was being claimed; its successor may already have the tunnel.
      if (current?.tunnels.get(record.id)?.bound !== true) await this.unbind(record.sessionId, record.id)
      fail('agent_not_signed_in')
    }
    const bound = new BoundTunnel(record, true)
    agent.hold(bound)
    if (!waits) bound.markReady()
  }

  /** Whether the holder of an address is evicted: only by itself, or when it does not respond. */
  async #mayTakeOver(holder: TunnelRecord, newcomer: ConnectedAgent): Promise<boolean> {
    const { directory, info, log } = this.#options
    if (holder.sessionId === newcomer.record.id) {
      const bound = newcomer.tunnels.get(holder.id)
      if (bound?.bound ?? holder.node === info.node) return false
      await this.unbind(holder.sessionId, holder.id)
      return true
    }
    const owner = directory.sessions.get(holder.sessionId)
    if (owner !== undefined && owner.credentialId !== newcomer.record.credentialId) return false
    const probe = this.#options.probe ?? (id => this.probe(id))
    if (owner !== undefined && (await probe(owner.id))) return false
    log.info({ session: holder.sessionId }, 'replaced unresponsive agent')
    await this.#evict(holder.sessionId, 'Another agent took over an address of this one.')
    return true
  }

  async #evict(sessionId: string, reason: string): Promise<void> {
    const agent = this.#agents.get(sessionId)
    const { directory } = this.#options
    const node = directory.sessions.get(sessionId)?.node
    if (agent === undefined)
      return node === undefined
        ? undefined
        : directory.removeSession(sessionId, node, { error: reason, lost: false })
    agent.connection.close(reason)
    await this.remove(sessionId, agent.connection, { error: reason, lost: false })
  }

  /** The agent has reconnected through another process; the rest here is dead. */
  #reconnectedElsewhere({ id, node }: SessionRecord): void {
    const agent = this.#agents.get(id)
    if (agent !== undefined && agent.record.node !== node)
      agent.connection.close('The agent has reconnected.')
  }

  /** Another process gave an address of this agent to another one, because it did not respond. */
  #evictedByPeer({ id, node }: SessionRecord): void {
    const agent = this.#agents.get(id)
    if (agent?.record.node === node && !this.#removing.has(id))
      agent.connection.close('Another agent took over an address of this one.')
  }

  #run(work: () => unknown): void {
    void inBackground({ task: 'agents', log: this.#options.log }, work)
  }
}

const holderOf = ({ record: { credentialId }, ownerId }: ConnectedAgent): UsageHolder => ({
  credentialId,
  ownerId,
})

const ofSpec = (spec: BindSpec): Amount =>
  ofTunnel({ labels: {}, ...spec }, spec.kind === 'address' && spec.proto === 'tcp')
