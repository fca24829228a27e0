import { inBackground } from '#base/background.ts'
import { Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { NodeStore, OnlineWrite } from '#base/node-store.ts'
import type { Membership } from '#cluster/nodes/membership.ts'
import {
  complete,
  dropSession,
  dropTunnel,
  type From,
  putSession,
  putTunnel,
} from '#cluster/nodes/online-change.ts'
import { machineOf } from '#registry/machine-of.ts'
import type { OnlineCounts } from '#cluster/nodes/online-copy.ts'
import { OnlineReader } from '#cluster/nodes/online-reader.ts'
import { OwnRecords } from '#cluster/nodes/own-records.ts'
import type { DirectoryRecords } from '#cluster/shared-directory.ts'
import type {
  Added,
  Directory,
  DirectoryListener,
  SessionEnd,
  SessionRecord,
  TunnelRecord,
} from '#registry/directory.ts'

const MAX_BATCH = 500

export interface ClusterDirectoryOptions {
  readonly store: Pick<NodeStore, 'write' | 'replace' | 'snapshot' | 'changes'>
  readonly membership: Membership
  readonly log: Log
}

/** A write that waits for its transaction. */
interface Pending {
  readonly write: () => OnlineWrite
  /** Undefined: not refused. */
  readonly done: (refusal: Added | undefined) => void
  /** The database does not respond. */
  readonly failed: () => void
}

/** The directory of all nodes: PostgreSQL decides, and every node has a copy in memory. */
export class ClusterDirectory implements Directory, AsyncDisposable {
  readonly #options: ClusterDirectoryOptions
  readonly #reader: OnlineReader
  readonly #own = new OwnRecords()
  readonly #lost = new Set<(tunnel: TunnelRecord) => void>()
  #queue: Pending[] = []
  #flushing: Promise<void> | undefined
  /** The incarnation and epoch in which the database has all that this node has. */
  #written = ''
  #round = 0
  #isFailing = false
  #isHeld = false
  #isClosed = false
  readonly #unwatch: () => void

  constructor(options: ClusterDirectoryOptions) {
    this.#options = options
    this.#reader = new OnlineReader({
      ...options,
      moved: id => this.#own.delete(id),
      evicted: id => {
        this.#own.delete(id)
        this.#own.release(id)
      },
      loaded: () => this.#restoreIfLost(),
    })
    this.#unwatch = options.membership.watch(() => this.#nodesRead())
  }

  get sessions(): ReadonlyMap<string, SessionRecord> {
    return this.#reader.copy.sessions
  }

  get tunnels(): ReadonlyMap<string, TunnelRecord> {
    return this.#reader.copy.tunnels
  }

  /** Those of this node. */
  get ownTunnels(): readonly TunnelRecord[] {
    return this.#reader.copy.tunnelsOfNode(this.#id)
  }

  countsOf(node: string): OnlineCounts {
    return this.#reader.copy.countsOf(node)
  }

  watch(listener: DirectoryListener): () => void {
    return this.#reader.copy.watch(listener)
  }

  /** Calls back for a tunnel of this node whose address another agent got during an outage. */
  onLost(listener: (tunnel: TunnelRecord) => void): () => void {
    this.#lost.add(listener)
    return () => this.#lost.delete(listener)
  }

  start(): Promise<void> {
    return this.#reader.start()
  }

  /** Keeps what the database has of this node until its workers have said what they hold. */
  hold(): void {
    this.#isHeld = true
  }

  /** Begins with what the workers of this node hold. */
  adopt({ sessions, tunnels }: DirectoryRecords): void {
    for (const session of sessions) {
      this.#reader.copy.putSession(session)
      this.#own.addSession(session)
    }
    for (const tunnel of tunnels) {
      this.#reader.copy.putTunnel(tunnel)
      this.#own.addTunnel(tunnel)
    }
    this.#isHeld = false
    this.#restoreIfLost()
  }

  /** A worker of this node has ended, with all that it held. */
  removeNode(process: string): void {
    const end = { error: 'The gateway process has ended.', lost: true }
    const background = { task: 'directory', log: this.#options.log } as const
    for (const tunnel of this.ownTunnels)
      if (tunnel.node === process) void inBackground(background, () => this.#removeTunnel(tunnel, true))
    for (const { id, node } of this.sessions.values())
      if (node === process) void inBackground(background, () => this.removeSession(id, process, end))
  }

  /** Something has changed in the database. */
  wake(): void {
    this.#reader.wake()
  }

  /** Resolves when the database has what waits now, or has failed to take it. */
  async settled(): Promise<void> {
    await this.#flushing
  }

  addSession(record: SessionRecord): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const keep = (): void => {
      // The agent may have moved to another node while this one waited for the database.
      if (this.sessions.get(record.id)?.node === record.node) this.#own.addSession(record)
      resolve()
    }
    this.#enqueue({
      write: () => putSession(record, this.#from),
      done: keep,
      // A session alone claims nothing, so it needs no database.
      failed: () => {
        this.#reader.copy.putSession(record)
        keep()
      },
    })
    return promise
  }

  async removeSession(id: string, process: string, end: SessionEnd = { lost: false }): Promise<void> {
    const node = machineOf(process)
    for (const tunnel of this.#reader.copy.tunnelsOfSession(id))
      if (tunnel.node === process) await this.#removeTunnel(tunnel, end.lost)
    if (this.sessions.get(id)?.node !== process) return
    if (node === this.#id) {
      this.#own.delete(id)
      this.#reader.copy.dropSession(id, node, end.error)
    }
    await this.#remove(node, () => dropSession(id, node, end, this.#from))
  }

  addTunnel(record: TunnelRecord): Promise<Added> {
    const { promise, resolve, reject } = Promise.withResolvers<Added>()
    const keep = (): void => {
      if (this.tunnels.get(record.id)?.node === record.node) this.#own.addTunnel(record)
      resolve({ ok: true })
    }
    this.#enqueue({
      write: () => putTunnel(record, this.#from),
      done: refusal => (refusal === undefined ? keep() : resolve(refusal)),
      failed: () => {
        if (!this.#own.hasAddressOf(record)) return reject(unavailable())
        this.#reader.copy.putTunnel(record)
        keep()
      },
    })
    return promise
  }

  async removeTunnel(id: string): Promise<void> {
    const tunnel = this.tunnels.get(id)
    if (tunnel !== undefined) await this.#removeTunnel(tunnel, false)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#unwatch()
    await this.#flushing
    await this.#reader[Symbol.asyncDispose]()
  }

  get #id(): string {
    return this.#options.membership.id
  }

  get #from(): From & { readonly id: string } {
    return { id: this.#id, node: this.#id, epoch: this.#options.membership.epoch, round: this.#round }
  }

  get #generation(): string {
    return `${this.#reader.copy.incarnation}:${this.#options.membership.epoch}`
  }

  async #removeTunnel({ id, node: process }: TunnelRecord, lost: boolean): Promise<void> {
    const node = machineOf(process)
    if (node === this.#id) {
      this.#own.delete(id)
      this.#reader.copy.dropTunnel(id, node, lost)
    }
    await this.#remove(
      node,
      () => dropTunnel(id, node, lost, this.#from),
      () => this.#own.release(id),
    )
  }

  /** What this node itself has is gone at once; what another one has, when the database says so. */
  #remove(node: string, write: () => OnlineWrite, removed?: () => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const done = (): void => {
      removed?.()
      resolve()
    }
    const isOwn = node === this.#id
    this.#enqueue({ write, done, failed: () => (isOwn ? resolve() : reject(unavailable())) })
    return isOwn ? Promise.resolve() : promise
  }

  #enqueue(...pending: Pending[]): void {
    this.#queue.push(...pending)
    if (this.#flushing !== undefined) return
    const background = { task: 'directory', log: this.#options.log } as const
    this.#flushing = inBackground(background, () => this.#flush()).finally(() => {
      this.#flushing = undefined
      if (this.#queue.length > 0) this.#enqueue()
    })
  }

  /** Writes what waits, in order. What the database cannot take is decided here. */
  async #flush(): Promise<void> {
    // More may be added in the same turn.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, MAX_BATCH)
      try {
        await this.#write(batch)
        this.#isFailing = false
      } catch (error) {
        this.#written = ''
        if (!this.#isFailing) this.#options.log.warn({ error }, 'the directory cannot be written')
        this.#isFailing = true
        for (const { failed } of batch) failed()
      }
    }
  }

  async #write(batch: readonly Pending[]): Promise<void> {
    for (;;) {
      const incarnation = await this.#restore()
      const writes = batch.map(({ write }) => write())
      const outcome = await this.#options.store.write(this.#from, incarnation, writes)
      if (outcome.is === 'fenced') await this.#rejoin()
      if (outcome.is === 'lost') this.#written = ''
      if (outcome.is !== 'written') continue
      await this.#reader.applied(outcome)
      for (const [at, { done }] of batch.entries()) done(outcome.refusals[at] as Added | undefined)
      return
    }
  }

  /** Writes all that this node has, if the database has lost it or the epoch is a new one. Returns the incarnation. */
  async #restore(): Promise<string> {
    while (this.#written !== this.#generation) {
      // A batch that seemed to fail may have been committed: what it wrote is of an earlier round, so followers drop it.
      this.#round++
      const from = this.#from
      const { tunnels, batch } = this.#own.writes(from)
      const outcome = await this.#options.store.replace(from, [...batch, complete(from)])
      if (outcome.is !== 'written') {
        await this.#rejoin()
        continue
      }
      for (const [at, tunnel] of tunnels.entries()) if (outcome.refusals[at] !== undefined) this.#lose(tunnel)
      this.#own.releaseRest()
      this.#written = `${outcome.incarnation}:${from.epoch}`
      await this.#reader.applied(outcome)
    }
    return this.#reader.copy.incarnation ?? ''
  }

  /** The epoch has ended; the next renewal begins another one. */
  async #rejoin(): Promise<void> {
    const { membership } = this.#options
    await membership.refresh()
    if (membership.isFailing || this.#isClosed) throw new Error('The node has no lease.')
  }

  /** Another agent has got the address while this node had no lease. */
  #lose(tunnel: TunnelRecord): void {
    this.#own.delete(tunnel.id)
    this.#reader.copy.dropTunnel(tunnel.id, this.#id, false)
    for (const listener of this.#lost) listener(tunnel)
  }

  #nodesRead(): void {
    const { membership } = this.#options
    this.#reader.copy.prune(node => node === this.#id || membership.counts(node))
    const isDraining = (node: string): boolean => membership.nodes.get(node)?.state === 'draining'
    if (!isDraining(this.#id)) this.#reader.copy.retire(isDraining)
    this.#restoreIfLost()
  }

  #restoreIfLost(): void {
    if (this.#isHeld || this.#isClosed || this.#flushing !== undefined) return
    if (this.#written === this.#generation) return
    const nothing = (): void => undefined
    this.#enqueue({ write: () => complete(this.#from), done: nothing, failed: nothing })
  }
}

const unavailable = (): Problem => new Problem('cluster_unavailable', {})
