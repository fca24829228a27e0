import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { fail } from '#base/errors.ts'
import { timestamp } from '#base/ids.ts'
import type { HostPort } from '#base/hosts.ts'
import { parseHostPort } from '#base/hosts.ts'
import { cannotListen, type SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { NodeStore } from '#base/node-store.ts'
import type { Settings } from '#base/settings.ts'
import { StartError } from '#base/start-error.ts'
import { inTime } from '#base/in-time.ts'
import { checkedDial } from '#cluster/nodes/checked-dial.ts'
import { ClusterDirectory } from '#cluster/nodes/cluster-directory.ts'
import { type ClusterView, machineClock, type WorkerCounts } from '#cluster/nodes/followed-cluster.ts'
import { ForwardCounts } from '#cluster/nodes/forward-counts.ts'
import { LEASE_MS, Membership, type ClusterNode } from '#cluster/nodes/membership.ts'
import { machineOf } from '#registry/machine-of.ts'
import type { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import { dialAnyConnection } from '#gateway/cluster-links/dial-any-connection.ts'
import type { PeerMethods } from '#gateway/cluster-links/peer-calls.ts'
import { PeerLinks } from '#gateway/cluster-links/peer-links.ts'
import { TlsTransport } from '#gateway/cluster-links/tls-transport.ts'
import { LocalAuthority, type TlsIdentity } from '#pki/local-authority.ts'
import { anyConnection, otherConnections } from '#registry/agent-connections.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import type { AgentCommand } from '#registry/directory.ts'
import type { OtherNodes } from '#registry/other-nodes.ts'

const MOVED_CHECK_MS = 100

/** The agents of this node, in this process or in its workers. */
export type LocalAgents = Pick<AgentRegistry, 'dial' | 'probe' | 'command' | 'revoke'>

export interface ClusterOptions {
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
  readonly #options: ClusterOptions
  readonly #peer: HostPort
  #peers: PeerLinks | undefined
  #methods: PeerMethods = {}
  readonly #forwards = new ForwardCounts()
  #workers: () => Omit<WorkerCounts, 'clients'> = () => ({ links: 0, forwards: { connected: 0, failed: 0 } })

  private constructor(options: ClusterOptions, peer: HostPort) {
    const { store, log, settings, version } = options
    this.#options = options
    this.#peer = peer
    this.membership = new Membership({
      store,
      log,
      id: options.id,
      info: {
        name: hostname(),
        version,
        region: settings.region,
        peer: text(peer),
        // Until the listeners are open, DNS must send no client and no agent here.
        publicAddresses: [],
        agentAddresses: [],
        startedAt: timestamp(Date.now()),
      },
    })
    this.directory = new ClusterDirectory({ store, membership: this.membership, log })
    if (options.hasWorkers) this.directory.hold()
  }

  /** Joins the cluster. */
  static async open(options: ClusterOptions): Promise<Cluster> {
    const cluster = new Cluster(options, advertised(options))
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

  /** Reaches the agents of all nodes. */
  readonly connectPeers = async (
    local: LocalAgents,
    sharesPorts = this.#options.sharesPorts,
  ): Promise<AgentDialer> => {
    const { log, root } = this.#options
    const { tunnels, sessions } = this.directory
    const { node } = this
    const address = this.#address
    const transport = await TlsTransport.create({
      node,
      address,
      authority: await LocalAuthority.open(root),
      addressOf: other => this.#addressOf(other),
      sharesPorts,
      log,
    })
    const checked = checkedDial({
      local,
      tunnels,
      isCurrent: () => this.membership.isCurrent,
      refresh: () => this.refreshLease(),
    })
    const peers = new PeerLinks({
      node,
      tunnels,
      local: { dial: checked },
      log,
      transports: [transport],
      transportTo: () => transport,
      methods: () => this.#methods,
    })
    this.#peers = peers
    await peers.listen().catch((error: unknown) => {
      throw cannotListen(error, address, 'ADIT_PEER_ADDR')
    })
    this.directory.onLost(tunnel => local.revoke(tunnel))
    const dial: AgentDialer['dial'] = (tunnel, header, first) =>
      tunnel.node === node
        ? checked(tunnel, header, first)
        : this.#forwards.count(peers.dial(tunnel, header, first))
    return {
      dial: dialAnyConnection(node, tunnels, dial),
      probe: async id => {
        const at = machineOf(sessions.get(id)?.node ?? node)
        if (at === node) return local.probe(id)
        // A node that cannot be reached from here may still serve its agent, and does while it has a lease.
        return (await inTime(peers.call<boolean>(at, 'probe', id))) ?? this.membership.counts(at)
      },
      command: (sessionId, command) => this.#command(local, sessionId, command),
    }
  }

  /** The directory is up to date afterwards. */
  async refreshLease(): Promise<void> {
    await this.membership.refresh()
    await this.directory.settled()
  }

  /** Open links with other nodes, in both directions. */
  get links(): number {
    return (this.#peers?.size ?? 0) + this.#workers().links
  }

  /** Connections to agents of other nodes, since the start; a failed one did not reach the agent. */
  get forwards(): Readonly<Record<'connected' | 'failed', number>> {
    const { connected, failed } = this.#workers().forwards
    return { connected: this.#forwards.connected + connected, failed: this.#forwards.failed + failed }
  }

  /** Adds what the workers of this node count. */
  countWorkers(counts: () => Omit<WorkerCounts, 'clients'>): void {
    this.#workers = counts
  }

  /** For the workers of this node, whenever the nodes were read. */
  get view(): ClusterView {
    const { membership, node } = this
    return {
      node,
      address: this.#address,
      leaseUntil: machineClock() + LEASE_MS - membership.leaseAgeMs,
      isFailing: membership.isFailing,
      nodes: [...membership.nodes.values()].map(({ id, peer, agentAddresses, state }) => ({
        id,
        peer,
        agentAddresses,
        state,
      })),
    }
  }

  /** What the other nodes may ask this one. */
  serve(methods: PeerMethods): void {
    this.#methods = methods
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

  /** The other nodes that have not expired. */
  get others(): ClusterNode[] {
    return [...this.membership.nodes.values()].filter(
      ({ id, state }) => id !== this.node && state !== 'expired',
    )
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
    const agentAddresses = agent === undefined ? [] : hosts.map(host => text({ host, port: agent.port }))
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

  call<Result>(node: string, method: string, argument: unknown): Promise<Result> {
    return this.#peers?.call<Result>(node, method, argument) ?? fail('not_found')
  }

  /** The results of the other nodes that respond in time. */
  async callAll<Result>(method: string, argument: unknown): Promise<Result[]> {
    const asked = this.others.map(({ id }) => inTime(this.call<Result>(id, method, argument)))
    return (await Promise.all(asked)).flatMap(result =>
      result === undefined || result === null ? [] : [result],
    )
  }

  /** Stops the links; closed once no client needs them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peers?.close()
    await this.directory[Symbol.asyncDispose]()
    await this.membership.close()
    await this.#options.store[Symbol.asyncDispose]()
  }

  async #command(local: LocalAgents, sessionId: string, command: AgentCommand): Promise<void> {
    const session = anyConnection(this.directory.sessions, sessionId) ?? fail('not_found')
    const node = machineOf(session.node)
    if (node === this.node) return local.command(session.id, command)
    await this.call(node, 'command', { sessionId: session.id, command })
  }

  get #address(): HostPort {
    return this.#options.settings.peer_addr ?? this.#peer
  }

  #addressOf(process: string): HostPort | undefined {
    return parseHostPort(this.membership.nodes.get(machineOf(process))?.peer ?? '')
  }
}

const text = ({ host, port }: HostPort): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

const isAnyHost = (host: string): boolean => host === '0.0.0.0' || host === '::'

/** Where the other nodes reach this one. */
function advertised({ settings, publicAddresses }: ClusterOptions): HostPort {
  const { peer_url: given, peer_addr: listener } = settings
  if (given !== undefined) return given
  const { host = '', port = 0 } = listener ?? {}
  const reachable = isAnyHost(host) ? publicAddresses[0] : host
  if (reachable !== undefined && port !== 0) return { host: reachable, port }
  throw new StartError('set ADIT_PEER_URL to the HOST:PORT at which the other nodes reach ADIT_PEER_ADDR')
}
