import { createApi } from '#api/app.ts'
import type { PortRange } from '#api/call.ts'
import { nothingOnline } from '#api/live.ts'
import { createLog } from '#base/log.ts'
import { tokenHash } from '#base/secrets.ts'
import type { Settings } from '#base/settings.ts'
import { API_TOKENS } from '#api/behaviours/credentials.ts'
import { prepareDataFolder } from '#server/data-folder.ts'
import { findAccount, firstStart, openSealer, type FirstSecrets } from '#server/first-start.ts'
import { listen } from '#server/listen.ts'
import { startPruning } from '#server/prune.ts'
import { StartError } from '#server/start-error.ts'
import { openStore } from '#store/open.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'

/** Ports that are handed out when nobody asks for a particular one. */
const RANDOM_TCP_PORTS = { first: 20_000, last: 29_999 }

export interface Running {
  /** Where the API is reached from this machine; undefined when it is switched off. */
  readonly url: string | undefined
  /** Set on the first start only. */
  readonly first: FirstSecrets | undefined
  /** Things to tell the operator. */
  readonly warnings: readonly string[]
  /** Finishes what runs, then lets go of everything. */
  close(): Promise<void>
}

async function open(settings: Settings): Promise<Store> {
  try {
    return await openStore({ databaseUrl: settings.database_url, dataDir: settings.data_dir })
  } catch (error) {
    if (error instanceof StoreError) throw new StartError(error.message)
    throw error
  }
}

/** Starts the platform. */
export async function serve(settings: Settings): Promise<Running> {
  prepareDataFolder(settings.data_dir)
  const store = await open(settings)
  try {
    return await serveFrom(store, settings)
  } catch (error) {
    await store[Symbol.asyncDispose]()
    throw error
  }
}

async function serveFrom(store: Store, settings: Settings): Promise<Running> {
  const now = Date.now
  const sealer = await openSealer(store, settings)
  const account = await findAccount(store, now())
  const first = await firstStart(store, settings, now())
  const log = createLog(settings.log_level)
  const api = createApi({
    store,
    sealer,
    log,
    now,
    live: nothingOnline,
    rateLimit: settings.rate_limit,
    publicUrl: settings.api_url,
    ready: () => store.ping(),
    facts: {
      accountId: account.id,
      accountCreatedAt: account.createdAt,
      domain: settings.domain,
      region: settings.region,
      signInUrl: signInUrl(settings),
      tcpPorts: settings.tcp_ports,
      randomTcpPorts: randomPorts(settings),
    },
  })
  const url = settings.api_addr && (await listen(api, settings.api_addr, 'ADIT_API_ADDR'))
  const stopPruning = startPruning(store, log, now)
  return {
    url,
    first,
    warnings: await unknownFirstKey(store, settings),
    async close() {
      stopPruning()
      await api.close()
      await store[Symbol.asyncDispose]()
    },
  }
}

/** Of the ports that are handed out, those that may be used; if that leaves none, all that may. */
function randomPorts({ tcp_ports: allowed }: Settings): PortRange {
  const first = Math.max(RANDOM_TCP_PORTS.first, allowed.first)
  const last = Math.min(RANDOM_TCP_PORTS.last, allowed.last)
  return first <= last ? { first, last } : allowed
}

/** One address for signing in serves all endpoints, so an identity provider needs to know only one. */
function signInUrl({ domain, https_addr: https }: Settings): string {
  return `https://idp.${domain}${https === undefined || https.port === 443 ? '' : `:${https.port}`}`
}

/** A key given for the first start that is not in use may surprise: say so. */
async function unknownFirstKey(store: Store, { api_key: key }: Settings): Promise<string[]> {
  if (!key || (await store.holder({ namespace: API_TOKENS, value: tokenHash(key.reveal()) }))) return []
  return [
    'ADIT_API_KEY is not a key of this database: it counts only on the first start, when there is no user yet.',
  ]
}
