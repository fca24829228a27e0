import type { Sealer } from '#base/secrets.ts'
import { StartError } from '#base/start-error.ts'
import { Cluster } from '#cluster/nodes/cluster.ts'
import type { GatewayParts } from '#cluster/gateway-handle.ts'
import { publicAddresses } from '#domains/dns.ts'
import { openGatewayKeys } from '#server/gateway-keys.ts'
import { openLocalRoot } from '#server/local-authority.ts'
import { RecordSource } from '#server/record-source.ts'
import { openNodeStore } from '#store/postgres-cluster.ts'
import type { Store } from '#store/store.ts'

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
  store.onCommit(() => source.notify())
  const root = await openLocalRoot({ store, sealer, dataDir: settings.data_dir })
  const keys = await openGatewayKeys(store, sealer)
  const cluster = await openCluster({ settings, version, root, source, ...rest })
  return { settings, version, ...rest, source, root, keys, cluster }
}

/** Joins the cluster of the database, if this server has a listener for the other nodes. */
async function openCluster({
  settings,
  source,
  ...rest
}: Pick<GatewayParts, 'settings' | 'version' | 'root' | 'sharesPorts' | 'log'> & {
  readonly source: RecordSource
}): Promise<Cluster | undefined> {
  if (settings.peer_addr === undefined) return undefined
  if (settings.workers > 1)
    throw new StartError(
      'a node of a cluster has one gateway process: remove ADIT_WORKERS, or set it to 1; or remove ADIT_PEER_ADDR',
    )
  if (settings.database_url === undefined)
    throw new StartError('a cluster needs PostgreSQL: set ADIT_DATABASE_URL, or remove ADIT_PEER_ADDR')
  return Cluster.open({
    ...rest,
    settings,
    store: openNodeStore(settings.database_url),
    publicAddresses: publicAddresses(settings),
    resourcesChanged: () => source.notify(),
  })
}
