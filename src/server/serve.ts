import { API_TOKENS } from '#api/behaviours/credentials.ts'
import type { Degraded } from '#api/pages.ts'
import { inBackground } from '#base/background.ts'
import type { SettingChanges } from '#base/changed-settings.ts'
import { prepareDataFolder } from '#base/data-folder.ts'
import type { Uncaught } from '#base/last-resort.ts'
import { createLog, type Log } from '#base/log.ts'
import { tokenHash } from '#base/secrets.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import { StartError } from '#base/start-error.ts'
import { type GatewayHandle, type GatewayParts, hasWorkers } from '#cluster/gateway-handle.ts'
import type { Cluster } from '#cluster/nodes/cluster.ts'
import { startInProcess } from '#cluster/in-process.ts'
import type { WorkerHost } from '#cluster/worker-host.ts'
import { startWorkers } from '#cluster/start-workers.ts'
import { openAuthority } from '#domains/acme.ts'
import type { Watching } from '#domains/domain-watch.ts'
import { sharedDomain } from '#domains/shared-domain.ts'
import { newApiSocket } from '#server/api-socket.ts'
import { type ControlPlane, openControlPlane } from '#server/control-plane.ts'
import { openEvents } from '#server/events.ts'
import { findAccount, firstStart, openSealer, type FirstSecrets } from '#server/first-start.ts'
import { openParts } from '#server/gateway-parts.ts'

import { ServerMetrics } from '#server/metrics.ts'
import { outsideCluster } from '#server/outside-cluster.ts'
import { Readiness } from '#server/readiness.ts'
import type { SettingsReading, SettingSourceMap } from '#base/read-settings.ts'
import { reloading } from '#server/reload.ts'
import { Sharing } from '#server/sharing.ts'
import { UsageRecorder } from '#server/usage/usage-recorder.ts'
import { UserSessions } from '#server/user-sessions.ts'
import type { StoreObserver } from '#store/measured-engine.ts'
import { openStore } from '#store/open.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'
import metadata from '../../package.json' with { type: 'json' }

/** Running requests may take this long to finish. */
const DRAIN_MS = 30_000
/** The same when a successor is ready: until then its clients do not reach agents that are still used here. */
const MOVE_OUT_MS = 5000

/** Agents of a draining node may take this long to connect elsewhere, and its requests that long to finish. */
const AGENTS_MOVE_MS = 10_000
const NODE_DRAIN_MS = 20_000

export interface Running {
  /** The API address for this machine; undefined when it is off. */
  readonly url: string | undefined
  /** Where the gateway listens. */
  readonly bound: GatewayHandle['bound']
  /** Where the DNS server listens; undefined when it is switched off. */
  readonly dns: AddressSetting | undefined
  /** DNS records to set, for people; empty when none are needed. */
  readonly advice: readonly string[]
  /** Reports progress until the domain is served. */
  watchDomain(options: Watching): Promise<void>
  /** Resolves when this node of a cluster was asked to drain; never otherwise. */
  readonly drainRequested: Promise<void>
  /** Set on the first start only. */
  readonly first: FirstSecrets | undefined
  /** Warnings for the operator. */
  readonly warnings: readonly string[]
  /** Reads the settings again and applies what can be applied; rejects if they are invalid. */
  reload(): Promise<SettingChanges>
  /** A successor is about to start: it uses the same database and ports until this one is closed. */
  share(): void
  /** The successor did not start. Never rejects. */
  unshare(): Promise<void>
  /** Finishes running requests and releases everything; with a successor, agents move to it as soon as they can. */
  close(options?: { readonly successor?: boolean }): Promise<void>
}

/** How a server starts while its predecessor runs. */
export interface Succession {
  /** Resolves when the other server has released everything. */
  readonly released: Promise<void>
}

