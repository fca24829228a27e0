import { createApi } from '#api/app.ts'
import type { HttpServer } from '#api/http-server.ts'
import { inBackground } from '#base/background.ts'
import { type SharesPorts, cannotListen } from '#base/listen-on.ts'
import { createLog, type Log } from '#base/log.ts'
import { tokenHash } from '#base/secrets.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import { API_TOKENS } from '#api/behaviours/credentials.ts'
import { openAcme, openAuthority } from '#domains/acme.ts'
import { NO_AUTHORITY } from '#domains/acme/no-authority.ts'
import { prepareDataFolder } from '#base/data-folder.ts'
import { findAccount, firstStart, openSealer, type FirstSecrets } from '#server/first-start.ts'
import { openExpiry } from '#domains/expiry/expiry-watch.ts'
import type { GatewayHandle } from '#cluster/gateway-handle.ts'
import { startInProcess } from '#cluster/in-process.ts'
import { openParts } from '#server/gateway-parts.ts'
import type { Uncaught } from '#base/last-resort.ts'
import { Readiness } from '#server/readiness.ts'
import { startWorkers } from '#cluster/workers.ts'
import { openEvents } from '#server/events.ts'
import { startDns } from '#domains/dns.ts'
import type { Watching } from '#domains/domain-watch.ts'
import { ServerMetrics } from '#server/metrics.ts'
import { randomPorts } from '#cluster/ports.ts'
import { startPruning } from '#server/prune.ts'
import { httpsUrl, sharedDomain } from '#domains/shared-domain.ts'
import { UserSessions } from '#server/user-sessions.ts'
import { StartError } from '#base/start-error.ts'
import { openStore } from '#store/open.ts'
import type { StoreObserver } from '#store/measured-engine.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'
import metadata from '../../package.json' with { type: 'json' }

/** Running requests may take this long to finish. */
export const DRAIN_MS = 30_000
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
  prepareDataFolder(settings.data_dir)
  const metrics = new ServerMetrics(() => uncaughts.uncaught.count)
  const store = await open(settings, metrics.store, succession !== undefined)
  try {
    return await serveFrom(store, settings, { metrics, log, uncaughts, succession })
  } catch (error) {
    await store[Symbol.asyncDispose]()
    throw error
  }
}

interface Surroundings {
  readonly metrics: ServerMetrics
  readonly log: Log
  readonly uncaughts: Uncaughts
  readonly succession: Succession | undefined
}

