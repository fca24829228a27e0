import type { Sealer } from '#base/secrets.ts'
import type { GatewayParts } from '#cluster/gateway-handle.ts'
import { openGatewayKeys } from '#server/gateway-keys.ts'
import { openLocalRoot } from '#server/local-authority.ts'
import { RecordSource } from '#server/record-source.ts'
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
    'settings' | 'version' | 'userSessions' | 'traffic' | 'usage' | 'uncaught' | 'sharesPorts' | 'log'
  >,
): Promise<GatewayParts & { readonly source: RecordSource }> {
  const source = new RecordSource({ store, sealer, log: rest.log })
  store.onCommit(() => source.notify())
  const root = await openLocalRoot({ store, sealer, dataDir: settings.data_dir })
  const keys = await openGatewayKeys(store, sealer)
  return { settings, version, ...rest, source, root, keys }
}
