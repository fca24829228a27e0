import type { OnlineWrite } from '#base/node-store.ts'
import { admission } from '#registry/address-conflict.ts'
import { addressKey, placeKey } from '#registry/address-key.ts'
import type { SessionEnd, SessionRecord, TunnelRecord } from '#registry/directory.ts'

export interface From {
  readonly node: string
  readonly epoch: number
  /** How often the node has written all of its records. */
  readonly round: number
}

/** `node` is the one whose record is removed. */
interface Removal extends From {
  /** The node that has removed it; earlier versions do not say. */
  readonly by?: string
}

/** What followers of the directory read. */
export type OnlineChange =
  | ({ readonly is: 'session'; readonly record: SessionRecord } & From)
  | ({ readonly is: 'tunnel'; readonly record: TunnelRecord } & From)
  | ({ readonly is: 'session_gone'; readonly id: string; readonly error?: string | undefined } & Removal)
  | ({ readonly is: 'tunnel_gone'; readonly id: string; readonly lost: boolean } & Removal)
  /** All that the node has was written in this epoch and round; the rest is void. */
  | ({ readonly is: 'complete' } & From)

const write = (change: OnlineChange): string => JSON.stringify(change)

export const readChange = (text: string): OnlineChange => JSON.parse(text) as OnlineChange

export const putSession = (record: SessionRecord, from: From): OnlineWrite => ({
  op: 'put_session',
  id: record.id,
  body: JSON.stringify(record),
  text: write({ is: 'session', record, ...from }),
})

/** Refused as by a single process, which knows all tunnels. */
export const putTunnel = (record: TunnelRecord, from: From): OnlineWrite => ({
  op: 'put_tunnel',
  tunnel: {
    id: record.id,
    body: JSON.stringify(record),
    place: record.address && placeKey(record.address),
    address: record.address && addressKey(record.address),
    owner: record.ownerId,
    admit(holders) {
      const added = admission(
        record,
        holders.map(text => JSON.parse(text) as TunnelRecord),
      )
      return added.ok ? undefined : added
    },
  },
  text: write({ is: 'tunnel', record, ...from }),
})

/** `node` is the one whose record is removed; another one may do that. */
export const dropSession = (id: string, node: string, { error }: SessionEnd, from: From): OnlineWrite => ({
  op: 'drop_session',
  id,
  node,
  text: write({ ...from, is: 'session_gone', id, error, node, by: from.node }),
})

export const dropTunnel = (id: string, node: string, lost: boolean, from: From): OnlineWrite => ({
  op: 'drop_tunnel',
  id,
  node,
  text: write({ ...from, is: 'tunnel_gone', id, lost, node, by: from.node }),
})

export const complete = (from: From): OnlineWrite => ({
  op: 'mark',
  text: write({ is: 'complete', ...from }),
})
