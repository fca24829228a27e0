import type { Settings } from '#base/settings.ts'
import { openNodeStore } from '#store/postgres-cluster.ts'

/** What an operator should know who runs this server beside a cluster on one database. */
export async function outsideCluster({
  database_url: url,
  peer_addr: listener,
}: Pick<Settings, 'database_url' | 'peer_addr'>): Promise<string[]> {
  if (url === undefined || listener !== undefined) return []
  await using store = openNodeStore(url)
  // The server itself needs nothing of this.
  const count = await store.countLive().catch(() => 0)
  if (count === 0) return []
  const nodes = count === 1 ? '1 node of a cluster uses' : `${count} nodes of a cluster use`
  return [
    `${nodes} this database, and this server has not joined it: each knows only its own tunnels, and two agents could get one address. To join, set ADIT_PEER_ADDR.`,
  ]
}
