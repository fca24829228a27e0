import { guarded } from '#base/background.ts'
import { type Log, silentLog } from '#base/log.ts'
import { admission } from '#registry/address-conflict.ts'
import { placeKey } from '#registry/address-key.ts'
import type {
  Added,
  Directory,
  DirectoryListener,
  SessionEnd,
  SessionRecord,
  TunnelRecord,
} from '#registry/directory.ts'

/** The directory of a single gateway process: it decides synchronously, so nothing can interleave. */
export class LocalDirectory implements Directory {
  readonly sessions = new Map<string, SessionRecord>()
  readonly tunnels = new Map<string, TunnelRecord>()
  // By port or name: several if an agent has several connections, or a user several schemes of a name.
  readonly #holders = new Map<string, Map<string, TunnelRecord>>()
  readonly #ofSession = new Map<string, Set<string>>()
  readonly #listeners = new Set<DirectoryListener>()
  readonly #log: Log

  constructor(log: Log = silentLog) {
    this.#log = log
  }

  async addSession(record: SessionRecord): Promise<void> {
    const isReplaced = this.sessions.has(record.id)
    this.sessions.set(record.id, record)
    this.#notify(listener => listener.sessionAdded?.(record, isReplaced))
  }

  async removeSession(
    id: string,
    node: string,
    { error, lost }: SessionEnd = { lost: false },
  ): Promise<void> {
    for (const tunnel of this.#ofSession.get(id) ?? [])
      if (this.tunnels.get(tunnel)?.node === node) this.#remove(tunnel, lost)
    const session = this.sessions.get(id)
    if (session?.node === node) this.#removeSession(session, error)
  }

  /** A gateway process has ended, with all that it held. */
  removeNode(node: string): void {
    // An agent that reconnected elsewhere may have left tunnels here that it has not requested yet.
    for (const tunnel of this.tunnels.values()) if (tunnel.node === node) this.#remove(tunnel.id, true)
    for (const session of this.sessions.values())
      if (session.node === node) this.#removeSession(session, 'The gateway process has ended.')
  }

  async addTunnel(record: TunnelRecord): Promise<Added> {
    const key = record.address && placeKey(record.address)
    const added = admission(record, this.#holders.get(key ?? '')?.values() ?? [])
    if (!added.ok) return added
    this.#remove(record.id, false)
    this.tunnels.set(record.id, record)
    if (key !== undefined)
      this.#holders.set(key, (this.#holders.get(key) ?? new Map()).set(record.id, record))
    const siblings = this.#ofSession.get(record.sessionId) ?? new Set()
    this.#ofSession.set(record.sessionId, siblings.add(record.id))
    this.#notify(listener => listener.added?.(record))
    return added
  }

  async removeTunnel(id: string): Promise<void> {
    this.#remove(id, false)
  }

  watch(listener: DirectoryListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #removeSession(session: SessionRecord, error: string | undefined): void {
    this.sessions.delete(session.id)
    this.#notify(listener => listener.sessionRemoved?.(session, error))
  }

  #remove(id: string, lost: boolean): void {
    const record = this.tunnels.get(id)
    if (record === undefined) return
    this.tunnels.delete(id)
    if (record.address) this.#release(placeKey(record.address), id)
    const siblings = this.#ofSession.get(record.sessionId)
    siblings?.delete(id)
    if (siblings?.size === 0) this.#ofSession.delete(record.sessionId)
    this.#notify(listener => listener.removed?.(record, lost))
  }

  #release(key: string, id: string): void {
    const holders = this.#holders.get(key)
    holders?.delete(id)
    if (holders?.size === 0) this.#holders.delete(key)
  }

  #notify(call: (listener: DirectoryListener) => void): void {
    for (const listener of this.#listeners)
      guarded({ task: 'directory', log: this.#log }, () => call(listener))
  }
}
