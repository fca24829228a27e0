import type { Live } from '#api/live.ts'
import type { Change } from '#contract/streams.ts'

/** Changes within this time are sent together, so that an agent that reconnects at once is one change. */
const GATHER_MS = 200
/** So many are sent one by one; those beyond are counted, and clients list again. */
const MAX_GATHERED = 200

interface OnlineListener {
  changed(change: Change): void
  /** So many of a kind were too many at once. */
  dropped(kind: string, count: number): void
}

/** Follows what goes online and offline while there are listeners, in memory that does not grow with the agents. */
export class OnlineFeed {
  readonly #live: Pick<Live, 'watchOnline'>
  readonly #listeners = new Set<OnlineListener>()
  readonly #gathered = new Map<string, Change>()
  readonly #dropped = new Map<string, number>()
  #stop: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(live: Pick<Live, 'watchOnline'>) {
    this.#live = live
  }

  /** Calls back for each change from now on; returns how to stop. */
  listen(listener: OnlineListener): () => void {
    this.#listeners.add(listener)
    this.#stop ??= this.#live.watchOnline(change => this.#gather(change))
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#stop?.()
      this.#stop = undefined
      clearTimeout(this.#timer)
      this.#clear()
    }
  }

  #gather(change: Change): void {
    this.#timer ??= setTimeout(() => this.#send(), GATHER_MS)
    const { kind, id } = change
    const earlier = this.#gathered.get(id)
    if (earlier === undefined && this.#gathered.size === MAX_GATHERED) {
      this.#dropped.set(kind, (this.#dropped.get(kind) ?? 0) + 1)
      return
    }
    const both = earlier === undefined ? change : combined(earlier, change)
    if (both === undefined) this.#gathered.delete(id)
    else this.#gathered.set(id, both)
  }

  #send(): void {
    const [changes, dropped] = [[...this.#gathered.values()], [...this.#dropped]]
    this.#clear()
    for (const listener of this.#listeners) {
      for (const change of changes) listener.changed(change)
      for (const [kind, count] of dropped) listener.dropped(kind, count)
    }
  }

  #clear(): void {
    this.#timer = undefined
    this.#gathered.clear()
    this.#dropped.clear()
  }
}

/** Two changes of one resource as one; undefined if there is none left. */
function combined(earlier: Change, later: Change): Change | undefined {
  const [wasOnline, isOnline] = [earlier.change !== 'created', later.change !== 'deleted']
  if (!isOnline) return wasOnline ? later : undefined
  return { ...later, change: wasOnline ? 'updated' : 'created' }
}
