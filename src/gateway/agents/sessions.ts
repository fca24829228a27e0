import { inBackground } from '#base/background.ts'
import { fail, Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { Command, Directory, SessionEnd, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { Facts } from '#registry/facts.ts'
import { type Connection, DialError, type Fleet } from '#registry/fleet.ts'
import { legId, legOf, plainId } from '#registry/legs.ts'
import type { Modules } from '#gateway/modules/index.ts'
import { ownerKinds } from '#registry/records/owners.ts'
import {
  type Credential,
  credentialKinds,
  type RecordChange,
  type Records,
} from '#registry/records/records.ts'
import { mayBind } from '#gateway/agents/acl.ts'
import { Binder } from '#gateway/agents/binder.ts'
import type { BindSpec, LabelSpec } from '#gateway/agents/bind-spec.ts'
import { Entry, Held } from '#gateway/agents/entry.ts'
import { labelledId, LabelMemory, labelsKey, type Left } from '#gateway/agents/label-memory.ts'
import { refuseAddress } from '#gateway/agents/refuse-address.ts'
import { OnlineNames } from '#gateway/agents/online-names.ts'
import type { Proofs } from '#gateway/agents/proofs.ts'
import {
  type Amount,
  type Holder,
  ofSession,
  ofTunnel,
  Usage,
  type UsageLimits,
} from '#gateway/agents/usage.ts'
import { Turns } from '#gateway/agents/turns.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'

const MAX_SESSIONS = 100_000
const MAX_TUNNELS = 256
// How long a returning agent may take to bind its tunnels again.
const REBIND_MS = 10_000
// How long a connection waits for its agent to be ready.
const READY_MS = 5000

export interface SessionsOptions {
  readonly facts: Facts
  readonly records: Records
  readonly directory: Directory
  readonly proofs: Proofs
  readonly modules: Modules
  readonly log: Log
  readonly now?: () => number
  /** Probes an agent of any process; by default those of this one. */
  readonly probe?: Fleet['probe']
  readonly maxSessions?: number
  /** Limits per credential and per owner; unlimited when absent. */
  readonly limits?: UsageLimits
}

/** The agents connected to this process, and their permissions. */
export class Sessions implements Fleet {
  readonly #options: SessionsOptions
  readonly #binder: Binder
  readonly #usage: Usage | undefined
  readonly #entries = new Map<string, Entry>()
  readonly #byCredential = new Map<string, Set<Entry>>()
  readonly #labels = new LabelMemory()
  readonly #turns = new Turns()
  // Sessions that this process itself is removing from the directory.
  readonly #removing = new Set<string>()
  readonly #stopWatching: (() => void)[]
  #recheck: NodeJS.Immediate | undefined

  constructor(options: SessionsOptions) {
    this.#options = options
    const { now = Date.now, records } = options
    const displace = (holder: TunnelRecord, newcomer: Entry) => this.#displace(holder, newcomer)
    const online = new OnlineNames(options.directory)
    this.#binder = new Binder({ ...options, now, online, displace })
    this.#usage = this.#countUsage()
    this.#stopWatching = [
      () => online.close(),
      () => this.#usage?.close(),
      records.onChange(credentialKinds, change => this.#credentialChanged(change)),
      records.onChange(ownerKinds, () => this.#evictInactive()),
      records.onChange(['ip_restriction', 'ip_policy_rule'], () => this.#recheckAddresses()),
      options.directory.watch({
        sessionAdded: session => this.#elsewhere(session),
        sessionRemoved: session => this.#dismissed(session),
      }),
    ]
  }

  /** Agents connected to this process. */
  get size(): number {
    return this.#entries.size
  }

  close(): void {
    for (const stop of this.#stopWatching) stop()
    clearImmediate(this.#recheck)
  }

  /** An agent has signed in. It replaces an earlier connection of the same session. */
  async add(record: SessionRecord, connection: Connection): Promise<void> {
    const limit = this.#options.maxSessions ?? MAX_SESSIONS
    const earlier = this.#entries.get(record.id)
    if (earlier === undefined && this.#entries.size >= limit) fail('agent_sessions_full', { limit })
    const { ownerId } = this.#requireCredential(record)
    // An SSH CA without an owner counts as its own owner.
    const entry = new Entry(record, ownerId || record.credentialId, connection)
    const isListed = this.#options.directory.sessions.has(record.id)
    const listed = isListed ? undefined : this.#usage?.take(holderOf(entry), ofSession(record))
    try {
      if (earlier !== undefined) this.#replace(earlier, entry)
      this.#enter(entry)
      await this.#turns.take(record.id, () => this.#options.directory.addSession(record))
    } finally {
      listed?.()
    }
  }

  /** A connection has closed. Ignored when another one has replaced it. */
  async remove(id: string, connection: Connection, end: SessionEnd = { lost: false }): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry?.connection !== connection) return
    this.#leave(entry)
    this.#labels.keep(id, entry.tunnels.values())
    for (const held of entry.tunnels.values()) held.giveUp()
    await this.#turns.take(id, async () => {
      this.#removing.add(id)
      await this.#options.directory.removeSession(id, entry.record.node, end)
      this.#removing.delete(id)
    })
  }

  /** Creates a tunnel for an agent, or restores the one it had. */
  async bind(sessionId: string, spec: BindSpec): Promise<TunnelRecord> {
    const entry = this.#entries.get(sessionId)
    if (entry === undefined) return fail('agent_not_signed_in')
    if (entry.tunnels.size + entry.pending >= MAX_TUNNELS && !this.#isReturning(entry, spec))
      fail('bind_limit', { limit: MAX_TUNNELS })
    const listed = this.#isReturning(entry, spec)
      ? undefined
      : this.#usage?.take(holderOf(entry), ofSpec(spec))
    entry.beginBind()
    try {
      const record = await this.#bind(entry, spec)
      await this.#hold(entry, record, spec.waits ?? false)
      return record
    } finally {
      entry.endBind()
      listed?.()
    }
  }

  /** The agent is ready for connections to a tunnel that was bound with `waits`. */
  release(sessionId: string, tunnelId: string): void {
    this.#entries.get(sessionId)?.tunnels.get(tunnelId)?.release()
  }

  /** The token that restores a tunnel after a lost connection. */
  tokenOf({ id, sessionId, address, startedAt, options }: TunnelRecord): string {
    const credentialId = this.#options.directory.sessions.get(sessionId)?.credentialId
    if (address === undefined || credentialId === undefined) return ''
    return this.#options.proofs.token({ id: plainId(id), credentialId, address, startedAt, options })
  }

  /** Closes a tunnel. It may already be closed: some agents send this several times. */
  async unbind(sessionId: string, tunnelId: string): Promise<void> {
    this.#entries.get(sessionId)?.drop(tunnelId)
    const { directory } = this.#options
    if (directory.tunnels.get(tunnelId)?.sessionId === sessionId) await directory.removeTunnel(tunnelId)
  }

  /** Changes the description of a tunnel. */
  async patch(
    sessionId: string,
    tunnelId: string,
    change: Partial<Pick<TunnelRecord, 'metadata' | 'pooling'>>,
  ): Promise<void> {
    const entry = this.#entries.get(sessionId)
    const held = entry?.tunnels.get(tunnelId)
    if (entry === undefined || held === undefined) return fail('not_found')
    const record = { ...held.record, ...change }
    const described = { ...ofTunnel(record, false), tunnels: 0 }
    const listed = change.metadata ? this.#usage?.take(holderOf(entry), described) : undefined
    try {
      const added = await this.#options.directory.addTunnel(record)
      if (!added.ok) refuseAddress(record, added)
    } finally {
      listed?.()
    }
    await this.#hold(entry, record, !held.open)
  }

  async dial(tunnel: TunnelRecord, header: ProxyHeader, first: Buffer): Promise<ByteStream> {
    if (this.#entries.get(tunnel.sessionId)?.tunnels.get(tunnel.id)?.open !== true)
      await this.#whenReady(tunnel)
    const entry = this.#entries.get(tunnel.sessionId)
    const ready = entry?.tunnels.get(tunnel.id)
    if (entry === undefined || ready?.open !== true)
      throw new DialError('offline', `The tunnel ${tunnel.id} is not connected.`)
    return entry.connection.dial(ready.record, header, first)
  }

  async command(sessionId: string, command: Command): Promise<void> {
    const entry = this.#entries.get(sessionId)
    if (entry === undefined) return fail('not_found')
    return entry.connection.command(command)
  }

  async probe(sessionId: string): Promise<boolean> {
    return (await this.#entries.get(sessionId)?.connection.probe()) ?? false
  }

  /** Waits for an agent that has just bound a tunnel, or is about to do so again on another connection. */
  async #whenReady({ id, sessionId }: TunnelRecord): Promise<void> {
    const deadline = performance.now() + READY_MS
    for (;;) {
      const entry = this.#entries.get(sessionId)
      const held = entry?.tunnels.get(id)
      const left = deadline - performance.now()
      if (entry === undefined || held?.open === true || left <= 0) return
      if (held !== undefined) await held.whenSettled(left)
      // Already listed, though its binding has not ended.
      else if (entry.pending > 0) await entry.whenBindEnds(left)
      else return
    }
  }

  #countUsage(): Usage | undefined {
    const { limits, directory, records, facts } = this.#options
    if (limits === undefined) return undefined
    const { first, last } = facts.randomTcpPorts
    return new Usage({
      directory,
      limits,
      ownerOf: ({ credentialId }) => records.credential(credentialId)?.ownerId || credentialId,
      portShare: id => (records.owner(id)?.role === 'admin' ? Infinity : Math.ceil((last - first + 1) / 2)),
    })
  }

  #enter(entry: Entry): void {
    const { id, credentialId } = entry.record
    this.#entries.set(id, entry)
    const siblings = this.#byCredential.get(credentialId) ?? new Set()
    this.#byCredential.set(credentialId, siblings.add(entry))
  }

  #leave(entry: Entry): void {
    const { id, credentialId } = entry.record
    this.#entries.delete(id)
    const siblings = this.#byCredential.get(credentialId)
    siblings?.delete(entry)
    if (siblings?.size === 0) this.#byCredential.delete(credentialId)
  }

  #replace(earlier: Entry, entry: Entry): void {
    this.#leave(earlier)
    entry.inherit(earlier)
    for (const held of earlier.tunnels.values()) held.giveUp()
    earlier.connection.close('The agent has reconnected.')
    // Tunnels that are not requested again by then were closed meanwhile.
    setTimeout(() => this.#run(() => this.#dropUnbound(entry)), REBIND_MS).unref()
  }

  async #dropUnbound(entry: Entry): Promise<void> {
    if (this.#entries.get(entry.record.id) !== entry) return
    for (const { bound, record } of entry.tunnels.values())
      if (!bound) await this.unbind(entry.record.id, record.id)
  }

  #isReturning(entry: Entry, spec: BindSpec): boolean {
    return spec.kind === 'address' ? entry.tunnels.has(spec.tunnelId) : this.#left(entry, spec) !== undefined
  }

  async #bind(entry: Entry, spec: BindSpec): Promise<TunnelRecord> {
    const credential = this.#requireCredential(entry.record)
    if (spec.kind === 'address') return this.#binder.bindAddress(entry, spec, credential)
    const left = this.#left(entry, spec) ?? this.#labels.take(entry.record.id, spec.labels)
    const earlier = left ?? { id: this.#newLabelled(entry, spec), startedAt: undefined }
    return this.#binder.bindLabels(entry, spec, { acl: credential.acl, earlier })
  }

  /** The credential may have been deleted, or its owner deactivated, after the sign-in. */
  #requireCredential({ credentialId }: SessionRecord): Credential {
    const credential = this.#options.records.credential(credentialId) ?? fail('agent_token_unknown')
    return credential.active ? credential : fail('agent_owner_inactive')
  }

  /** The labelled tunnel that the agent had on its earlier connection. */
  #left(entry: Entry, { labels }: LabelSpec): Left | undefined {
    const key = labelsKey(labels)
    const isLeft = ({ bound, record }: Held) =>
      !bound && record.address === undefined && labelsKey(record.labels) === key
    return [...entry.tunnels.values()].find(isLeft)?.record
  }

  /** Never an id that the session has used: some agents close a tunnel several times, and late. */
  #newLabelled(entry: Entry, { labels }: LabelSpec): string {
    const { id } = entry.record
    for (;;) {
      const candidate = legId(
        labelledId(plainId(id), labels, entry.countLabelled(labelsKey(labels))),
        legOf(id),
      )
      if (!this.#options.directory.tunnels.has(candidate)) return candidate
    }
  }

  async #hold(entry: Entry, record: TunnelRecord, waits: boolean): Promise<void> {
    const current = this.#entries.get(record.sessionId)
    if (current !== entry) {
      // The connection closed while the address was being claimed; its successor may already have the tunnel.
      if (current?.tunnels.get(record.id)?.bound !== true) await this.unbind(record.sessionId, record.id)
      fail('agent_not_signed_in')
    }
    const held = new Held(record, true)
    entry.hold(held)
    if (!waits) held.release()
  }

  /** Whether the holder of an address is evicted: only by itself, or when it does not respond. */
  async #displace(holder: TunnelRecord, newcomer: Entry): Promise<boolean> {
    const { directory, facts, log } = this.#options
    if (holder.sessionId === newcomer.record.id) {
      const held = newcomer.tunnels.get(holder.id)
      if (held?.bound ?? holder.node === facts.node) return false
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
    const entry = this.#entries.get(sessionId)
    const { directory } = this.#options
    const node = directory.sessions.get(sessionId)?.node
    if (entry === undefined)
      return node === undefined
        ? undefined
        : directory.removeSession(sessionId, node, { error: reason, lost: false })
    entry.connection.close(reason)
    await this.remove(sessionId, entry.connection, { error: reason, lost: false })
  }

  /** The agent has reconnected through another process; the rest here is dead. */
  #elsewhere({ id, node }: SessionRecord): void {
    const entry = this.#entries.get(id)
    if (entry !== undefined && entry.record.node !== node)
      entry.connection.close('The agent has reconnected.')
  }

  /** Another process gave an address of this agent to another one, because it did not respond. */
  #dismissed({ id, node }: SessionRecord): void {
    const entry = this.#entries.get(id)
    if (entry?.record.node === node && !this.#removing.has(id))
      entry.connection.close('Another agent took over an address of this one.')
  }

  #credentialChanged({ id, after }: RecordChange): void {
    for (const entry of this.#byCredential.get(id) ?? []) {
      if (after === undefined) this.#run(() => this.#evict(entry.record.id, 'The credential was deleted.'))
      else this.#dropForbidden(entry)
    }
    // A certificate authority can change its owner.
    this.#evictInactive()
  }

  #evictInactive(): void {
    const { message } = new Problem('agent_owner_inactive', {})
    for (const [credentialId, entries] of this.#byCredential) {
      if (this.#options.records.credential(credentialId)?.active !== false) continue
      for (const { record } of entries) this.#run(() => this.#evict(record.id, message))
    }
  }

  #dropForbidden(entry: Entry): void {
    const credential = this.#options.records.credential(entry.record.credentialId)
    const acl = credential?.acl ?? []
    for (const { record } of entry.tunnels.values()) {
      if (mayBind(acl, record.address, record.labels)) continue
      const problem = new Problem('acl_refused', { address: record.url, allowed: acl.join(', ') })
      entry.connection.stopTunnel?.(record.id, problem)
      this.#run(() => this.unbind(entry.record.id, record.id))
    }
  }

  /** Rules change in batches; the sessions are checked once for all of them. */
  #recheckAddresses(): void {
    this.#recheck ??= setImmediate(() => {
      this.#recheck = undefined
      this.#run(() => this.#evictRefused())
    })
  }

  #evictRefused(): void {
    const restriction = this.#options.records.restriction('agent')
    if (restriction?.enforced !== true) return
    for (const { record } of this.#entries.values()) {
      if (restriction.allows(record.ip)) continue
      const { message } = new Problem('agent_address_refused', { ip: record.ip })
      this.#run(() => this.#evict(record.id, message))
    }
  }

  #run(work: () => unknown): void {
    void inBackground({ task: 'agents', log: this.#options.log }, work)
  }
}

const holderOf = ({ record: { credentialId }, ownerId }: Entry): Holder => ({ credentialId, ownerId })

const ofSpec = (spec: BindSpec): Amount =>
  ofTunnel({ labels: {}, ...spec }, spec.kind === 'address' && spec.proto === 'tcp')
