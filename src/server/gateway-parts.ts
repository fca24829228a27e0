import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newId } from '#base/ids.ts'
import type { Sealer } from '#base/secrets.ts'
import { StartError } from '#base/start-error.ts'
import { Cluster } from '#cluster/nodes/cluster.ts'
import { type GatewayParts, hasWorkers } from '#cluster/gateway-handle.ts'
import type { WorkerHost } from '#cluster/worker-host.ts'
import { publicAddresses } from '#domains/dns.ts'
import { openGatewayKeys } from '#server/gateway-keys.ts'
import { openLocalRoot } from '#server/local-authority.ts'
import { RecordSource } from '#server/record-source.ts'
import { openNodeStore } from '#store/postgres-cluster.ts'
import type { Store } from '#store/store.ts'

/** Other nodes connect to the port of a node until the process that they need accepts. */
const MAX_WORKERS = 16

/** Opens what a gateway needs of the store. */
export async function openParts(
  store: Store,
  sealer: Sealer,
  {
    settings,
    version,
    ...rest
  }: Pick<
    GatewayParts,
    | 'settings'
    | 'version'
    | 'apiSocket'
    | 'userSessions'
    | 'traffic'
    | 'usage'
    | 'uncaught'
    | 'sharesPorts'
    | 'workerHost'
    | 'log'
  >,
): Promise<GatewayParts & { readonly source: RecordSource }> {
  const source = new RecordSource({ store, sealer, log: rest.log })
  store.onCommit(revision => source.notify(revision))
  const root = await openLocalRoot({ store, sealer, dataDir: settings.data_dir })
  const keys = await openGatewayKeys(store, sealer)
  const cluster = await openCluster({ settings, version, root, source, ...rest })
  return { settings, version, ...rest, source, root, keys, cluster }
}

/** Joins the cluster of the database, if this server has a listener for the other nodes. */
async function openCluster({
  settings,
  source,
  workerHost,
  ...rest
}: Pick<GatewayParts, 'settings' | 'version' | 'root' | 'sharesPorts' | 'workerHost' | 'log'> & {
  readonly source: RecordSource
}): Promise<Cluster | undefined> {
  if (settings.peer_addr === undefined) {
    if (settings.peer_url === undefined) return undefined
    throw new StartError(
      'ADIT_PEER_URL is where other nodes reach the listener of ADIT_PEER_ADDR: set that too, or remove it',
    )
  }
  if (settings.workers > MAX_WORKERS)
    throw new StartError(`a node of a cluster has at most ${MAX_WORKERS} workers: reduce ADIT_WORKERS`)
  if (settings.database_url === undefined)
    throw new StartError('a cluster needs PostgreSQL: set ADIT_DATABASE_URL, or remove ADIT_PEER_ADDR')
  return Cluster.open({
    ...rest,
    settings,
    id: nodeId(workerHost),
    hasWorkers: hasWorkers({ settings, workerHost }),
    store: openNodeStore(settings.database_url),
    publicAddresses: publicAddresses(settings),
    resourcesChanged: () => source.notify(),
  })
}

/** With a supervisor the id stays the same, so that workers can be taken over. */
function nodeId(host: WorkerHost | undefined): string {
  const id = newId('nd')
  if (host === undefined) return id
  const path = join(host.folder, 'node')
  if (existsSync(path)) return readFileSync(path, 'utf8')
  writeFileSync(path, id)
  return id
}
