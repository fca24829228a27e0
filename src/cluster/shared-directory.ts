import { guarded } from '#base/background.ts'
import { type Log, silentLog } from '#base/log.ts'
import type {
  Added,
  Directory,
  DirectoryListener,
  SessionEnd,
  SessionRecord,
  TunnelRecord,
} from '#registry/directory.ts'
import type { Channel } from '#cluster/channel.ts'

export type DirectoryChange =
  | { readonly is: 'session_added'; readonly session: SessionRecord }
  | { readonly is: 'session_removed'; readonly session: SessionRecord }
  | { readonly is: 'tunnel_added'; readonly tunnel: TunnelRecord }
  | { readonly is: 'tunnel_removed'; readonly tunnel: TunnelRecord; readonly lost: boolean }

/** A worker's copy of the directory: the first process decides, and sends every worker the changes. */
export class SharedDirectory implements Directory {
  readonly sessions = new Map<string, SessionRecord>()
  readonly tunnels = new Map<string, TunnelRecord>()
  readonly #channel: Channel
  readonly #listeners = new Set<DirectoryListener>()
  readonly #log: Log

  constructor(channel: Channel, log: Log = silentLog) {
    this.#channel = channel
    this.#log = log
  }

  addSession = (record: SessionRecord): Promise<void> => this.#channel.request('addSession', record)
  removeSession = (id: string, node: string, end?: SessionEnd): Promise<void> =>
    this.#channel.request('removeSession', { id, node, end })
  addTunnel = (record: TunnelRecord): Promise<Added> => this.#channel.request('addTunnel', record)
  removeTunnel = (id: string): Promise<void> => this.#channel.request('removeTunnel', id)

  watch(listener: DirectoryListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The pipe preserves order, so a change arrives here before the response to its request. */
  apply(change: DirectoryChange): void {
    switch (change.is) {
      case 'session_added':
        this.sessions.set(change.session.id, change.session)
        return this.#notify(listener => listener.sessionAdded?.(change.session))
      case 'session_removed':
        this.sessions.delete(change.session.id)
        return this.#notify(listener => listener.sessionRemoved?.(change.session, undefined))
      case 'tunnel_added':
        this.tunnels.set(change.tunnel.id, change.tunnel)
        return this.#notify(listener => listener.added?.(change.tunnel))
      case 'tunnel_removed':
        this.tunnels.delete(change.tunnel.id)
        return this.#notify(listener => listener.removed?.(change.tunnel, change.lost))
    }
  }

  #notify(call: (listener: DirectoryListener) => void): void {
    for (const listener of this.#listeners)
      guarded({ task: 'directory', log: this.#log }, () => call(listener))
  }
}
