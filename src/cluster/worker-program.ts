import { inBackground } from '#base/background.ts'
import { changedSettings, picked } from '#base/changed-settings.ts'
import { createLog, type Log } from '#base/log.ts'
import type { LogLevel } from '#base/log-levels.ts'
import { LastResort } from '#base/last-resort.ts'
import { returnStartMemory } from '#base/start-memory.ts'
import { Channel, type ChannelOptions } from '#cluster/channel.ts'
import { composeGateway } from '#cluster/compose-gateway.ts'
import { boundInfo } from '#cluster/gateway-config.ts'
import { FirstProcessLink } from '#cluster/first-process-link.ts'
import type { ClusterView, WorkerCounts } from '#cluster/nodes/followed-cluster.ts'
import { ParentProcess } from '#cluster/parent-process.ts'
import { openedConfig, openedSettings, type WorkerStart, type WorkerState } from '#cluster/protocol.ts'
import { processReport } from '#cluster/process-status.ts'
import { RequestBatches } from '#cluster/request-batches.ts'
import { RelayedPipe } from '#cluster/relayed-pipe.ts'
import type { RequestWatch } from '#cluster/request-watches.ts'
import { recordsOf } from '#cluster/shared-directory.ts'
import type { HostMessage, WorkerMessage } from '#cluster/worker-host.ts'
import type { DirectoryChange } from '#cluster/directory-copy.ts'
import type { Gateway } from '#gateway/gateway.ts'
import type { AgentCommand, TunnelRecord } from '#registry/directory.ts'
import type { ReplayOrder, RequestPage } from '#contract/request-history.ts'
import type { SourceChange, SourceRow } from '#registry/records/source.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'

/** A gateway process: it serves clients and agents, and asks the first process about all else. */
class Worker {
  readonly #log: Log
  readonly #link = new FirstProcessLink()
  #pipe: RelayedPipe | undefined
  #channel: Channel | undefined
  #epoch = 0
  #parent: ParentProcess | undefined
  #gateway: Gateway | undefined
  #drained: Promise<void> | undefined
  readonly #unwatch = new Map<number, () => void>()

  constructor(log: Log) {
    this.#log = log
  }

  /** Of the parent of this process, which relays the messages of the first process. */
  take(message: HostMessage): void {
    switch (message.is) {
      case 'attached':
        return this.#attached(message.epoch)
      case 'lost':
        return this.#lost()
      case 'message':
        if (message.epoch === this.#epoch) this.#pipe?.receive(message.body)
        return
      case 'drain':
        void inBackground({ task: 'workers', log: this.#log }, () => this.#drainAlone(message.deadlineMs))
    }
  }

  /** Reports an uncaught error to the first process; the log of this process has it. */
  readonly reportUncaught = (): void => this.#link.notify('uncaught', null)

  get #running(): Gateway {
    if (!this.#gateway) throw new Error('The worker has not started.')
    return this.#gateway
  }

  #attached(epoch: number): void {
    this.#lost()
    this.#epoch = epoch
    this.#pipe = new RelayedPipe(body => post({ epoch, body }))
    this.#channel = new Channel(this.#pipe, this.#options())
  }

  /** Clients and agents are served on; what the first process decides has to wait. */
  #lost(): void {
    if (this.#pipe === undefined) return
    for (const watch of this.#unwatch.keys()) this.#unwatchRequests(watch)
    this.#link.lost()
    this.#pipe.close()
    this.#pipe = undefined
    this.#channel = undefined
  }

  #options(): ChannelOptions {
    return {
      log: this.#log,
      methods: {
        start: (start: WorkerStart) => this.#start(start),
        state: async () => this.#state(),
        takeOver: async (start: WorkerStart) => this.#takeOver(start),
        quiesce: (deadlineMs: number) => this.#running.quiesce(deadlineMs),
        moveOut: (deadlineMs: number) => this.#running.moveOut(deadlineMs),
        drain: (deadlineMs: number) => this.#drain(deadlineMs),
        findRequest: async (id: string) => this.#running.requests.find(id),
        listRequests: async (page: RequestPage) => this.#running.requests.list(page),
        findCapture: async (id: string) => this.#running.captures.find(id),
        hasCapture: async (id: string) => this.#running.captures.has(id),
        replay: (order: ReplayOrder) => this.#running.replays.run(order),
        metrics: async () => this.#running.metrics.registry.snapshot(),
        explain: (request: Parameters<Gateway['explain']>[0]) => this.#running.explain(request),
        processReport: async () => processReport(),
        probe: (sessionId: string) => this.#running.registry.probe(sessionId),
        roundTrip: (sessionId: string) => this.#running.registry.roundTrip(sessionId),
        command: ({ sessionId, command }: { sessionId: string; command: AgentCommand }) =>
          this.#running.registry.command(sessionId, command),
      },
      notices: {
        takenOver: () => this.#openLink(),
        cluster: (view: ClusterView) => this.#clusterRead(view),
        revoke: (tunnel: TunnelRecord) => this.#gateway?.registry.revoke(tunnel),
        directory: (change: DirectoryChange) => this.#parent?.directory.apply(change),
        snapshot: (rows: readonly SourceRow[]) => this.#parent?.snapshot(rows),
        changes: (batch: readonly SourceChange[]) => this.#parent?.changes(batch),
        wantedTraffic: (wanted: WantedTraffic) => this.#parent?.wantedTraffic(wanted),
        reload: (changes: object) => this.#gateway?.reload(openedSettings(changes)),
        watchRequests: (watch: RequestWatch) => this.#watchRequests(watch),
        unwatchRequests: (watch: number) => this.#unwatchRequests(watch),
      },
    }
  }

  async #start(start: WorkerStart): Promise<Gateway['bound']> {
    this.#openLink()
    this.#parent = new ParentProcess(this.#link, start, this.#log)
    this.#gateway = await composeGateway(openedConfig(start.config), this.#parent)
    return this.#gateway.bound
  }

  #openLink(): void {
    if (this.#channel) this.#link.open(this.#channel)
  }

  get #known(): ParentProcess {
    if (!this.#parent) throw new Error('The worker has not started.')
    return this.#parent
  }

  #state(): WorkerState {
    const { bound, info } = this.#running
    const { kinds, directory } = this.#known
    return { bound, kinds, directory: recordsOf(directory, info.node) }
  }

