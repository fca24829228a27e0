import { API_TOKENS } from '#api/behaviours/credentials.ts'
import type { Degraded } from '#api/pages.ts'
import { inBackground } from '#base/background.ts'
import { prepareDataFolder } from '#base/data-folder.ts'
import type { Uncaught } from '#base/last-resort.ts'
import { createLog, type Log } from '#base/log.ts'
import { tokenHash } from '#base/secrets.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import { StartError } from '#base/start-error.ts'
import type { GatewayHandle } from '#cluster/gateway-handle.ts'
import { startInProcess } from '#cluster/in-process.ts'
import { startWorkers } from '#cluster/workers.ts'
import { openAuthority } from '#domains/acme.ts'
import type { Watching } from '#domains/domain-watch.ts'
import { sharedDomain } from '#domains/shared-domain.ts'
import { type ControlPlane, openControlPlane } from '#server/control-plane.ts'
import { openEvents } from '#server/events.ts'
import { findAccount, firstStart, openSealer, type FirstSecrets } from '#server/first-start.ts'
import { openParts } from '#server/gateway-parts.ts'
import { ServerMetrics } from '#server/metrics.ts'
import { Readiness } from '#server/readiness.ts'
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
  /** Set on the first start only. */
  readonly first: FirstSecrets | undefined
  /** Warnings for the operator. */
  readonly warnings: readonly string[]
  /** A successor is about to start: it uses the same database and ports until this one is closed. */
  share(): void
  /** The successor did not start. Never rejects. */
  unshare(): Promise<void>
  /** Finishes running requests and releases everything; with a successor, agents move to it as soon as they can. */
  close(options?: { readonly successor?: boolean }): Promise<void>
}

/** How a server starts beside its predecessor. */
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
    if (error instanceof StoreError) throw new StartError(error.message)
    throw error
  }
}

/** Uncaught errors, including those of workers. */
export interface Uncaughts {
  readonly uncaught: Uncaught
  note(): void
}

const NONE: Uncaughts = { uncaught: { count: 0, last: undefined }, note: () => undefined }

/** How the process that starts the platform came about. */
export interface Beginning {
  readonly uncaughts?: Uncaughts
  /** Set if the process replaces a running one. */
  readonly succession?: Succession | undefined
}

/** Starts the platform. Worker processes write their own logs, to standard error. */
export async function serve(
  settings: Settings,
  log = createLog(settings.log_level),
  { uncaughts = NONE, succession }: Beginning = {},
): Promise<Running> {
  // Closed in reverse order, by `close` or when a step of the start fails.
  await using opened = new AsyncDisposableStack()
  prepareDataFolder(settings.data_dir)
  const metrics = new ServerMetrics(() => uncaughts.uncaught.count)
  const store = opened.use(await open(settings, metrics.store, succession !== undefined))
  const ready = readinessOf(settings, { store, metrics, uncaughts })
  const sharing = new Sharing({ store, log, isShared: succession !== undefined })
  const sharesPorts = sharing.isShared
  const sealer = await openSealer(store, settings)
  const account = await findAccount(store, Date.now())
  const first = await firstStart(store, settings, Date.now())
  const authority = openAuthority(settings)
  const common = { settings, log, store, sealer, now: Date.now }
  const userSessions = new UserSessions(common)
  // Closed after the gateway, so that its last events are sent too.
  const events = opened.adopt(
    openEvents({ ...common, accountId: account.id, isShared: sharing.isShared }),
    it => it.close(),
  )
  const usage = opened.use(new UsageRecorder(common))
  const parts = await openParts(store, sealer, {
    settings,
    version: metadata.version,
    userSessions,
    traffic: events.traffic,
    usage,
    uncaught: () => uncaughts.note(),
    sharesPorts,
    log,
  })
  const { source } = parts
  metrics.follow(source)
  // Disconnected agents retry only a few times at once, so as little as possible comes after this.
  const gateway = opened.adopt(
    await (settings.workers > 1 ? startWorkers(parts) : startInProcess(parts)),
    it => it.drain(0),
  )
  const serving = { account, authority, source, gateway, events, userSessions, metrics, ready, sharesPorts }
  const control = await openControlPlane({ ...common, ...serving, usage, version: metadata.version })
  let leave = async (): Promise<void> => undefined
  opened.defer(async () => {
    await Promise.all([control.close(), leave()])
  })
  await Promise.all([events.start(), ...(succession ? [] : [control.startMaintenance()])])
  if (succession) takeOver(succession, { sharing, control, log })
  const own = sharedDomain({ settings, store, https: gateway.bound.https, dns: control.dns.bound })
  const warnings = [...(await unknownFirstKey(store, settings)), ...control.dns.warnings]
  const running = opened.move()
  return {
    url: control.url,
    bound: gateway.bound,
    dns: control.dns.bound,
    advice: own.advice,
    watchDomain: options => own.watch(options),
    first,
    warnings,
    share: () => sharing.share(),
    unshare: () => sharing.unshare(),
    close({ successor = false } = {}) {
      leave = () => (successor ? gateway.moveOut(MOVE_OUT_MS) : gateway.quiesce(DRAIN_MS))
      return running.disposeAsync()
    },
  }
}

interface ReadinessParts {
  readonly store: Store
  readonly metrics: ServerMetrics
  readonly uncaughts: Uncaughts
}

function readinessOf(
  settings: Settings,
  { store, metrics, uncaughts }: ReadinessParts,
): () => Promise<readonly Degraded[]> {
  const readiness = new Readiness({
    store,
    folder: settings.database_url === undefined ? settings.data_dir : undefined,
    uncaught: () => uncaughts.uncaught,
  })
  metrics.onFull(() => readiness.storeFull())
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
