import { FairShare } from '#base/fair-share.ts'

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
export interface StreamSlot {
  /** Set as soon as the connection exists. */
  occupant: Occupant | undefined
  readonly client: string | undefined
}

interface HeldSlot extends StreamSlot {
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
export class StreamSlots {
  readonly #max: number
  readonly #share: FairShare
  readonly #all = new Set<HeldSlot>()

  constructor(max: number) {
    this.#max = max
    this.#share = new FairShare(max, SHARE, LEAST)
  }

  get open(): number {
    return this.#all.size
  }

  /** How many a client has. */
  heldBy(client: string): number {
    return this.#share.held(client)
  }

  /** A slot for a client, or for none; undefined: it has to wait. */
  take(client: string | undefined): StreamSlot | undefined {
    const keys = keysOf(client)
    const isAllowed = this.#share.allows(keys)
    if (!isAllowed || this.#all.size >= this.#max) {
      this.#victimFor(client, isAllowed)?.evict()
      return undefined
    }
    this.#share.charge(keys)
    const slot: HeldSlot = { client, state: 'used', occupant: undefined }
    this.#all.add(slot)
    return slot
  }

  /** Assigns an idle connection to a client; false: the client has used its share. */
  hold(slot: StreamSlot, client: string | undefined): boolean {
    const held = slot as HeldSlot
    if (held.state === 'leaving' || !this.#all.has(held)) return false
    this.rest(held)
    if (!this.#share.take(keysOf(client))) return false
    held.state = 'used'
    held.client = client
    return true
  }

  /** The connection is idle. */
  rest(slot: StreamSlot): void {
    this.#release(slot as HeldSlot, 'idle')
  }

  /** The connection is aborted, and the peer frees it a little later. */
  evacuate(slot: StreamSlot): void {
    const held = slot as HeldSlot
    this.#release(held, 'leaving')
    held.state = 'leaving'
  }

  leave(slot: StreamSlot): void {
    const held = slot as HeldSlot
    if (this.#all.delete(held)) this.#release(held, 'leaving')
  }

  #release(held: HeldSlot, state: HeldSlot['state']): void {
    if (held.state !== 'used') return
    this.#share.release(keysOf(held.client))
    held.state = state
    held.client = undefined
  }

  /** An idle one for a client below its share, else a stalled one. */
  #victimFor(client: string | undefined, isAllowed: boolean): Occupant | undefined {
    if (isAllowed) return this.#oldest(({ state }) => state === 'idle')
    const held = client === undefined ? 0 : this.heldBy(client)
    // More than an equal part, and than twice what the waiting one would have.
    const much = Math.max(this.#max / (this.#share.keys + 1), 2 * held + 1)
    if (this.#share.most() <= much) return undefined
    const isLarge = (slot: HeldSlot): boolean => slot.client !== undefined && this.heldBy(slot.client) > much
    const now = performance.now()
    const unread = this.#oldest(slot => slot.occupant?.isUnread === true && isLarge(slot))
    if (unread !== undefined && now - unread.movedAt >= UNREAD_MS) return unread
    const silent = this.#oldest(isLarge)
    return silent !== undefined && now - silent.movedAt >= SILENT_MS ? silent : undefined
  }

  #oldest(fits: (slot: HeldSlot) => boolean): Occupant | undefined {
    let oldest: Occupant | undefined
    for (const slot of this.#all) {
      const { occupant } = slot
      if (occupant === undefined || !fits(slot)) continue
      if (oldest === undefined || occupant.movedAt < oldest.movedAt) oldest = occupant
    }
    return oldest
  }
}

const NO_KEYS: readonly string[] = []
const keysOf = (client: string | undefined): readonly string[] => (client === undefined ? NO_KEYS : [client])
