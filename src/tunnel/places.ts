import { FairShare } from '#base/fair-share.ts'
import { Holdings } from '#base/holdings.ts'

/** The holder of a slot: a connection that can be evicted. */
export interface Occupant {
  /** Time of the last bytes, by `performance.now`. */
  readonly movedAt: number
  /** It has bytes that its client does not read. */
  readonly isUnread: boolean
  /** Evicts the connection; its slot is released a little later. */
  evict(): void
}

/** One of the concurrent connections. */
export interface Place {
  /** Set as soon as the connection exists. */
  occupant: Occupant | undefined
  readonly client: string | undefined
}

interface Held extends Place {
  client: string | undefined
  /** `idle`: kept for reuse. `leaving`: aborted here, but the peer may not have noticed yet. */
  state: 'used' | 'idle' | 'leaving'
}

/** The share of one address while no other needs more, ... */
const SHARE = 0.5
/** ... and at least as many as a browser opens. */
const LEAST = 8
/** How long a client may leave data unread while others have to wait. */
const UNREAD_MS = 500
/** Stalled for this long while others wait: client, service or both may be silent. */
const SILENT_MS = 10_000

/**
 * Divides the connections of an agent among client addresses. Each has its share; an idle connection belongs to none,
 * and is evicted when needed. A client that waits while another holds twice as many as it would have gets the slot of a
 * stalled connection there: preferably one that is not read.
 */
export class Places {
  readonly #max: number
  readonly #share: FairShare
  readonly #clients = new Holdings<string>()
  readonly #all = new Set<Held>()

  constructor(max: number) {
    this.#max = max
    this.#share = new FairShare(max, SHARE, LEAST)
  }

  get open(): number {
    return this.#all.size
  }

  /** How many a client has. */
  heldBy(client: string): number {
    return this.#clients.of(client)
  }

  /** A slot for a client, or for none; undefined: it has to wait. */
  take(client: string | undefined): Place | undefined {
    const keys = keysOf(client)
    const isAllowed = this.#share.allows(keys)
    if (!isAllowed || this.#all.size >= this.#max) {
      this.#victimFor(client, isAllowed)?.evict()
      return undefined
    }
    this.#share.take(keys)
    if (client !== undefined) this.#clients.add(client)
    const place: Held = { client, state: 'used', occupant: undefined }
    this.#all.add(place)
    return place
  }

  /** Assigns an idle connection to a client; false: the client has used its share. */
  hold(place: Place, client: string | undefined): boolean {
    const held = place as Held
    if (held.state === 'leaving' || !this.#all.has(held)) return false
    this.rest(held)
    if (!this.#share.take(keysOf(client))) return false
    held.state = 'used'
    held.client = client
    if (client !== undefined) this.#clients.add(client)
    return true
  }

  /** The connection is idle. */
  rest(place: Place): void {
    this.#release(place as Held, 'idle')
  }

  /** The connection is aborted, and the peer frees it a little later. */
  evacuate(place: Place): void {
    const held = place as Held
    this.#release(held, 'leaving')
    held.state = 'leaving'
  }

  leave(place: Place): void {
    const held = place as Held
    if (this.#all.delete(held)) this.#release(held, 'leaving')
  }

  #release(held: Held, state: Held['state']): void {
    if (held.state !== 'used') return
    const { client } = held
    this.#share.release(keysOf(client))
    if (client !== undefined) this.#clients.remove(client)
    held.state = state
    held.client = undefined
  }

  /** An idle one for a client below its share, else a stalled one. */
  #victimFor(client: string | undefined, isAllowed: boolean): Occupant | undefined {
    if (isAllowed) return this.#oldest(({ state }) => state === 'idle')
    const held = client === undefined ? 0 : this.#clients.of(client)
    // More than an equal part, and than twice what the waiting one would have.
    const much = Math.max(this.#max / (this.#clients.keys + 1), 2 * held + 1)
    if (this.#clients.most <= much) return undefined
    const isLarge = (place: Held): boolean =>
      place.client !== undefined && this.#clients.of(place.client) > much
    const now = performance.now()
    const unread = this.#oldest(place => place.occupant?.isUnread === true && isLarge(place))
    if (unread !== undefined && now - unread.movedAt >= UNREAD_MS) return unread
    const silent = this.#oldest(isLarge)
    return silent !== undefined && now - silent.movedAt >= SILENT_MS ? silent : undefined
  }

  #oldest(fits: (place: Held) => boolean): Occupant | undefined {
    let oldest: Occupant | undefined
    for (const place of this.#all) {
      const { occupant } = place
      if (occupant === undefined || !fits(place)) continue
      if (oldest === undefined || occupant.movedAt < oldest.movedAt) oldest = occupant
    }
    return oldest
  }
}

const NOBODY: readonly string[] = []
const keysOf = (client: string | undefined): readonly string[] => (client === undefined ? NOBODY : [client])