  /** False: this worker has to be replaced, because it is of another release or needs a restart for new settings. */
  #takeOver({ config, directory, wantedTraffic, cluster }: WorkerStart): boolean {
    if (cluster) this.#known.otherNodes?.update(cluster)
    const { bound, info, registry } = this.#running
    const { directory: copy } = this.#known
    const own = recordsOf(copy, info.node).tunnels
    copy.replace(directory)
    for (const tunnel of own) if (!copy.tunnels.has(tunnel.id)) registry.revoke(tunnel)
    this.#known.wantedTraffic(wantedTraffic)
    const next = openedConfig(config).info
    const { changed, restart } = changedSettings(boundInfo(info, bound), next)
    this.#running.reload(picked(changed, next))
    return restart.length === 0 && next.version === info.version
  }

  #clusterRead(view: ClusterView): void {
    this.#parent?.otherNodes?.update(view)
    if (!this.#parent || !this.#gateway) return
    const counts: WorkerCounts = { clients: this.#gateway.clientConnections(), ...this.#parent.counts }
    this.#link.notify('counts', counts)
  }

  /** The first process repeats its watches once a worker has started, so those before are ignored. */
  #watchRequests({ watch, filters }: RequestWatch): void {
    if (this.#gateway === undefined || this.#unwatch.has(watch)) return
    const channel = this.#channel
    const batches = new RequestBatches(watch, async batch => channel?.request('requestsSeen', batch))
    this.#unwatch.set(watch, this.#gateway.requests.watch(filters, batches))
  }

  #unwatchRequests(watch: number): void {
    this.#unwatch.get(watch)?.()
    this.#unwatch.delete(watch)
  }

  /** The first process may end while it waits for this; its supervisor then asks again. */
  #drain(deadlineMs: number): Promise<void> {
    this.#drained ??= this.#close(deadlineMs)
    return this.#drained
  }

  async #close(deadlineMs: number): Promise<void> {
    await this.#gateway?.drain(deadlineMs)
    await this.#parent?.[Symbol.asyncDispose]()
  }

  /** There is no first process any more. */
  async #drainAlone(deadlineMs: number): Promise<void> {
    this.#lost()
    this.#link.close()
    await this.#drain(deadlineMs).finally(() => process.exit(0))
  }
}

const post = (message: WorkerMessage): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

// Validated by the first process.
const log = createLog((process.argv.at(-1) ?? 'info') as LogLevel)
returnStartMemory()
const worker = new Worker(log)
void new LastResort(log, worker.reportUncaught)
process.on('message', message => worker.take(message as HostMessage))
// Its parent has ended, or lets it end.
process.on('disconnect', () => process.exit(0))
// The first process decides when to stop; a terminal signals all processes at once.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
