import { fail } from '#base/errors.ts'
import { type HostPort, parseHostPort } from '#base/hosts.ts'
import { inTime } from '#base/in-time.ts'
import { cannotListen, type SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import { checkedDial } from '#cluster/nodes/checked-dial.ts'
import type { ClusterDirectory } from '#cluster/nodes/cluster-directory.ts'
import type { WorkerCounts } from '#cluster/nodes/followed-cluster.ts'
import { ForwardCounts } from '#cluster/nodes/forward-counts.ts'
import type { Membership } from '#cluster/nodes/membership.ts'
import type { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import { dialAnyConnection } from '#gateway/cluster-links/dial-any-connection.ts'
import type { PeerMethods } from '#gateway/cluster-links/peer-calls.ts'
import { PeerLinks } from '#gateway/cluster-links/peer-links.ts'
import { TlsTransport } from '#gateway/cluster-links/tls-transport.ts'
import { LocalAuthority, type TlsIdentity } from '#pki/local-authority.ts'
import { anyConnection } from '#registry/agent-connections.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import type { AgentCommand } from '#registry/directory.ts'
import { machineOf } from '#registry/machine-of.ts'

/** The agents of this node, in this process or in its workers. */
export type LocalAgents = Pick<AgentRegistry, 'dial' | 'probe' | 'roundTrip' | 'command' | 'revoke'>

interface ClusterPeersOptions {
  readonly membership: Membership
  readonly directory: ClusterDirectory
  /** Where this node listens for the others. */
  readonly address: HostPort
  /** Of the installation's CA. */
  readonly root: TlsIdentity
  readonly sharesPorts: SharesPorts
  /** The directory is up to date afterwards. */
  readonly refreshLease: () => Promise<void>
  readonly log: Log
}

/** The other nodes as this one calls them, and reaches agents through them. */
export class ClusterPeers {
  readonly #options: ClusterPeersOptions
  readonly #forwards = new ForwardCounts()
  #links: PeerLinks | undefined
  #methods: PeerMethods = {}
  #workers: () => Omit<WorkerCounts, 'clients'> = () => ({ links: 0, forwards: { connected: 0, failed: 0 } })

  constructor(options: ClusterPeersOptions) {
    this.#options = options
  }

  /** Reaches the agents of all nodes. */
  readonly connect = async (
    local: LocalAgents,
    sharesPorts = this.#options.sharesPorts,
  ): Promise<AgentDialer> => {
    const { membership, directory, address, root, refreshLease, log } = this.#options
    const { id: node } = membership
    const { tunnels, sessions } = directory
    const transport = await TlsTransport.create({
      node,
      address,
      authority: await LocalAuthority.open(root),
      addressOf: process => parseHostPort(membership.nodes.get(machineOf(process))?.peer ?? ''),
      sharesPorts,
      log,
    })
    const checked = checkedDial({
      local,
      tunnels,
      isCurrent: () => membership.isCurrent,
      refresh: refreshLease,
    })
    const links = new PeerLinks({
      node,
      tunnels,
      local: { dial: checked },
      log,
      transports: [transport],
      transportTo: () => transport,
      methods: () => this.#methods,
    })
    this.#links = links
    await links.listen().catch((error: unknown) => {
      throw cannotListen(error, address, 'ADIT_PEER_ADDR')
    })
    directory.onLost(tunnel => local.revoke(tunnel))
    const dial: AgentDialer['dial'] = (tunnel, header, first) =>
      tunnel.node === node
        ? checked(tunnel, header, first)
        : this.#forwards.count(links.dial(tunnel, header, first))
    return {
      dial: dialAnyConnection(node, tunnels, dial),
      probe: async id => {
        const at = machineOf(sessions.get(id)?.node ?? node)
        if (at === node) return local.probe(id)
        // A node that cannot be reached from here may still serve its agent, and does while it has a lease.
        return (await inTime(links.call<boolean>(at, 'probe', id))) ?? membership.counts(at)
      },
      roundTrip: async id => {
        const at = machineOf(sessions.get(id)?.node ?? node)
        return at === node
          ? local.roundTrip(id)
          : ((await inTime(links.call<number | null>(at, 'roundTrip', id))) ?? null)
      },
      command: (sessionId, command) => this.#command(local, sessionId, command),
    }
  }

  /** Open links with other nodes, in both directions. */
  get links(): number {
    return (this.#links?.size ?? 0) + this.#workers().links
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

  /** What the other nodes may ask this one. */
  serve(methods: PeerMethods): void {
    this.#methods = methods
  }

  call<Result>(node: string, method: string, argument: unknown): Promise<Result> {
    return this.#links?.call<Result>(node, method, argument) ?? fail('not_found')
  }

  /** The results of the other nodes that respond in time. */
  async callAll<Result>(method: string, argument: unknown): Promise<Result[]> {
    const { others } = this.#options.membership
    const asked = others.map(({ id }) => inTime(this.call<Result>(id, method, argument)))
    return (await Promise.all(asked)).flatMap(result =>
      result === undefined || result === null ? [] : [result],
    )
  }

  async close(): Promise<void> {
    await this.#links?.close()
  }

  async #command(local: LocalAgents, sessionId: string, command: AgentCommand): Promise<void> {
    const { directory, membership } = this.#options
    const session = anyConnection(directory.sessions, sessionId) ?? fail('not_found')
    const node = machineOf(session.node)
    if (node === membership.id) return local.command(session.id, command)
    await this.call(node, 'command', { sessionId: session.id, command })
  }
}
