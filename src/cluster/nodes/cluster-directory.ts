import { inBackground } from '#base/background.ts'
import { Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { NodeStore } from '#base/node-store.ts'
import type { Membership } from '#cluster/nodes/membership.ts'
import { dropSession, dropTunnel, putSession, putTunnel } from '#cluster/nodes/online-change.ts'
import { asStoredSession, asStoredTunnel } from '#cluster/nodes/online-record.ts'
import { machineOf } from '#registry/machine-of.ts'
import type { NodeCounts } from '#cluster/nodes/online-copy.ts'
import { OnlineReader } from '#cluster/nodes/online-reader.ts'
import { OnlineWriter, type PendingWrite } from '#cluster/nodes/online-writer.ts'
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

interface ClusterDirectoryOptions {
  readonly store: Pick<NodeStore, 'write' | 'snapshot' | 'changes'>
  readonly membership: Membership
  readonly log: Log
}

/** The directory of all nodes: PostgreSQL decides, and every node has a copy in memory. */
export class ClusterDirectory implements Directory, AsyncDisposable {
  readonly #options: ClusterDirectoryOptions
  readonly #reader: OnlineReader
  readonly #own = new OwnRecords()
  readonly #lost = new Set<(tunnel: TunnelRecord) => void>()
  readonly #writer: OnlineWriter
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
      loaded: () => this.#writer.restoreIfLost(),
    })
    this.#writer = new OnlineWriter({
      ...options,
      reader: this.#reader,
      own: this.#own,
      lost: tunnel => {
        for (const listener of this.#lost) listener(tunnel)
      },
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

  countsOf(node: string): NodeCounts {
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
    this.#writer.hold()
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
    this.#writer.continue()
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
  settled(): Promise<void> {
    return this.#writer.settled()
  }

  addSession(record: SessionRecord): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const keep = (): void => {
      // The agent may have moved to another node while this one waited for the database.
      if (this.sessions.get(record.id)?.node === record.node) this.#own.addSession(record)
      resolve()
    }
    this.#writer.enqueue({
      write: from => putSession(record, from),
      done: keep,
      // A session alone claims nothing, so it needs no database.
      failed: () => {
        this.#reader.copy.putSession(asStoredSession(record))
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
    await this.#remove(node, from => dropSession(id, node, end, from))
  }

  addTunnel(record: TunnelRecord): Promise<Added> {
    const { promise, resolve, reject } = Promise.withResolvers<Added>()
    const keep = (): void => {
      if (this.tunnels.get(record.id)?.node === record.node) this.#own.addTunnel(record)
      resolve({ ok: true })
    }
    this.#writer.enqueue({
      write: from => putTunnel(record, from),
      done: refusal => (refusal === undefined ? keep() : resolve(refusal)),
      failed: () => {
        if (!this.#own.hasAddressOf(record)) return reject(unavailable())
        this.#reader.copy.putTunnel(asStoredTunnel(record))
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
    this.#unwatch()
    await this.#writer.close()
    await this.#reader[Symbol.asyncDispose]()
  }

  get #id(): string {
    return this.#options.membership.id
  }

  async #removeTunnel({ id, node: process }: TunnelRecord, lost: boolean): Promise<void> {
    const node = machineOf(process)
    if (node === this.#id) {
      this.#own.delete(id)
      this.#reader.copy.dropTunnel(id, node, lost)
    }
    await this.#remove(
      node,
      from => dropTunnel(id, node, lost, from),
      () => this.#own.release(id),
    )
  }

  /** What this node itself has is gone at once; what another one has, when the database says so. */
  #remove(node: string, write: PendingWrite['write'], removed?: () => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const done = (): void => {
      removed?.()
      resolve()
    }
    const isOwn = node === this.#id
    this.#writer.enqueue({ write, done, failed: () => (isOwn ? resolve() : reject(unavailable())) })
    return isOwn ? Promise.resolve() : promise
  }

  #nodesRead(): void {
    const { membership } = this.#options
    this.#reader.copy.prune(node => node === this.#id || membership.counts(node))
    const isDraining = (node: string): boolean => membership.nodes.get(node)?.state === 'draining'
    if (!isDraining(this.#id)) this.#reader.copy.retire(isDraining)
    this.#writer.restoreIfLost()
  }
}

const unavailable = (): Problem => new Problem('cluster_unavailable', {})
