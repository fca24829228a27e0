import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { NodeReport, NodeRow, NodeStore } from '#base/node-store.ts'

/** How often a node renews its lease, and the age at which a lease ends. */
const RENEW_MS = 2000
export const LEASE_MS = 10_000
const SWEEP_MS = 30_000

/** What a node publishes about itself. */
interface NodeInfo {
  /** The name of the machine. */
  readonly name: string
  readonly version: string
  readonly region: string
  /** Where other nodes reach this one, as `host:port`. */
  readonly peer: string
  /** For DNS. */
  readonly publicAddresses: readonly string[]
  /** Where agents connect, as `host:port`. */
  readonly agentAddresses: readonly string[]
  readonly startedAt: string
}

export interface ClusterNode extends NodeInfo, Pick<NodeRow, 'id' | 'epoch' | 'clients' | 'isDraining'> {
  readonly state: 'live' | 'draining' | 'expired'
  /** Since its last renewal. */
  readonly leaseAgeMs: number
}

interface MembershipOptions {
  readonly store: Pick<NodeStore, 'join' | 'renew' | 'leave' | 'drain' | 'sweep' | 'notify'>
  readonly id: string
  readonly info: NodeInfo
  readonly log: Log
  readonly renewMs?: number
}

/** The nodes of the cluster, and the lease of this one. */
export class Membership {
  readonly id: string
  readonly #options: MembershipOptions
  readonly #nodes = new Map<string, ClusterNode>()
  readonly #listeners = new Set<() => void>()
  #info: NodeInfo
  #clients: () => number = () => 0
  #epoch = 0
  /** The epoch in which the directory has all that this node has online. */
  #confirmedEpoch = 0
  /** On this process's monotonic clock. */
  #leaseUntil = -Infinity
  #graceUntil = -Infinity
  #attempt: Promise<void> | undefined
  #next: Promise<void> | undefined
  #isFailing = false
  #timer: NodeJS.Timeout | undefined
  #sweptAt = -Infinity
  #isClosed = false

  constructor(options: MembershipOptions) {
    this.#options = options
    this.id = options.id
    this.#info = options.info
  }

  /** As last read; this node is among them. */
  get nodes(): ReadonlyMap<string, ClusterNode> {
    return this.#nodes
  }

  get epoch(): number {
    return this.#epoch
  }

  /** Since the last renewal of this node's lease, on its own clock. */
  get leaseAgeMs(): number {
    return performance.now() - this.#leaseUntil + LEASE_MS
  }

  get isDraining(): boolean {
    return this.#nodes.get(this.id)?.isDraining ?? false
  }

  /** The last attempt to reach the database failed. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /**
   * False while other nodes may own what this one has, such as after a suspension: its lease has ended, or it has
   * joined again and does not know yet which of its addresses it has lost.
   */
  get isCurrent(): boolean {
    return performance.now() < this.confirmedUntil || this.#isFailing
  }

  /** Until when other nodes own nothing of what this one has, on its own clock. */
  get confirmedUntil(): number {
    return this.#confirmedEpoch === this.#epoch ? this.#leaseUntil : -Infinity
  }

  /** Whether this node does what one of all nodes must do: the longest-serving one with a lease does. */
  get isFirst(): boolean {
    const [first] = this.serving.map(({ epoch }) => epoch).toSorted((one, other) => one - other)
    return first === this.#epoch && performance.now() < this.#leaseUntil
  }