async function open(settings: Settings, observer: StoreObserver, shared: boolean): Promise<Store> {
  try {
    return await openStore({
      databaseUrl: settings.database_url,
      dataDir: settings.data_dir,
      observer,
      shared,
    })
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const isOwnDisk = error.code === 'full' && settings.database_url === undefined
    const advice = isOwnDisk ? ` Free some space for ${settings.data_dir} (ADIT_DATA_DIR)` : ''
    throw new StartError(`${error.message}${advice}`)
  }
}

/** Uncaught errors, including those of workers. */
interface Uncaughts {
  readonly uncaught: Uncaught
  note(): void
}

const NONE: Uncaughts = { uncaught: { count: 0, last: undefined }, note: () => undefined }

/** How the process that starts the platform came about. */
interface Beginning {
  /** Where the settings come from. */
  readonly sources?: SettingSourceMap
  /** Reads the settings again; by default they never change. */
  readonly readAgain?: () => SettingsReading
  readonly uncaughts?: Uncaughts
  /** Set if the process replaces a running one. */
  readonly succession?: Succession | undefined
  /** Set if the process has a supervisor. */
  readonly workerHost?: WorkerHost | undefined
}

/** Starts the platform. Worker processes write their own logs, to standard error. */
export async function serve(
  given: Settings,
  log = createLog(given.log_level),
  { uncaughts = NONE, succession, workerHost, sources: givenSources = {}, readAgain }: Beginning = {},
): Promise<Running> {
  // A reload changes this copy.
  const settings = { ...given }
  const sources = { ...givenSources }
  // Closed in reverse order, by `close` or when a step of the start fails.
  await using opened = new AsyncDisposableStack()
  prepareDataFolder(settings.data_dir)
  const metrics = new ServerMetrics(() => uncaughts.uncaught.count)
  const store = opened.use(await open(settings, metrics.store, succession !== undefined))
  const sharing = new Sharing({ store, log, isShared: succession !== undefined })
  const sealer = await openSealer(store, settings)
  const account = await findAccount(store, Date.now())
  const first = await firstStart(store, settings, Date.now())
  const authority = openAuthority(settings)
  const common = { settings, log, store, sealer, now: Date.now, sharesPorts: sharing.isShared }
  const userSessions = new UserSessions(common)
  // Closed after the gateway, so that its last events are sent too.
  const events = opened.adopt(
    openEvents({ ...common, accountId: account.id, isShared: sharing.isShared }),
    it => it.close(),
  )
  const usage = opened.use(
    new UsageRecorder({ ...common, endpoints: metrics.endpoints(settings.metrics_endpoints) }),
  )
  const apiSocket = opened.use(newApiSocket(settings, workerHost?.folder)).path
  const parts = await openParts(store, sealer, {
    settings,
    apiSocket,
    version: metadata.version,
    userSessions,
    traffic: events.traffic,
    usage,
    uncaught: () => uncaughts.note(),
    sharesPorts: sharing.isShared,
    workerHost,
    log,
  })
  const { source, cluster } = parts
  // Closed after the gateway, whose clients need the other nodes.
  if (cluster) opened.use(cluster)
  metrics.follow(source)
  // Disconnected agents retry only a few times at once, so as little as possible comes after this.
  const gateway = opened.adopt(await startGateways(parts), it => it.drain(0))
  if (cluster) metrics.followCluster(cluster, () => gateway.clientConnections() ?? 0)
  const ready = readinessOf(settings, { store, metrics, uncaughts, cluster })
  const read = readAgain ?? (() => ({ settings: given, sources: givenSources }))
  const reload = reloading({ settings, sources, read, gateway, log })
  const serving = { account, authority, source, gateway, events, userSessions, metrics, ready, cluster }
  const version = metadata.version
  const about = { sources, version }
  const control = await openControlPlane({ ...common, ...serving, ...about, reload, usage, apiSocket })
  const exit = exitOf({ cluster, gateway, control, acceptMs: settings.drain_wait * 1000 })
  opened.defer(() => exit.run())
  await Promise.all([events.start(), ...(succession ? [] : [control.startMaintenance()])])
  if (succession) takeOver(succession, { sharing, control, log })
  const own = sharedDomain({ settings, store, https: gateway.bound.https, dns: control.dns.bound })
  const notes = [...(await unknownFirstKey(store, settings)), ...(await outsideCluster(settings))]
  const running = opened.move()
  return {
    url: control.url,
    bound: gateway.bound,
    dns: control.dns.bound,
    advice: own.advice,
    watchDomain: options => own.watch(options),
    drainRequested: cluster?.drainRequested ?? new Promise(() => undefined),
    first,
    warnings: [...notes, ...control.dns.warnings],
    reload,
    share: () => sharing.share(),
    unshare: () => sharing.unshare(),
    close({ successor = false } = {}) {
      exit.begin(successor)
      return running.disposeAsync()
    },
  }
}

