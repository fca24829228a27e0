import { FairShare } from '#base/fair-share.ts'
import { Holdings } from '#base/holdings.ts'

/** What has a place: a connection that can be given up for the sake of others. */
export interface Occupant {
  /** When bytes last went through, by `performance.now`. */
  readonly movedAt: number
  /** Bytes wait here that its client does not read. */
  readonly isUnread: boolean
  /** Gives the connection up; its place is given back a little later. */
  evict(): void
}

/** One of the connections that may be open at a time. */
export interface Place {
  /** Set as soon as the connection is there. */
  occupant: Occupant | undefined
  readonly client: string | undefined
}

interface Held extends Place {
  client: string | undefined
  /** `idle`: kept for further requests. `leaving`: given up here, but the other side may not have noticed yet. */
  state: 'used' | 'idle' | 'leaving'
}

/** One address may have so much of the whole while nobody else needs it, ... */
const SHARE = 0.5
/** ... and always as many as a browser opens. */
const LEAST = 8
/** For so long a client may leave unread what has come for it, while others have to wait. */
const UNREAD_MS = 500
/** Without a byte for so long, and others wait: it may be the client, the service, or both that have nothing to say. */
const SILENT_MS = 10_000

/**
 * Divides the connections of an agent among client addresses. Each has its share of them; a connection that is kept for
 * further requests belongs to none, and makes room when it is needed. A client that waits while another holds twice as
 * many as it would have itself gets the place of one that stands still there: of one that is not read if there is any.
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

  /** A place for a client, or for nobody in particular; undefined: it has to wait for one. */
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

  /** Gives a connection that is idle to a client; false: the client has its share. */
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

  /** The connection is kept, but not used by anybody. */
  rest(place: Place): void {
    this.#release(place as Held, 'idle')
  }

  /** The connection is given up, and the other side will free it a little later. */
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

  /** One that is idle for a client that has not its share, else one that stands still. */
  #victimFor(client: string | undefined, isAllowed: boolean): Occupant | undefined {
    if (isAllowed) return this.#oldest(({ state }) => state === 'idle')
    const held = client === undefined ? 0 : this.#clients.of(client)
    // More than an equal part, and than twice of what the one that waits would have.
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