  /** Nodes that are neither expired nor draining. */
  get serving(): ClusterNode[] {
    return [...this.#nodes.values()].filter(({ state }) => state === 'live')
  }

  /** The other nodes that have not expired. */
  get others(): ClusterNode[] {
    return [...this.#nodes.values()].filter(({ id, state }) => id !== this.id && state !== 'expired')
  }

  /**
   * Whether records of a node count. After an outage of the database all leases have ended, so the other nodes get
   * time to renew theirs.
   */
  counts(id: string): boolean {
    const node = this.#nodes.get(id)
    if (node === undefined) return false
    return node.state !== 'expired' || performance.now() < this.#graceUntil
  }

  /** Called after every read of the nodes, when an epoch is confirmed, and when the database cannot be reached. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async start(): Promise<void> {
    this.#epoch = await this.#options.store.join(this.#report())
    await this.#renew()
    this.#schedule()
  }

  /** Publishes what is known once the listeners are open. */
  async announce(changes: Partial<NodeInfo>, clients: () => number): Promise<void> {
    this.#info = { ...this.#info, ...changes }
    this.#clients = clients
    await this.refresh()
    await this.#options.store.notify().catch(() => undefined)
  }

  /** The directory has all that this node has online, written in this epoch, but for what it has lost. */
  confirm(epoch: number): void {
    if (this.#confirmedEpoch === epoch) return
    this.#confirmedEpoch = epoch
    this.#notify()
  }

  /** Renews and reads the nodes now. Never rejects. */
  refresh(): Promise<void> {
    if (this.#attempt !== undefined) {
      // It may have read before the change that the caller knows.
      this.#next ??= this.#attempt.then(() => {
        this.#next = undefined
        return this.refresh()
      })
      return this.#next
    }
    const attempt = inBackground({ task: 'nodes', log: this.#options.log }, () => this.#try())
    this.#attempt = attempt.finally(() => {
      this.#attempt = undefined
    })
    return this.#attempt
  }

  /** Asks a node to drain; false if there is no such node. */
  async drain(id: string): Promise<boolean> {
    const found = await this.#options.store.drain(id)
    await this.refresh()
    return found
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await (this.#next ?? this.#attempt)
    try {
      await this.#options.store.leave(this.id)
    } catch (error) {
      this.#options.log.warn({ error }, 'the node could not sign off; its lease ends by itself')
    }
  }

  #schedule(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      void this.refresh().then(() => this.#schedule())
    }, this.#options.renewMs ?? RENEW_MS).unref()
  }

  async #try(): Promise<void> {
    if (this.#isClosed) return
    try {
      await this.#renewTwice()
    } catch (error) {
      if (!this.#isFailing) this.#options.log.warn({ error }, 'the lease of this node cannot be renewed')
      const wasFailing = this.#isFailing
      this.#isFailing = true
      if (!wasFailing) this.#notify()
      return
    }
    const now = performance.now()
    if (now - this.#sweptAt < SWEEP_MS || !this.isFirst) return
    this.#sweptAt = now
    await this.#options.store.sweep()
  }

  /**
   * A process that was suspended during a query finds it too late, or its connection closed, and not because the database
   * cannot be reached: another node may have taken over meanwhile, so it is asked again.
   */
  async #renewTwice(): Promise<void> {
    try {
      await this.#renew()
    } catch (error) {
      if (this.isCurrent) throw error
      await this.#renew()
    }
  }

  async #renew(): Promise<void> {
    const { store, log } = this.#options
    const begun = performance.now()
    const { isRenewed, nodes } = await store.renew(this.#report(), this.#epoch)
    if (this.#isFailing || !isRenewed) this.#graceUntil = performance.now() + LEASE_MS
    if (isRenewed) this.#leaseUntil = begun + LEASE_MS
    else {
      this.#epoch = await store.join(this.#report())
      this.#leaseUntil = performance.now()
      log.warn({ node: this.id, epoch: this.#epoch }, 'the lease of this node had ended; it has joined again')
      return this.#renew()
    }
    if (this.#isFailing) log.info({ node: this.id }, 'the lease of this node is renewed again')
    this.#isFailing = false
    this.#take(nodes)
  }

  #take(rows: readonly NodeRow[]): void {
    const expired = [...this.#nodes.values()].filter(({ state }) => state === 'expired').length
    this.#nodes.clear()
    for (const row of rows) this.#nodes.set(row.id, nodeOf(row, row.id === this.id))
    // Their rows are removed soon.
    if ([...this.#nodes.values()].filter(({ state }) => state === 'expired').length > expired)
      this.#sweptAt = -Infinity
    this.#notify()
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }

  #report(): NodeReport {
    return { id: this.id, info: JSON.stringify(this.#info), clients: this.#clients() }
  }
}

/** A statement does not see its own renewal, so the row of this node is a little older. */
function nodeOf({ info, leaseMs, ...row }: NodeRow, isOwn: boolean): ClusterNode {
  const isExpired = leaseMs <= 0 && !isOwn
  return {
    ...(JSON.parse(info) as NodeInfo),
    id: row.id,
    epoch: row.epoch,
    clients: row.clients,
    isDraining: row.isDraining,
    state: isExpired ? 'expired' : row.isDraining ? 'draining' : 'live',
    leaseAgeMs: Math.max(0, Math.round(LEASE_MS - leaseMs)),
  }
}
