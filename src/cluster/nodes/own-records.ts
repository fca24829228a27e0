import type { OnlineWrite } from '#base/node-store.ts'
import {
  type From,
  type OwnRecord,
  ownSession,
  ownTunnel,
  putSession,
  putTunnel,
} from '#cluster/nodes/online-change.ts'
import { addressKey } from '#registry/address-key.ts'
import { anyConnection, baseId } from '#registry/agent-connections.ts'
import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'

/** What one node has online; written again when the database has lost it. */
export class OwnRecords {
  readonly #sessions = new Map<string, SessionRecord>()
  readonly #tunnels = new Map<string, TunnelRecord>()
  /** By the id without the connection: a tunnel has one address through all connections of its agent. */
  readonly #addresses = new Map<string, string>()

  addSession(record: SessionRecord): void {
    this.#sessions.set(record.id, record)
  }

  addTunnel(record: TunnelRecord): void {
    this.#tunnels.set(record.id, record)
    if (record.address !== undefined) this.#addresses.set(baseId(record.id), addressKey(record.address))
  }

  /** Its address stays that of this node until `release`. */
  delete(id: string): void {
    this.#sessions.delete(id)
    this.#tunnels.delete(id)
  }

  /** The database has the removal of a tunnel. */
  release(id: string): void {
    const base = baseId(id)
    if (anyConnection(this.#tunnels, base) === undefined) this.#addresses.delete(base)
  }

  /** The database has exactly these records. */
  releaseRest(): void {
    const held = new Set([...this.#tunnels.keys()].map(baseId))
    for (const base of this.#addresses.keys()) if (!held.has(base)) this.#addresses.delete(base)
  }

  /** Whether no other node can have got the address of a tunnel: this one has not released it. */
  hasAddressOf({ id, address }: TunnelRecord): boolean {
    return address === undefined || this.#addresses.get(baseId(id)) === addressKey(address)
  }

  tunnel(id: string): TunnelRecord | undefined {
    return this.#tunnels.get(id)
  }

  /** The write of one record; undefined if this node does not have it. */
  write(id: string, from: From): OnlineWrite | undefined {
    const tunnel = this.#tunnels.get(id)
    if (tunnel !== undefined) return putTunnel(tunnel, from)
    const session = this.#sessions.get(id)
    return session && putSession(session, from)
  }

  get all(): readonly OwnRecord[] {
    return [...[...this.#tunnels.keys()].map(ownTunnel), ...[...this.#sessions.keys()].map(ownSession)]
  }
}
