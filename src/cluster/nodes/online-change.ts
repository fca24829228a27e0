import type { OnlineWrite, TunnelClaim } from '#base/node-store.ts'
import { readTunnel, sessionText, tunnelText, withOptions } from '#cluster/nodes/online-record.ts'
import { admission } from '#registry/address-conflict.ts'
import { addressKey, placeKey } from '#registry/address-key.ts'
import type { SessionEnd, SessionRecord, TunnelRecord } from '#registry/directory.ts'

export interface From {
  readonly node: string
  readonly epoch: number
}

/** `node` is the one whose record is removed. */
interface Removal extends From {
  /** The node that has removed it; earlier versions do not send it. */
  readonly by?: string
}

/** What followers of the directory read. */
export type OnlineChange =
  | ({ readonly is: 'session'; readonly record: SessionRecord } & From)
  | ({ readonly is: 'tunnel'; readonly record: TunnelRecord } & From)
  | ({ readonly is: 'session_gone'; readonly id: string; readonly error?: string | undefined } & Removal)
  | ({ readonly is: 'tunnel_gone'; readonly id: string; readonly lost: boolean } & Removal)
  /** All that the node has was written in this epoch; the rest is void. */
  | ({ readonly is: 'complete' } & From)

const write = (change: OnlineChange): string => JSON.stringify(change)

/** Around the text of the record, which is the same in its row. */
const writePut = (is: 'session' | 'tunnel', body: string, from: From): string =>
  `${JSON.stringify({ is, ...from }).slice(0, -1)},"record":${body}}`

export function readChange(text: string): OnlineChange {
  const change = JSON.parse(text) as OnlineChange
  if (change.is === 'tunnel') withOptions(change.record)
  return change
}

export function putSession(record: SessionRecord, from: From): OnlineWrite {
  const body = sessionText(record)
  return { op: 'put_session', id: record.id, body, text: writePut('session', body, from) }
}

/** Refused as by a single process, which knows all tunnels. */
export function putTunnel(
  record: TunnelRecord,
  from: From,
): Extract<OnlineWrite, { readonly op: 'put_tunnel' }> {
  const { id, address, ownerId: owner } = record
  const body = tunnelText(record)
  const claim: TunnelClaim = {
    id,
    body,
    place: address && placeKey(address),
    address: address && addressKey(address),
    owner,
    admit(holders) {
      const added = admission(record, holders.map(readTunnel))
      return added.ok ? undefined : added
    },
  }
  return { op: 'put_tunnel', tunnel: claim, text: writePut('tunnel', body, from) }
}

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

/** The first of the writes with which a node writes all of its records. */
export const begin: OnlineWrite = { op: 'restoring', isRestoring: true }

/** The last ones. */
export const complete = (from: From): readonly OnlineWrite[] => [
  { op: 'restoring', isRestoring: false },
  { op: 'mark', text: write({ is: 'complete', ...from }) },
]

/** A record that a node has or had, and how its row is removed. */
export interface OwnRecord {
  readonly id: string
  readonly remove: (from: From) => OnlineWrite
}

export const ownSession = (id: string): OwnRecord => ({
  id,
  remove: from => dropSession(id, from.node, { lost: false }, from),
})

export const ownTunnel = (id: string): OwnRecord => ({
  id,
  remove: from => dropTunnel(id, from.node, false, from),
})

/** The record of this node that a write is about. */
export function ownRecordOf(written: OnlineWrite, node: string): OwnRecord | undefined {
  switch (written.op) {
    case 'put_session':
      return ownSession(written.id)
    case 'put_tunnel':
      return ownTunnel(written.tunnel.id)
    case 'drop_session':
    case 'drop_tunnel':
      return written.node === node ? { id: written.id, remove: () => written } : undefined
    default:
      return undefined
  }
}
