import { createLog, type Log } from '#base/log.ts'
import type { LogLevel } from '#base/log-levels.ts'
import { LastResort } from '#base/last-resort.ts'
import { returnStartMemory } from '#base/start-memory.ts'
import { Channel } from '#cluster/channel.ts'
import { composeGateway } from '#cluster/compose-gateway.ts'
import { ParentProcess } from '#cluster/parent-process.ts'
import { openedConfig, openedSettings, type WorkerStart } from '#cluster/protocol.ts'
import { processReport } from '#cluster/process-status.ts'
import { RequestBatches } from '#cluster/request-batches.ts'
import type { RequestWatch } from '#cluster/request-watches.ts'
import type { DirectoryChange } from '#cluster/directory-copy.ts'
import type { Gateway } from '#gateway/gateway.ts'
import type { AgentCommand } from '#registry/directory.ts'
import type { ReplayOrder, RequestPage } from '#registry/live.ts'
import type { SourceChange, SourceRow } from '#registry/records/source.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'

/** A gateway process: it serves clients and agents, and asks the first process about all else. */
class Worker {
  readonly #channel: Channel
  readonly #log: Log
  #parent: ParentProcess | undefined
  #gateway: Gateway | undefined
  readonly #unwatch = new Map<number, () => void>()

  constructor(log: Log) {
    this.#log = log
    this.#channel = new Channel(process, {
      log,
      methods: {
        start: (start: WorkerStart) => this.#start(start),
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
        command: ({ sessionId, command }: { sessionId: string; command: AgentCommand }) =>
          this.#running.registry.command(sessionId, command),
      },
      notices: {
        directory: (change: DirectoryChange) => this.#parent?.directory.apply(change),
        snapshot: (rows: readonly SourceRow[]) => this.#parent?.snapshot(rows),
        changes: (batch: readonly SourceChange[]) => this.#parent?.changes(batch),
        wantedTraffic: (wanted: WantedTraffic) => this.#parent?.wantedTraffic(wanted),
        reload: (changes: object) => this.#gateway?.reload(openedSettings(changes)),
        watchRequests: (watch: RequestWatch) => this.#watchRequests(watch),
        unwatchRequests: (watch: number) => this.#unwatchRequests(watch),
      },
    })
  }

  /** Reports an uncaught error to the first process; the log of this process has it. */
  readonly reportUncaught = (): void => this.#channel.notify('uncaught', null)

  get #running(): Gateway {
    if (!this.#gateway) throw new Error('The worker has not started.')
    return this.#gateway
  }

  async #start(start: WorkerStart): Promise<Gateway['bound']> {
    this.#parent = new ParentProcess(this.#channel, start, this.#log)
    this.#gateway = await composeGateway(openedConfig(start.config), this.#parent)
    return this.#gateway.bound
  }

  /** The first process repeats its watches once a worker has started, so those before are ignored. */
  #watchRequests({ watch, filters }: RequestWatch): void {
    if (this.#gateway === undefined || this.#unwatch.has(watch)) return
    const batches = new RequestBatches(watch, batch => this.#channel.request('requestsSeen', batch))
    this.#unwatch.set(watch, this.#gateway.requests.watch(filters, batches))
  }

  #unwatchRequests(watch: number): void {
    this.#unwatch.get(watch)?.()
    this.#unwatch.delete(watch)
  }

  async #drain(deadlineMs: number): Promise<void> {
    await this.#gateway?.drain(deadlineMs)
    await this.#parent?.[Symbol.asyncDispose]()
  }
}

// Validated by the first process.
const log = createLog((process.argv.at(-1) ?? 'info') as LogLevel)
returnStartMemory()
const worker = new Worker(log)
void new LastResort(log, worker.reportUncaught)
// Without the first process a worker is useless; it is restarted with it.
process.on('disconnect', () => process.exit(0))
// The first process decides when to stop; a terminal signals all processes at once.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
