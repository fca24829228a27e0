import { inBackground, watchBackground } from '#base/background.ts'
import { mergeSnapshots, renderMetrics } from '#base/metrics-text.ts'
import { Registry, type Snapshot } from '#base/metrics.ts'
import { watchLoop, watchProcess } from '#base/process-metrics.ts'
import type { GatewaySettings } from '#base/settings.ts'
import type { Gateway } from '#gateway/gateway.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import { agentsOfWorkers } from '#cluster/agents-of-workers.ts'
import { restoreDirectory, watchChanges } from '#cluster/directory-of-workers.ts'
import { CountsOfWorkers } from '#cluster/nodes/counts-of-workers.ts'
import type { LocalAgents } from '#cluster/nodes/cluster-peers.ts'
import type { ClusterDirectory } from '#cluster/nodes/cluster-directory.ts'
import type { WorkerCounts } from '#cluster/nodes/followed-cluster.ts'
import { ownSessions } from '#cluster/own-sessions.ts'
import { LocalDirectory } from '#registry/local-directory.ts'
import { RecentNames } from '#gateway/routing/recent-names.ts'
import { gatewayConfig } from '#cluster/gateway-config.ts'
import type { GatewayParts } from '#cluster/gateway-handle.ts'
import type { Channel } from '#cluster/channel.ts'
import { namesBefore, OnlineNamesFile } from '#cluster/online-names.ts'
import { nodeStatus, type NodeStatus } from '#cluster/process-status.ts'
import { workerProgram } from '#cluster/program.ts'
import { plainConfig, plainSettings, type WorkerStart, type WorkerState } from '#cluster/protocol.ts'
import type { RequestBatch } from '#cluster/request-batches.ts'
import { RequestWatches } from '#cluster/request-watches.ts'
import { recordsOf } from '#cluster/shared-directory.ts'
import { Worker } from '#cluster/worker.ts'
import type { WorkerHost } from '#cluster/worker-host.ts'
import { workerMethods } from '#cluster/worker-methods.ts'
import { askAll, WorkerRequests } from '#cluster/worker-requests.ts'

const RESTART_MS = 1000
/** Agents of a worker that is replaced may take this long to finish their requests. */
const MOVE_OUT_MS = 5000
/** Of a cluster, the name of a worker begins with that of its node. */
const nodeAt = (index: number, { cluster }: Pick<GatewayParts, 'cluster'>): string =>
  cluster === undefined ? `w${index + 1}` : `${cluster.node}.w${index + 1}`

