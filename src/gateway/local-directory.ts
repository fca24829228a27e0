import { addressKey } from '#gateway/address-key.ts'
import type { Added, Directory, DirectoryListener, SessionRecord, TunnelRecord } from '#gateway/directory.ts'

/** The directory of an installation with one gateway process: it decides at once, so nothing can come in between. */
export class LocalDirectory implements Directory {
  readonly sessions = new Map<string, SessionRecord>()
  readonly tunnels = new Map<string, TunnelRecord>()
  readonly #holders = new Map<string, TunnelRecord>()
  readonly #ofSession = new Map<string, Set<string>>()
  readonly #listeners = new Set<DirectoryListener>()

  async addSession(record: SessionRecord): Promise<void> {
    this.sessions.set(record.id, record)
    this.#tell(listener => listener.sessionAdded?.(record))
  }

  async removeSession(id: string, node: string): Promise<void> {
    for (const tunnel of [...(this.#ofSession.get(id) ?? [])])
      if (this.tunnels.get(tunnel)?.node === node) this.#remove(tunnel)
    const session = this.sessions.get(id)
    if (session?.node !== node) return
    this.sessions.delete(id)
    this.#tell(listener => listener.sessionRemoved?.(session))
  }

  async addTunnel(record: TunnelRecord): Promise<Added> {
    const key = record.address && addressKey(record.address)
    const holder = key === undefined ? undefined : this.#holders.get(key)
    if (holder !== undefined && holder.id !== record.id) return { ok: false, holder }
    this.#remove(record.id)
    this.tunnels.set(record.id, record)
    if (key !== undefined) this.#holders.set(key, record)
    const siblings = this.#ofSession.get(record.sessionId) ?? new Set()
    this.#ofSession.set(record.sessionId, siblings.add(record.id))
    this.#tell(listener => listener.added?.(record))
    return { ok: true }
  }

  async removeTunnel(id: string): Promise<void> {
    this.#remove(id)
  }

  watch(listener: DirectoryListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #remove(id: string): void {
    const record = this.tunnels.get(id)
    if (record === undefined) return
    this.tunnels.delete(id)
    if (record.address) this.#holders.delete(addressKey(record.address))
    const siblings = this.#ofSession.get(record.sessionId)
    siblings?.delete(id)
    if (siblings?.size === 0) this.#ofSession.delete(record.sessionId)
    this.#tell(listener => listener.removed?.(record))
  }

  #tell(call: (listener: DirectoryListener) => void): void {
    for (const listener of this.#listeners) call(listener)
  }
}
