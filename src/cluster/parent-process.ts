import { join } from 'node:path'
import type { Log } from '#base/log.ts'
import type { UserSessionStore } from '#auth/sign-in/user-session-store.ts'
import type { FirstProcess } from '#cluster/first-process.ts'
import type { FirstProcessLink } from '#cluster/first-process-link.ts'
import { checkedDial } from '#cluster/nodes/checked-dial.ts'
import { FollowedCluster, type WorkerCounts } from '#cluster/nodes/followed-cluster.ts'
import { ForwardCounts } from '#cluster/nodes/forward-counts.ts'
import { openedConfig, type WorkerStart } from '#cluster/protocol.ts'
import { SharedDirectory } from '#cluster/shared-directory.ts'
import type { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import { dialAnyConnection } from '#gateway/cluster-links/dial-any-connection.ts'
import { SocketFiles } from '#gateway/cluster-links/peer-transport.ts'
import { PeerLinks } from '#gateway/cluster-links/peer-links.ts'
import { TlsTransport } from '#gateway/cluster-links/tls-transport.ts'
import { LocalAuthority } from '#pki/local-authority.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import type { Follower, Source, SourceChange, SourceRow } from '#registry/records/source.ts'
import type { PublishUsage } from '#telemetry/usage/usage-counter.ts'
import type { PublishTraffic } from '#telemetry/traffic-events.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'

/** The first process for a worker, over the link between them. */
export class ParentProcess implements FirstProcess, AsyncDisposable {
  readonly directory: SharedDirectory
  readonly source: Source
  readonly userSessions: UserSessionStore
  readonly log: Log
  readonly publishTraffic: PublishTraffic
  readonly publishUsage: PublishUsage
  readonly #link: FirstProcessLink
  readonly #start: WorkerStart
  #wanted: WantedTraffic
  #onWanted: ((wanted: WantedTraffic) => void) | undefined
  #follower: Follower | undefined
  #kinds: readonly string[] = []
  #peers: PeerLinks | undefined
  readonly #forwards = new ForwardCounts()

  constructor(link: FirstProcessLink, start: WorkerStart, log: Log) {
    this.#link = link
    this.#start = start
    this.#wanted = start.wantedTraffic
    this.log = log
    this.directory = new SharedDirectory(link, log)
    this.directory.replace(start.directory)
    this.otherNodes = start.cluster && new FollowedCluster(start.cluster)
    this.source = {
      watch: (kinds, follower) => this.#watch(kinds, follower),
      // The changes come before the response.
      refresh: () => link.request('refreshRecords', null),
    }
    // What was counted is kept for the next first process.
    this.publishTraffic = batch => link.request('traffic', batch, Infinity)
    this.publishUsage = counted => link.request('usage', counted, Infinity)
    this.userSessions = {
      signedIn: signedIn => link.request('signedIn', signedIn),
      active: (id, expiresAt) => link.notify('sessionActive', { id, expiresAt }),
      ended: id => link.request('sessionEnded', id),
      claimCode: claim => link.request('claimCode', claim),
    }
  }

  /** The kinds of records that are followed. */
  get kinds(): readonly string[] {
    return this.#kinds
  }

  readonly otherNodes: FollowedCluster | undefined

  /** All workers open the same ports. */
  readonly sharesPorts = (): boolean => true

  onSubscriptionChange(follower: (wanted: WantedTraffic) => void): void {
    this.#onWanted = follower
    follower(this.#wanted)
  }

  readonly connectPeers = async (local: AgentRegistry): Promise<AgentDialer> => {
    const { tunnels, sessions } = this.directory
    const { peerFolder, config } = this.#start
    const { node } = config.info
    const files = new SocketFiles(node, other => join(peerFolder, `${other}.sock`))
    const others = await this.#transportToNodes(node)
    const isElsewhere = (other: string): boolean => this.otherNodes?.isHere(other) === false
    const checked = checkedDial({
      local,
      tunnels,
      isCurrent: () => this.otherNodes?.isCurrent !== false,
      refresh: () => this.#link.request('refreshLease', null),
    })
    const peers = new PeerLinks({
      node,
      tunnels,
      local: { dial: checked },
      log: this.log,
      transports: others === undefined ? [files] : [files, others],
      transportTo: other => (others !== undefined && isElsewhere(other) ? others : files),
    })
    this.#peers = peers
    // Before any agent is accepted: clients of other processes may need it at once.
    await peers.listen()
    const dial: AgentDialer['dial'] = (tunnel, header, first) => {
      if (tunnel.node === node) return checked(tunnel, header, first)
      const dialed = peers.dial(tunnel, header, first)
      return isElsewhere(tunnel.node) ? this.#forwards.count(dialed) : dialed
    }
    const isOwn = (sessionId: string): boolean => sessions.get(sessionId)?.node === node
    return {
      dial: dialAnyConnection(node, tunnels, dial),
      probe: id => (isOwn(id) ? local.probe(id) : this.#link.request('probe', id)),
      roundTrip: id => (isOwn(id) ? local.roundTrip(id) : this.#link.request('roundTrip', id)),
      command: (sessionId, command) => this.#link.request('command', { sessionId, command }),
    }
  }

  /** For the metrics of the node. */
  get counts(): Omit<WorkerCounts, 'clients'> {
    return { links: this.#peers?.size ?? 0, forwards: this.#forwards }
  }

  snapshot(rows: readonly SourceRow[]): void {
    this.#follower?.snapshot(rows)
  }

  changes(batch: readonly SourceChange[]): void {
    this.#follower?.changes(batch)
  }

  wantedTraffic(wanted: WantedTraffic): void {
    this.#wanted = wanted
    this.#onWanted?.(wanted)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peers?.close()
  }

  /** To the processes of other nodes, which reach this one at the same port as its first process. */
  async #transportToNodes(node: string): Promise<TlsTransport | undefined> {
    const cluster = this.otherNodes
    if (cluster === undefined) return undefined
    return TlsTransport.create({
      node,
      address: cluster.address,
      authority: await LocalAuthority.open(openedConfig(this.#start.config).root),
      addressOf: other => cluster.addressOf(other),
      sharesPorts: this.sharesPorts,
      log: this.log,
    })
  }

  /** The first snapshot comes before the response. */
  async #watch(kinds: readonly string[], follower: Follower): Promise<() => void> {
    this.#follower = follower
    this.#kinds = kinds
    await this.#link.request('watch', kinds)
    return () => {
      this.#follower = undefined
    }
  }
}
