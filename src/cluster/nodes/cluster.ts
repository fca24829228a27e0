import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { timestamp } from '#base/ids.ts'
import type { HostPort } from '#base/hosts.ts'
import type { SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { NodeStore } from '#base/node-store.ts'
import type { Settings } from '#base/settings.ts'
import { inTime } from '#base/in-time.ts'
import { ClusterDirectory } from '#cluster/nodes/cluster-directory.ts'
import { ClusterPeers } from '#cluster/nodes/cluster-peers.ts'
import { type ClusterView, machineClock } from '#cluster/nodes/followed-cluster.ts'
import { Membership } from '#cluster/nodes/membership.ts'
import { advertised, addressText, isAnyHost } from '#cluster/nodes/peer-address.ts'
import { machineOf } from '#registry/machine-of.ts'
import type { TlsIdentity } from '#pki/local-authority.ts'
import { otherConnections } from '#registry/agent-connections.ts'
import type { OtherNodes } from '#registry/other-nodes.ts'

const MOVED_CHECK_MS = 100

interface ClusterOptions {
  readonly settings: Settings
  readonly store: NodeStore
  /** `nd_...` */
  readonly id: string
  /** They say what the node holds before it writes that. */
  readonly hasWorkers: boolean
  readonly version: string
  /** Of the installation's CA. */
  readonly root: TlsIdentity
  readonly publicAddresses: readonly string[]
  readonly sharesPorts: SharesPorts
  /** Another node has changed a resource. */
  readonly resourcesChanged: () => void
  readonly log: Log
}

/** This server as a node of a cluster. */
export class Cluster implements AsyncDisposable {
  readonly membership: Membership
  readonly directory: ClusterDirectory
  readonly peers: ClusterPeers
  readonly #options: ClusterOptions
  /** Where this node listens for the others. */
  readonly #address: HostPort

  private constructor(options: ClusterOptions, peer: HostPort) {
    const { store, log, settings, version } = options
    this.#options = options
    this.#address = settings.peer_addr ?? peer
    this.membership = new Membership({
      store,
      log,
      id: options.id,
      info: {
        name: hostname(),
        version,
        region: settings.region,
        peer: addressText(peer),
        // Until the listeners are open, DNS must send no client and no agent here.
        publicAddresses: [],
        agentAddresses: [],
        startedAt: timestamp(Date.now()),
      },
    })
    this.directory = new ClusterDirectory({ store, membership: this.membership, log })
    if (options.hasWorkers) this.directory.hold()
    this.peers = new ClusterPeers({
      ...options,
      membership: this.membership,
      directory: this.directory,
      address: this.#address,
      refreshLease: () => this.refreshLease(),
    })
  }

  /** Joins the cluster. */
  static async open(options: ClusterOptions): Promise<Cluster> {
    const cluster = new Cluster(options, advertised(options.settings, options.publicAddresses))
    const { membership, directory } = cluster
    await membership.start()
    await directory.start()
    options.store.listen(what => {
      if (what === 'resources') return options.resourcesChanged()
      // A renewal is a durable write: not one for each tunnel that any node opens.
      if (what === 'nodes') void membership.refresh()
      directory.wake()
    })
    return cluster
  }

  get node(): string {
    return this.membership.id
  }

  /** The directory is up to date afterwards. */
  async refreshLease(): Promise<void> {
    await this.membership.refresh()
    await this.directory.settled()
  }

  /** For the workers of this node, whenever the nodes were read. */
  get view(): ClusterView {
    const { membership, node } = this
    return {
      node,
      address: this.#address,
      leaseUntil: machineClock() + Math.max(0, membership.confirmedUntil - performance.now()),
      isFailing: membership.isFailing,
      nodes: [...membership.nodes.values()].map(({ id, peer, agentAddresses, state }) => ({
        id,
        peer,
        agentAddresses,
        state,
      })),
    }
  }

  /** Resolves when this node was asked to drain, such as by an operator at another node. */
  get drainRequested(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const unwatch = this.membership.watch(() => {
      if (!this.membership.isDraining) return
      unwatch()
      resolve()
    })
    return promise
  }

  /** New clients and agents go to other nodes from now on. An unavailable database does not delay the stop. */
  async startDrain(): Promise<void> {
    await inTime(this.membership.drain(this.node))
  }

  readonly otherNodes: OtherNodes = {
    agentAddresses: () =>
      this.membership.serving
        .filter(({ id }) => id !== this.node)
        .flatMap(({ agentAddresses }) => agentAddresses),
    watch: listener => {
      let known = this.#otherAgents()
      return this.membership.watch(() => {
        const now = this.#otherAgents()
        if (now === known) return
        known = now
        listener()
      })
    },
  }

  /** Publishes where clients and agents reach this node. */
  announce(agent: HostPort | undefined, clients: () => number): Promise<void> {
    const { publicAddresses } = this.#options
    const hosts = isAnyHost(agent?.host ?? '') ? publicAddresses : [agent?.host ?? '']
    const agentAddresses =
      agent === undefined ? [] : hosts.map(host => addressText({ host, port: agent.port }))
    return this.membership.announce({ publicAddresses, agentAddresses }, clients)
  }

  /**
   * Resolves when the agents of this node have another connection elsewhere, as far as they keep several, or at the
   * deadline.
   */
  async whenAgentsHaveMoved(deadlineMs: number): Promise<void> {
    const deadline = performance.now() + deadlineMs
    while (performance.now() < deadline && this.otherNodes.agentAddresses().length > 0 && this.#hasOnlyHere())
      await wait(MOVED_CHECK_MS)
  }

  /** Load balancers and DNS resolvers send clients to this node until they know that it leaves. */
  async whenClientsHaveMoved(noticeMs: number): Promise<void> {
    if (this.membership.serving.length > 0) await wait(noticeMs)
  }

  /** To compare; the database returns nodes in no particular order. */
  #otherAgents(): string {
    return this.otherNodes.agentAddresses().toSorted().join()
  }

  #hasOnlyHere(): boolean {
    const { tunnels, sessions, ownTunnels } = this.directory
    for (const tunnel of ownTunnels) {
      const isAdit = sessions.get(tunnel.sessionId)?.userAgent.startsWith('adit/') === true
      const isElsewhere = otherConnections(tunnels, tunnel).some(({ node }) => machineOf(node) !== this.node)
      if (isAdit && !isElsewhere) return true
    }
    return false
  }

  /** Stops the links; closed once no client needs them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.peers.close()
    await this.directory[Symbol.asyncDispose]()
    await this.membership.close()
    await this.#options.store[Symbol.asyncDispose]()
  }
}