/** Gateways in separate processes, on the same ports; this process makes the common decisions. */
export class Workers {
  readonly directory: LocalDirectory | ClusterDirectory
  /** The agents of the workers. */
  readonly local: LocalAgents
  /** Reaches those of other nodes too. */
  dialer: Pick<AgentDialer, 'probe' | 'roundTrip' | 'command'>
  readonly #recent: RecentNames
  readonly #names: OnlineNamesFile
  readonly #parts: GatewayParts
  readonly #host: WorkerHost
  readonly #workers = new Map<string, Worker>()
  /** Of this process itself, whose CPU and memory count too. */
  readonly #own = new Registry()
  readonly #loop = watchLoop(this.#own)
  readonly #watches = new RequestWatches((name, argument) => this.#notifyAll(name, argument))
  readonly requests = new WorkerRequests(() => this.#channels(), this.#watches)
  readonly #nodes: readonly string[]
  readonly #counts = new CountsOfWorkers()
  #bound: Gateway['bound'] = {}
  #hasStarted = false
  #closing = false

  constructor(parts: GatewayParts, host: WorkerHost) {
    this.#parts = parts
    this.#host = host
    this.#nodes = Array.from({ length: parts.settings.workers }, (_, index) => nodeAt(index, parts))
    this.directory = parts.cluster?.directory ?? new LocalDirectory(parts.log)
    this.local = agentsOfWorkers(this.directory, worker => this.#workers.get(worker)?.channel)
    this.dialer = this.local
    const { data_dir: dataDir } = parts.settings
    this.#recent = new RecentNames(this.directory, { before: namesBefore(dataDir) })
    this.#names = new OnlineNamesFile(dataDir, this.directory, parts.log)
    parts.traffic.onSubscriptionChange(wanted => {
      this.#notifyAll('wantedTraffic', wanted)
    })
    watchProcess(this.#own)
    watchBackground(this.#own)
  }

  /** Null outside of a cluster, where it is not counted. */
  get clientConnections(): number | null {
    return this.#parts.cluster ? this.#counts.total.clients : null
  }

  get bound(): Gateway['bound'] {
    return this.#bound
  }

  /** The first one determines ports that the system assigns; the others join it there. */
  async start(): Promise<void> {
    const left = await this.#host.attach({
      message: (node, body) => this.#workers.get(node)?.pipe.receive(body),
      exited: (node, code) => this.#exited(node, code),
    })
    await this.#joinCluster(left.length > 0)
    const misfits = await this.#takeOver(left)
    if (this.#workers.size === 0) this.#bound = await this.#spawn(nodeAt(0, this.#parts))
    await Promise.all(this.#missing().map(node => this.#spawn(node)))
    this.#hasStarted = true
    // Those that have exited meanwhile.
    for (const node of this.#missing()) this.#again(node)
    this.#replaceInBackground(misfits)
  }

  async metrics(): Promise<string> {
    const theirs = await askAll<Snapshot>(this.#channels(), 'metrics', null)
    return renderMetrics(mergeSnapshots([...theirs, this.#own.snapshot()]))
  }

  /** Those that start later get the new values with their start message. */
  reload(changes: Partial<GatewaySettings>): void {
    this.#notifyAll('reload', plainSettings(changes))
  }

  processes(): Promise<NodeStatus[]> {
    return Promise.all(this.#nodes.map(node => nodeStatus(node, this.#workers.get(node)?.channel)))
  }

  #channels(): Channel[] {
    return [...this.#workers.values()].map(({ channel }) => channel)
  }

  #notifyAll(name: string, argument: unknown): void {
    for (const channel of this.#channels()) channel.notify(name, argument)
  }

  async quiesce(deadlineMs: number): Promise<void> {
    this.#closing = true
    await askAll(this.#channels(), 'quiesce', deadlineMs)
  }

  async moveOut(deadlineMs: number): Promise<void> {
    this.#closing = true
    await askAll(this.#channels(), 'moveOut', deadlineMs)
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#closing = true
    await this.#names.close()
    this.#loop[Symbol.dispose]()
    await Promise.all([...this.#workers.values()].map(worker => worker.end(deadlineMs)))
    this.#host[Symbol.dispose]()
  }

  /** The other nodes reach this process and the workers at one port. */
  async #joinCluster(isPortOpen: boolean): Promise<void> {
    const { cluster, sharesPorts } = this.#parts
    if (cluster === undefined) return
    this.dialer = await cluster.peers.connect(this.local, () => isPortOpen || sharesPorts())
    cluster.peers.countWorkers(() => this.#counts.total)
    cluster.membership.watch(() => this.#notifyAll('cluster', cluster.view))
  }

  #missing(): string[] {
    return this.#nodes.filter(node => !this.#workers.has(node))
  }

  /**
   * Continues with the workers of a first process that has ended, and makes its directory from theirs. They request
   * nothing until all have responded, so that every address keeps its owner. Resolves to those to be replaced.
   */
  async #takeOver(left: readonly string[]): Promise<Worker[]> {
    const workers = left.map(node => this.#connect(node))
    const states = await Promise.all(workers.map(worker => worker.required<WorkerState>('state', null)))
    const known = states.filter(state => state !== undefined)
    this.#bound = known[0]?.bound ?? {}
    await restoreDirectory(
      this.directory,
      known.map(({ directory }) => directory),
    )
    this.#reportChanges()
    const isFit = await Promise.all(
      workers.map(async (worker, index) => {
        const fits = await worker.required<boolean>('takeOver', this.#startOf(worker.node))
        await worker.watch(states[index]?.kinds ?? [])
        return fits !== false && this.#nodes.includes(worker.node)
      }),
    )
    for (const { channel } of this.#workers.values()) channel.notify('takenOver', null)
    if (left.length > 0) this.#parts.log.info({ nodes: left }, 'gateway processes taken over')
    return workers.filter((_, index) => isFit[index] === false)
  }

  #reportChanges(): void {
    const { cluster, traffic } = this.#parts
    const sessions = cluster ? ownSessions(this.directory, cluster.node) : this.directory
    traffic.watchSessions(sessions, this.directory.sessions.values())
    watchChanges(this.directory, change => this.#notifyAll('directory', change))
  }

  /** One after the other, so that the others serve meanwhile. */
  #replaceInBackground(workers: readonly Worker[]): void {
    void inBackground({ task: 'workers', log: this.#parts.log }, async () => {
      for (const worker of workers) await this.#replace(worker)
    })
  }

  async #replace(worker: Worker): Promise<void> {
    const { node, channel } = worker
    if (this.#closing || this.#workers.get(node) !== worker) return
    this.#parts.log.info({ node }, 'gateway process of another release or other settings is replaced')
    worker.isReplaced = true
    await channel.request('moveOut', MOVE_OUT_MS).catch(() => undefined)
    await worker.end(0)
    if (!this.#closing && this.#nodes.includes(node)) await this.#spawn(node)
  }

  async #spawn(node: string): Promise<Gateway['bound']> {
    this.#host.start(node, { path: workerProgram(), args: [this.#parts.settings.log_level] })
    const { channel } = this.#connect(node)
    const bound = await channel.request<Gateway['bound']>('start', this.#startOf(node))
    for (const watch of this.#watches.all) channel.notify('watchRequests', watch)
    return bound
  }

  #connect(node: string): Worker {
    const { userSessions, uncaught } = this.#parts
    const worker = new Worker(node, {
      ...this.#parts,
      host: this.#host,
      methods: {
        ...workerMethods(this.#parts, this.directory, () => this.dialer),
        requestsSeen: async (batch: RequestBatch) => this.#watches.take(batch),
      },
      notices: {
        sessionActive: (session: { id: string; expiresAt: number }) =>
          userSessions.active(session.id, session.expiresAt),
        uncaught: () => uncaught(),
        counts: (counts: WorkerCounts) => this.#counts.set(node, counts),
      },
    })
    this.#workers.set(node, worker)
    return worker
  }

  #startOf(node: string): WorkerStart {
    const config = gatewayConfig(this.#parts, {
      node,
      recentNames: this.#recent.list(),
      bound: this.#bound,
    })
    return {
      config: plainConfig(config),
      wantedTraffic: this.#parts.traffic.wanted,
      peerFolder: this.#host.folder,
      cluster: this.#parts.cluster?.view,
      directory: recordsOf(this.directory),
    }
  }

  /** The state of a worker is lost with it; another one replaces it. */
  #exited(node: string, code: number | null): void {
    const worker = this.#workers.get(node)
    if (worker === undefined) return
    worker.exited()
    this.#workers.delete(node)
    this.#counts.end(node)
    this.directory.removeNode(node)
    if (this.#closing || !this.#hasStarted || worker.isReplaced) return
    this.#parts.log.error({ node, code }, 'gateway process exited; restarting it')
    setTimeout(() => this.#again(node), RESTART_MS)
  }

  #again(node: string): void {
    if (this.#closing || this.#workers.has(node)) return
    const { log } = this.#parts
    const failed = 'gateway process could not be started'
    void inBackground({ task: 'workers', log, failed, about: { node } }, async () => {
      try {
        await this.#spawn(node)
      } catch (error) {
        // Its exit triggers a retry.
        this.#host.kill(node)
        throw error
      }
    })
  }
}
