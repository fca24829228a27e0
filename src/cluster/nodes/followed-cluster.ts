import { type HostPort, parseHostPort } from '#base/hosts.ts'
import type { ClusterNode } from '#cluster/nodes/membership.ts'
import { machineOf } from '#registry/machine-of.ts'
import type { OtherNodes } from '#registry/other-nodes.ts'

/** What the workers of a node know of its cluster. */
export interface ClusterView {
  readonly node: string
  /** Where this node listens for the others. */
  readonly address: HostPort
  /**
   * Until when other nodes own nothing of what this one has, on the monotonic clock of the machine, which all of its
   * processes share.
   */
  readonly leaseUntil: number
  /** The database cannot be reached. */
  readonly isFailing: boolean
  readonly nodes: readonly Pick<ClusterNode, 'id' | 'peer' | 'agentAddresses' | 'state'>[]
}

/** What a worker reports about itself. */
export interface WorkerCounts {
  readonly clients: number
  /** Links with other nodes. */
  readonly links: number
  /** Connections to agents of other nodes. */
  readonly forwards: Readonly<Record<'connected' | 'failed', number>>
}

/** In milliseconds. `performance.now()` begins with the process. */
export const machineClock = (): number => Number(process.hrtime.bigint()) / 1e6

/** The cluster as a worker sees it; its first process has the lease. */
export class FollowedCluster implements OtherNodes {
  readonly #listeners = new Set<() => void>()
  #view: ClusterView

  constructor(view: ClusterView) {
    this.#view = view
  }

  get node(): string {
    return this.#view.node
  }

  get address(): HostPort {
    return this.#view.address
  }

  /** False while other nodes may own what this one has, such as after a suspension. */
  get isCurrent(): boolean {
    return machineClock() < this.#view.leaseUntil || this.#view.isFailing
  }

  update(view: ClusterView): void {
    const before = this.#agents()
    this.#view = view
    if (this.#agents() !== before) for (const listener of this.#listeners) listener()
  }

  isHere(process: string): boolean {
    return machineOf(process) === this.node
  }

  addressOf(process: string): HostPort | undefined {
    return parseHostPort(this.#view.nodes.find(({ id }) => id === machineOf(process))?.peer ?? '')
  }

  agentAddresses(): readonly string[] {
    return this.#view.nodes
      .filter(({ id, state }) => id !== this.node && state === 'live')
      .flatMap(({ agentAddresses }) => agentAddresses)
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** To compare; the database returns nodes in no particular order. */
  #agents(): string {
    return this.agentAddresses().toSorted().join()
  }
}
