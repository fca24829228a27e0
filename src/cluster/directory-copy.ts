import { guarded } from '#base/background.ts'
import { type Log, silentLog } from '#base/log.ts'
import type { DirectoryListener, SessionRecord, TunnelRecord } from '#registry/directory.ts'

export type DirectoryChange =
  | { readonly is: 'session_added'; readonly session: SessionRecord }
  | { readonly is: 'session_removed'; readonly session: SessionRecord; readonly error?: string | undefined }
  | { readonly is: 'tunnel_added'; readonly tunnel: TunnelRecord }
  | { readonly is: 'tunnel_removed'; readonly tunnel: TunnelRecord; readonly lost: boolean }

/** A copy of the directory, which follows the changes that were decided elsewhere. */
export class DirectoryCopy {
  readonly sessions = new Map<string, SessionRecord>()
  readonly tunnels = new Map<string, TunnelRecord>()
  readonly #listeners = new Set<DirectoryListener>()
  readonly #log: Log

  constructor(log: Log = silentLog) {
    this.#log = log
  }

  watch(listener: DirectoryListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  apply(change: DirectoryChange): void {
    switch (change.is) {
      case 'session_added': {
        const isReplaced = this.sessions.has(change.session.id)
        this.sessions.set(change.session.id, change.session)
        return this.#notify(listener => listener.sessionAdded?.(change.session, isReplaced))
      }
      case 'session_removed':
        this.sessions.delete(change.session.id)
        return this.#notify(listener => listener.sessionRemoved?.(change.session, change.error))
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
