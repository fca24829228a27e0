import { isDeepStrictEqual } from 'node:util'
import { inBackground } from '#base/background.ts'
import { type Log, silentLog } from '#base/log.ts'
import type { Added, Directory, SessionEnd, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import { DirectoryCopy } from '#cluster/directory-copy.ts'
import type { FirstProcessLink } from '#cluster/first-process-link.ts'

/** Agents and their tunnels, as data. */
export interface DirectoryRecords {
  readonly sessions: readonly SessionRecord[]
  readonly tunnels: readonly TunnelRecord[]
}

/** The records of a directory, or of one node. */
export function recordsOf(
  { sessions, tunnels }: Pick<Directory, 'sessions' | 'tunnels'>,
  node?: string,
): DirectoryRecords {
  const isIncluded = (record: { readonly node: string }): boolean =>
    node === undefined || record.node === node
  return {
    sessions: [...sessions.values()].filter(isIncluded),
    tunnels: [...tunnels.values()].filter(isIncluded),
  }
}

/**
 * A worker's copy of the directory: the first process decides, and sends every worker the changes. The pipe preserves
 * order, so a change arrives here before the response to its request.
 */
export class SharedDirectory extends DirectoryCopy implements Directory {
  readonly #link: FirstProcessLink
  readonly #log: Log

  constructor(link: FirstProcessLink, log: Log = silentLog) {
    super(log)
    this.#link = link
    this.#log = log
  }

  addSession = (record: SessionRecord): Promise<void> => this.#link.request('addSession', record)
  removeSession = (id: string, node: string, end?: SessionEnd): Promise<void> =>
    this.#link.request('removeSession', { id, node, end }, Infinity)
  removeTunnel = (id: string): Promise<void> => this.#link.request('removeTunnel', id, Infinity)

  async addTunnel(record: TunnelRecord): Promise<Added> {
    const isNew = !this.tunnels.has(record.id)
    try {
      return await this.#link.request('addTunnel', record)
    } catch (error) {
      // A first process may have added it before it ended, and its agent is refused.
      if (isNew) void inBackground({ task: 'directory', log: this.#log }, () => this.removeTunnel(record.id))
      throw error
    }
  }

  /** Takes over the directory of another first process; only the differences are reported. */
  replace({ sessions, tunnels }: DirectoryRecords): void {
    for (const tunnel of missing(this.tunnels, tunnels))
      this.apply({ is: 'tunnel_removed', tunnel, lost: true })
    for (const session of missing(this.sessions, sessions)) this.apply({ is: 'session_removed', session })
    for (const session of changed(this.sessions, sessions)) this.apply({ is: 'session_added', session })
    for (const tunnel of changed(this.tunnels, tunnels)) this.apply({ is: 'tunnel_added', tunnel })
  }
}

type Identified = { readonly id: string }

function missing<Item extends Identified>(known: ReadonlyMap<string, Item>, all: readonly Item[]): Item[] {
  const ids = new Set(all.map(({ id }) => id))
  return [...known.values()].filter(({ id }) => !ids.has(id))
}

const changed = <Item extends Identified>(known: ReadonlyMap<string, Item>, all: readonly Item[]): Item[] =>
  all.filter(item => !isDeepStrictEqual(known.get(item.id), item))