interface ExitParts {
  readonly cluster: Cluster | undefined
  readonly gateway: GatewayHandle
  readonly control: ControlPlane
  /** How long a node accepts clients after it has announced that it leaves. */
  readonly acceptMs: number
}

/** How clients and agents leave; without `begin`, because the start has failed, there are none. */
function exitOf({ cluster, gateway, control, acceptMs }: ExitParts) {
  let leave = async (): Promise<void> => undefined
  return {
    begin(successor: boolean): void {
      leave = async () => {
        if (cluster) return drainNode(cluster, gateway, successor ? 0 : acceptMs)
        await (successor ? gateway.moveOut(MOVE_OUT_MS) : gateway.quiesce(DRAIN_MS))
      }
    },
    async run(): Promise<void> {
      // The API of a draining node reports it to load balancers until its clients have gone.
      if (cluster) await leave()
      await Promise.all([control.close(), cluster ? undefined : leave()])
    },
  }
}

/** Other nodes take over: agents have another connection there, or reconnect there. */
async function drainNode(cluster: Cluster, gateway: GatewayHandle, acceptMs: number): Promise<void> {
  await cluster.startDrain()
  await Promise.all([cluster.whenAgentsHaveMoved(AGENTS_MOVE_MS), cluster.whenClientsHaveMoved(acceptMs)])
  await gateway.moveOut(NODE_DRAIN_MS)
}

const startGateways = (parts: GatewayParts): Promise<GatewayHandle> =>
  hasWorkers(parts) ? startWorkers(parts) : startInProcess(parts)

interface ReadinessParts {
  readonly cluster: Cluster | undefined
  readonly store: Store
  readonly metrics: ServerMetrics
  readonly uncaughts: Uncaughts
}

function readinessOf(
  settings: Settings,
  { store, metrics, uncaughts, cluster }: ReadinessParts,
): () => Promise<readonly Degraded[]> {
  const readiness = new Readiness({
    store,
    folder: settings.database_url === undefined ? settings.data_dir : undefined,
    uncaught: () => uncaughts.uncaught,
    isDraining: () => cluster?.membership.isDraining ?? false,
  })
  metrics.onWriteRefused(refusal => readiness.writeRefused(refusal))
  return () => readiness.check()
}

interface TakeOverParts {
  readonly sharing: Sharing
  readonly control: ControlPlane
  readonly log: Log
}

/** Does the work of the previous process, once that has ended. */
function takeOver({ released }: Succession, { sharing, control, log }: TakeOverParts): void {
  const failed = 'the work of the previous process cannot be taken over'
  void inBackground({ task: 'restart', log, failed }, async () => {
    await released
    await sharing.own()
    log.info({}, 'the previous process has ended its work')
    await control.startMaintenance()
  })
}

/** An unused key for the first start may surprise: warn about it. */
async function unknownFirstKey(store: Store, { api_key: key }: Settings): Promise<string[]> {
  if (!key || (await store.holder({ namespace: API_TOKENS, value: tokenHash(key.reveal()) }))) return []
  return [
    'ADIT_API_KEY is not a key of this database: it is used only at the first start, when there is no user yet.',
  ]
}
