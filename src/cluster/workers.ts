import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownNodeOptions } from '#base/own-program.ts'
import { inBackground, watchBackground } from '#base/background.ts'
import { mergeSnapshots, renderMetrics } from '#base/metrics-text.ts'
import { fail } from '#base/errors.ts'
import { Registry, type Snapshot } from '#base/metrics.ts'
import { watchLoop, watchProcess } from '#base/process-metrics.ts'
import type { GatewaySettings } from '#base/settings.ts'
import type { AgentCommand, SessionEnd, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { Gateway } from '#gateway/gateway.ts'
import { anyConnection } from '#registry/agent-connections.ts'
import {
  LiveView,
  type CaptureRecord,
  type ReplayOrder,
  type RequestHistory,
  type RequestPage,
  type RequestWatcher,
} from '#registry/live.ts'
import { LocalDirectory } from '#registry/local-directory.ts'
import { pageByIdDesc } from '#base/page-by-id.ts'
import { RecentNames } from '#gateway/routing/recent-names.ts'
import { Records } from '#registry/records/records.ts'
import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'
import type { TrafficBatch } from '#telemetry/traffic-events.ts'
import type { CodeClaim } from '#auth/sign-in/code-claims.ts'
import type { SignedInUser } from '#auth/sign-in/user-session-store.ts'
import { gatewayConfig, infoOf } from '#cluster/gateway-config.ts'
import type { GatewayParts, GatewayHandle } from '#cluster/gateway-handle.ts'
import { Channel } from '#cluster/channel.ts'
import { namesBefore, OnlineNamesFile } from '#cluster/online-names.ts'
import { StartError } from '#base/start-error.ts'
import { inTime } from '#cluster/in-time.ts'
import { nodeStatus, type NodeStatus } from '#cluster/process-status.ts'
import { workerProgram } from '#cluster/program.ts'
import { plainConfig, plainSettings, type WorkerStart } from '#cluster/protocol.ts'
import type { RequestBatch } from '#cluster/request-batches.ts'
import { RequestWatches, type RequestWatch } from '#cluster/request-watches.ts'
import type { DirectoryChange } from '#cluster/directory-copy.ts'

const RESTART_MS = 1000
// A drained worker exits with its pipe; this is for one that hangs.
const EXIT_MS = 2000

const nodeAt = (index: number): string => `w${index + 1}`

type ResourceBody = Record<string, unknown>

interface Worker {
  readonly node: string
  readonly child: ChildProcess
  readonly channel: Channel
  unwatch?: () => void
}

/** Gateways in separate processes, on the same ports; this process makes the common decisions. */
class Workers {
  readonly directory: LocalDirectory
  readonly #recent: RecentNames
  readonly #names: OnlineNamesFile
  readonly #parts: GatewayParts
  readonly #workers = new Map<string, Worker>()
  readonly #peerFolder = mkdtempSync(join(tmpdir(), 'adit-'))
  /** Of this process itself, whose CPU and memory count too. */
  readonly #own = new Registry()
  readonly #loop = watchLoop(this.#own)
  readonly #watches = new RequestWatches((name, argument) => this.#notifyAll(name, argument))
  #bound: Gateway['bound'] = {}
  #closing = false

  constructor(parts: GatewayParts) {
    this.#parts = parts
    this.directory = new LocalDirectory(parts.log)
    const { data_dir: dataDir } = parts.settings
    this.#recent = new RecentNames(this.directory, { before: namesBefore(dataDir) })
    this.#names = new OnlineNamesFile(dataDir, this.directory, parts.log)
    parts.traffic.watchSessions(this.directory)
    parts.traffic.onSubscriptionChange(wanted => {
      this.#notifyAll('wantedTraffic', wanted)
    })
    watchProcess(this.#own)
    watchBackground(this.#own)
    const notifyWorkers = (change: DirectoryChange): void => this.#notifyAll('directory', change)
    this.directory.watch({
      sessionAdded: session => notifyWorkers({ is: 'session_added', session }),
      sessionRemoved: session => notifyWorkers({ is: 'session_removed', session }),
      added: tunnel => notifyWorkers({ is: 'tunnel_added', tunnel }),
      removed: (tunnel, lost) => notifyWorkers({ is: 'tunnel_removed', tunnel, lost }),
    })
  }

  get bound(): Gateway['bound'] {
    return this.#bound
  }

  /** The first one determines ports that the system assigns; the others join it there. */
  async start(count: number): Promise<void> {
    this.#bound = await this.#spawn(nodeAt(0))
    const others = Array.from({ length: count - 1 }, (_, index) => nodeAt(index + 1))
    await Promise.all(others.map(node => this.#spawn(node)))
  }

  async ask<Result>(sessionId: string, method: string, argument: unknown): Promise<Result> {
    const node = this.directory.sessions.get(sessionId)?.node
    const worker = node === undefined ? undefined : this.#workers.get(node)
    return worker ? worker.channel.request(method, argument) : fail('not_found')
  }

  async command(sessionId: string, command: AgentCommand): Promise<void> {
    const session = anyConnection(this.directory.sessions, sessionId) ?? fail('not_found')
    return this.ask(session.id, 'command', { sessionId: session.id, command })
  }

  async metrics(): Promise<string> {
    const theirs = await this.#askAll<Snapshot>('metrics', null)
    return renderMetrics(mergeSnapshots([...theirs, this.#own.snapshot()]))
  }

  /** Those that start later get the new values with their start message. */
  reload(changes: Partial<GatewaySettings>): void {
    this.#notifyAll('reload', plainSettings(changes))
  }

  processes(): Promise<NodeStatus[]> {
    const nodes = Array.from({ length: this.#parts.settings.workers }, (_, index) => nodeAt(index))
    return Promise.all(nodes.map(node => nodeStatus(node, this.#workers.get(node)?.channel)))
  }

  /** All workers decide alike, so the first that responds is right. */
  readonly explain: Gateway['explain'] = async request => {
    for (const { channel } of this.#workers.values()) {
      const found = await inTime(channel.request<Awaited<ReturnType<Gateway['explain']>>>('explain', request))
      if (found !== undefined) return found
    }
    return fail('gateway_silent')
  }

  async findRequest(id: string): Promise<ResourceBody | undefined> {
    return (await this.#askAll<ResourceBody | undefined>('findRequest', id)).find(
      found => found !== undefined,
    )
  }

  async listRequests(page: RequestPage): Promise<ResourceBody[]> {
    const found = await this.#askAll<ResourceBody[]>('listRequests', page)
    return pageByIdDesc(found.flat(), ({ id }) => String(id), page)
  }

  async findCapture(id: string): Promise<CaptureRecord | undefined> {
    return (await this.#askAll<CaptureRecord | undefined>('findCapture', id)).find(
      found => found !== undefined,
    )
  }

  /** Only the process that has the capture sends it again. */
  async replay(order: ReplayOrder): Promise<CaptureRecord | undefined> {
    for (const { channel } of this.#workers.values()) {
      const isThere = await channel.request<boolean>('hasCapture', order.id).catch(() => false)
      if (isThere) return channel.request('replay', order)
    }
    return undefined
  }

  watchRequests(filters: RequestWatch['filters'], watcher: RequestWatcher): () => void {
    return this.#watches.add(filters, watcher)
  }

  #notifyAll(name: string, argument: unknown): void {
    for (const { channel } of this.#workers.values()) channel.notify(name, argument)
  }

  /** The results of responsive workers. */
  async #askAll<Result>(method: string, argument: unknown): Promise<Result[]> {
    const asked = [...this.#workers.values()].map(({ channel }) => channel.request<Result>(method, argument))
    const answered = await Promise.allSettled(asked)
    return answered.flatMap(it => (it.status === 'fulfilled' ? [it.value] : []))
  }

  async quiesce(deadlineMs: number): Promise<void> {
    this.#closing = true
    await this.#askAll('quiesce', deadlineMs)
  }

  async moveOut(deadlineMs: number): Promise<void> {
    this.#closing = true
    await this.#askAll('moveOut', deadlineMs)
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#closing = true
    await this.#names.close()
    this.#loop[Symbol.dispose]()
    await Promise.all([...this.#workers.values()].map(worker => this.#end(worker, deadlineMs)))
    rmSync(this.#peerFolder, { recursive: true, force: true })
  }

  async #end({ channel, child }: Worker, deadlineMs: number): Promise<void> {
    const exited = new Promise(resolve => child.once('exit', resolve))
    await channel.request('drain', deadlineMs).catch(() => undefined)
    if (child.connected) child.disconnect()
    const timer = setTimeout(() => child.kill('SIGKILL'), EXIT_MS)
    if (child.exitCode === null && child.signalCode === null) await exited
    clearTimeout(timer)
  }

  async #spawn(node: string): Promise<Gateway['bound']> {
    const { userSessions, uncaught, log, settings } = this.#parts
    const options = { serialization: 'advanced', execArgv: ownNodeOptions() } as const
    const child = fork(workerProgram(), [settings.log_level], options)
    const channel = new Channel(child, {
      log,
      methods: this.#methods(node),
      notices: {
        sessionActive: (session: { id: string; expiresAt: number }) =>
          userSessions.active(session.id, session.expiresAt),
        uncaught: () => uncaught(),
      },
    })
    const worker: Worker = { node, child, channel }
    this.#workers.set(node, worker)
    child.once('exit', code => this.#exited(worker, code))
    const bound = await channel.request<Gateway['bound']>('start', this.#startOf(node))
    for (const watch of this.#watches.all) channel.notify('watchRequests', watch)
    return bound
  }

  #methods(node: string) {
    const { directory } = this
    const { userSessions, traffic, usage } = this.#parts
    return {
      traffic: async (batch: TrafficBatch) => traffic.publish(batch),
      usage: async (counted: readonly SeriesUsage[]) => usage.add(counted),
      requestsSeen: async (batch: RequestBatch) => this.#watches.take(batch),
      signedIn: (signedIn: SignedInUser) => userSessions.signedIn(signedIn),
      sessionEnded: (id: string) => userSessions.ended(id),
      claimCode: (claim: CodeClaim) => userSessions.claimCode(claim),
      watch: async (kinds: readonly string[]) => this.#watch(node, kinds),
      addSession: (record: SessionRecord) => directory.addSession(record),
      removeSession: (session: { id: string; node: string; end?: SessionEnd }) =>
        directory.removeSession(session.id, session.node, session.end),
      addTunnel: (record: TunnelRecord) => directory.addTunnel(record),
      removeTunnel: (id: string) => directory.removeTunnel(id),
      probe: (sessionId: string) => this.ask<boolean>(sessionId, 'probe', sessionId),
      command: (order: { sessionId: string; command: AgentCommand }) =>
        this.command(order.sessionId, order.command),
    }
  }

  async #watch(node: string, kinds: readonly string[]): Promise<void> {
    const worker = this.#workers.get(node)
    if (!worker) return
    worker.unwatch = await this.#parts.source.watch(kinds, {
      snapshot: rows => worker.channel.notify('snapshot', rows),
      changes: batch => worker.channel.notify('changes', batch),
    })
  }

  #startOf(node: string): WorkerStart {
    const config = gatewayConfig(this.#parts, {
      node,
      recentNames: this.#recent.list(),
      bound: this.#bound,
    })
    const { sessions, tunnels } = this.directory
    return {
      config: plainConfig(config),
      wantedTraffic: this.#parts.traffic.wanted,
      peerFolder: this.#peerFolder,
      directory: [
        ...[...sessions.values()].map(session => ({ is: 'session_added', session }) as const),
        ...[...tunnels.values()].map(tunnel => ({ is: 'tunnel_added', tunnel }) as const),
      ],
    }
  }

  /** The state of a worker is lost with it; another one replaces it. */
  #exited(worker: Worker, code: number | null): void {
    worker.unwatch?.()
    // Its requests may still be in the pipe; they must not be executed.
    worker.channel.close()
    if (this.#workers.get(worker.node) === worker) this.#workers.delete(worker.node)
    this.directory.removeNode(worker.node)
    if (this.#closing || this.#bound === undefined) return
    this.#parts.log.error({ node: worker.node, code }, 'gateway process exited; restarting it')
    setTimeout(() => this.#again(worker.node), RESTART_MS)
  }

  #again(node: string): void {
    if (this.#closing) return
    const { log } = this.#parts
    const failed = 'gateway process could not be started'
    void inBackground({ task: 'workers', log, failed, about: { node } }, async () => {
      try {
        await this.#spawn(node)
      } catch (error) {
        // Its exit triggers a retry.
        this.#workers.get(node)?.child.kill('SIGKILL')
        throw error
      }
    })
  }
}

/** Runs the gateway in several processes. */
export async function startWorkers(parts: GatewayParts): Promise<GatewayHandle> {
  await using opened = new AsyncDisposableStack()
  const { settings, version, source } = parts
  let drainMs = 0
  const workers = opened.adopt(new Workers(parts), it => it.drain(drainMs))
  try {
    await workers.start(settings.workers)
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error))
  }
  const records = new Records(parts.log)
  opened.defer(await records.follow(source))
  const { directory, bound } = workers
  const info = {
    ...infoOf(settings, 'main', version),
    httpPort: bound.http && (settings.public_http_port ?? bound.http.port),
    httpsPort: bound.https && (settings.public_https_port ?? bound.https.port),
  }
  const requests: RequestHistory = {
    find: id => workers.findRequest(id),
    list: page => workers.listRequests(page),
    watch: (filters, watcher) => workers.watchRequests(filters, watcher),
    capture: id => workers.findCapture(id),
    replay: order => workers.replay(order),
  }
  const running = opened.move()
  return {
    live: new LiveView({
      info,
      directory,
      records,
      dialer: workers,
      requests,
      explain: workers.explain,
    }),
    bound,
    records,
    clientConnections: () => null,
    processes: () => workers.processes(),
    metrics: () => workers.metrics(),
    reload: changes => workers.reload(changes),
    quiesce: deadlineMs => workers.quiesce(deadlineMs),
    moveOut: deadlineMs => workers.moveOut(deadlineMs),
    drain(deadlineMs) {
      drainMs = deadlineMs
      return running.disposeAsync()
    },
  }
}