async function serveFrom(
  store: Store,
  settings: Settings,
  { metrics, log, uncaughts, succession }: Surroundings,
): Promise<Running> {
  const now = Date.now
  const readiness = new Readiness({
    store,
    folder: settings.database_url === undefined ? settings.data_dir : undefined,
    uncaught: () => uncaughts.uncaught,
  })
  metrics.onFull(() => readiness.storeFull())
  let isShared = succession !== undefined
  const sealer = await openSealer(store, settings)
  const account = await findAccount(store, now())
  const first = await firstStart(store, settings, now())
  const authority = openAuthority(settings)
  const userSessions = new UserSessions({ store, sealer, log, now })
  const events = openEvents({
    settings,
    store,
    sealer,
    accountId: account.id,
    log,
    now,
    isShared: () => isShared,
  })
  const sharesPorts = (): boolean => isShared
  const parts = await openParts(store, sealer, {
    settings,
    version: metadata.version,
    userSessions: userSessions,
    traffic: events.traffic,
    uncaught: () => uncaughts.note(),
    sharesPorts,
    log,
  })
  metrics.follow(parts.source)
  const gateway = await (settings.workers > 1 ? startWorkers(parts) : startInProcess(parts))
  const dns = await startDns(settings, parts.source, { log, sharesPorts }).catch(async (error: unknown) => {
    await gateway.drain(0)
    throw error
  })
  const deps = {
    store,
    sealer,
    now,
    live: events.live(gateway.live),
    info: {
      accountId: account.id,
      accountCreatedAt: account.createdAt,
      domain: settings.domain,
      region: settings.region,
      // One sign-in callback serves all endpoints, so an identity provider needs only one URL.
      signInUrl: httpsUrl(`idp.${settings.domain}`, settings, gateway.bound.https),
      tcpPorts: settings.tcp_ports,
      randomTcpPorts: randomPorts(settings),
      ...(authority === undefined && { notIssuing: NO_AUTHORITY }),
    },
  }
  const acme = openAcme({ settings, client: authority, api: deps, source: parts.source, log })
  const expiry = openExpiry({ api: deps, source: parts.source, log })
  const api = createApi({
    ...deps,
    log,
    rateLimit: settings.rate_limit,
    publicUrl: settings.api_url,
    ready: () => readiness.check(),
    metrics: async () =>
      (await gateway.metrics()) + metrics.text() + dns.metrics() + acme.metrics() + events.metrics(),
    answered: metrics.answered,
  })
  const url = await listen(api, settings, sharesPorts).catch(async (error: unknown) => {
    dns.close()
    await gateway.drain(0)
    throw error
  })
  const { audit_days: auditDays } = settings
  const base = settings.api_url ?? url ?? ''
  let stopPruning = (): void => undefined
  let isClosing = false
  /** What only one process may do. */
  const startWork = async (): Promise<void> => {
    if (isClosing) return
    stopPruning = startPruning({
      store,
      signIns: userSessions,
      auditDays,
      delivered: () => events.needed(),
      log,
      now,
    })
    await Promise.all([acme.start(base), expiry.start(base)])
  }
  let work: Promise<void> = succession ? Promise.resolve() : startWork()
  const starting = Promise.all([work, events.start()])
  await starting.catch(async (error: unknown) => {
    stopPruning()
    dns.close()
    await Promise.all([api.close(), expiry.close(), gateway.drain(0), events.close()])
    throw error
  })
  const takeOver = async ({ released }: Succession): Promise<void> => {
    await released
    await store.own()
    isShared = false
    log.info({}, 'the previous process has ended its work')
    await (work = startWork())
  }
  if (succession) {
    const failed = 'the work of the previous process cannot be taken over'
    void inBackground({ task: 'restart', log, failed }, () => takeOver(succession))
  }
  const own = sharedDomain({ settings, store, https: gateway.bound.https, dns: dns.bound })
  return {
    url,
    bound: gateway.bound,
    dns: dns.bound,
    advice: own.advice,
    watchDomain: options => own.watch(options),
    first,
    warnings: [...(await unknownFirstKey(store, settings)), ...dns.warnings],
    share() {
      isShared = true
      store.share()
    },
    unshare: () =>
      inBackground({ task: 'restart', log }, async () => {
        await store.own()
        isShared = false
      }),
    async close({ successor = false } = {}) {
      isClosing = true
      await work.catch(() => undefined)
      stopPruning()
      dns.close()
      const quiet = successor ? gateway.moveOut(MOVE_OUT_MS) : gateway.quiesce(DRAIN_MS)
      await Promise.all([acme.close(), expiry.close(), api.close(), quiet])
      // Disconnected agents retry only a few times at once, so as little as possible comes after this.
      await gateway.drain(0)
      // Last, so that events until then are sent too.
      await events.close()
      await store[Symbol.asyncDispose]()
    },
  }
}

async function listen(
  api: HttpServer,
  { api_addr: address }: Settings,
  sharesPorts: SharesPorts,
): Promise<string | undefined> {
  if (address === undefined) return undefined
  try {
    return await api.listen(address, sharesPorts)
  } catch (error) {
    throw cannotListen(error, address, 'ADIT_API_ADDR')
  }
}

/** An unused key for the first start may surprise: warn about it. */
async function unknownFirstKey(store: Store, { api_key: key }: Settings): Promise<string[]> {
  if (!key || (await store.holder({ namespace: API_TOKENS, value: tokenHash(key.reveal()) }))) return []
  return [
    'ADIT_API_KEY is not a key of this database: it is used only at the first start, when there is no user yet.',
  ]
}
