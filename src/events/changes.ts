import { setImmediate } from 'node:timers/promises'
import { Batch } from '#events/batch.ts'
import { Cursor, type CursorBody } from '#events/cursor.ts'
import { DeadLetters } from '#events/dead-letters.ts'
import type { Destination, OutgoingEvent } from '#events/destination.ts'
import type { Lead } from '#events/lead.ts'
import type { LetterWalk } from '#events/letter-walk.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'
import type { Outbox } from '#events/outbox.ts'
import { replayDone, type Replay } from '#events/replays.ts'
import type { Mandate, Sender } from '#events/sender.ts'
import { noticeIn } from '#events/subscription.ts'
import type { Store } from '#store/store.ts'

export interface ChangesOptions {
  readonly store: Store
  readonly outbox: Outbox
  readonly lead: Lead
  readonly sender: Sender
  readonly metrics: DeliveryMetrics
  /** The types that the subscription currently selects. */
  readonly types: () => ReadonlySet<string>
  readonly now: () => number
}

/** The position of a delivery, and its selection from there on. */
interface Place {
  readonly sequence: number
  readonly types: ReadonlySet<string>
}

type Limits = Pick<Destination, 'maxEvents' | 'maxBytes'>

/** A batch, with the positions before and after it. */
interface Collected {
  readonly from: number
  readonly limits: Limits
  readonly events: readonly OutgoingEvent[]
  readonly place: Place
  readonly isFull: boolean
}

/** Skipped events that may be read again after a crash: it saves a write for each. */
const UNWRITTEN = 1000

/** The progress of a replay of dead letters. */
interface Again {
  readonly version: number
  readonly walk: LetterWalk
  readonly mandate: Mandate
}

/** The part of a delivery that only the leader runs: outbox events, and dead letters. */
export class Changes implements Mandate {
  readonly epoch: number
  readonly #options: ChangesOptions
  readonly #cursor: Cursor
  readonly #deadLetters: DeadLetters
  #place: Place
  #ahead: Promise<Collected | undefined> | undefined
  #again: Again | undefined
  #saving: Promise<unknown> = Promise.resolve()

  private constructor(options: ChangesOptions, cursor: Cursor, deadLetters: DeadLetters) {
    this.#options = options
    this.#cursor = cursor
    this.#deadLetters = deadLetters
    this.epoch = cursor.body.epoch
    this.#place = { sequence: cursor.body.sequence, types: new Set(cursor.body.sources) }
  }

  /** Continues from the position of the previous leader. Undefined when there is no cursor to take. */
  static async take(id: string, epoch: number, options: ChangesOptions): Promise<Changes | undefined> {
    const { store, sender } = options
    const cursor = await Cursor.take(store, id, epoch)
    if (cursor === undefined) return undefined
    const deadLetters = new DeadLetters(store, id, writes => cursor.commit(writes))
    await deadLetters.load()
    sender.recall(cursor.body)
    return new Changes(options, cursor, deadLetters)
  }

  /** Everything up to here was processed. */
  get sequence(): number {
    return this.#place.sequence
  }

  get deadLetters(): number {
    return this.#deadLetters.count
  }

  /** True while no other server can have taken over. */
  stands(): boolean {
    const { lead } = this.#options
    return lead.held && lead.epoch === this.epoch
  }

  async giveUp(events: readonly OutgoingEvent[], reason: string): Promise<void> {
    await this.#deadLetters.add(events, reason)
    this.#options.metrics.events.dead.add(events.length)
  }

  /**
   * Delivers a batch from the outbox; true when there was more than fits. Events a moment later wait for the next
   * notification: small batches would cost a cursor write each.
   */
  async deliver(): Promise<boolean> {
    const { sender } = this.#options
    const { events, place, isFull } = await this.#collected()
    if (place.sequence === this.#place.sequence) return false
    if (isFull) this.#ahead = this.#collectAhead(place)
    if (events.length > 0) await sender.pass(events, this)
    this.#place = place
    if (events.length > 0 || place.sequence - this.#cursor.body.sequence >= UNWRITTEN) {
      // The next batch may be sent while this is written, but not the one after it.
      await this.#saving
      this.#saving = sender.persist(() => this.save())
      this.#saving.catch(() => undefined)
    }
    return isFull
  }

  /** Delivers a batch of requested dead letters; true when that was the last. */
  async deliverAgain(replay: Replay): Promise<boolean> {
    const { sender } = this.#options
    if (this.#again?.version !== replay.version) this.#again = await this.#beginAgain(replay)
    const { walk, mandate } = this.#again
    const letters = await walk.next()
    const batch = new Batch(await sender.limits())
    // The first that does not fit ends it.
    letters.every(({ event }) => batch.add(event))
    const sent = letters.slice(0, batch.events.length)
    const last = sent.at(-1)
    if (last === undefined) {
      await sender.persist(() => this.#endReplay(replay))
      this.#again = undefined
      return true
    }
    const dead = await sender.pass(batch.events, mandate)
    const gone = sent.filter(({ event }) => !dead.has(event.id))
    if (gone.length > 0) await sender.persist(() => this.#deadLetters.remove(gone))
    // A letter that is rejected again stays, and the next ones follow.
    walk.pass(last)
    return false
  }

  /** Stores the position, so that nothing before it has to be kept. */
  async settle(): Promise<void> {
    const { sequence, last_success_at: written, dead_letters: told } = this.#cursor.body
    const { last_success_at: latest } = this.#options.sender.health
    // Some may have been deleted with the audit log.
    if (this.#deadLetters.count > 0) await this.#deadLetters.load()
    const isNew = this.#place.sequence > sequence || latest !== written || this.#deadLetters.count !== told
    if (isNew) await this.save()
  }

  save(): Promise<void> {
    const { sequence, types } = this.#place
    const changes: Partial<CursorBody> = {
      sequence,
      sources: [...types],
      dead_letters: this.#deadLetters.count,
      ...this.#options.sender.health,
    }
    return this.#cursor.write(changes)
  }

  /** Resolves when no write is pending. */
  async saved(): Promise<void> {
    await this.#saving.catch(() => undefined)
  }

  async #beginAgain({ version }: Replay): Promise<Again> {
    const mandate: Mandate = {
      stands: () => this.stands(),
      // They are already dead letters.
      giveUp: async () => undefined,
      since: this.#options.now(),
    }
    return { version, walk: await this.#deadLetters.walk(), mandate }
  }

  async #endReplay(replay: Replay): Promise<void> {
    await this.save()
    // Rejected when another replay was requested: then it is found again.
    await this.#cursor.commit([replayDone(replay)])
  }

  /** The next batch, possibly read ahead. */
  async #collected(): Promise<Collected> {
    const limits = await this.#options.sender.limits()
    const ahead = await this.#ahead
    this.#ahead = undefined
    const isRight =
      ahead?.from === this.#place.sequence &&
      ahead.limits.maxEvents === limits.maxEvents &&
      ahead.limits.maxBytes === limits.maxBytes
    return isRight ? ahead : this.#collect(this.#place, limits)
  }

  /** Reads ahead while a batch is in flight. Errors are reported when it is needed. */
  async #collectAhead(place: Place): Promise<Collected | undefined> {
    await setImmediate()
    return this.#collect(place, await this.#options.sender.limits()).catch(() => undefined)
  }

  async #collect(from: Place, limits: Limits): Promise<Collected> {
    const { outbox } = this.#options
    const batch = new Batch(limits)
    let { sequence, types } = from
    const collected = (isFull: boolean): Collected => {
      return { from: from.sequence, limits, events: batch.events, place: { sequence, types }, isFull }
    }
    for (;;) {
      // One more than fits, to detect a full batch.
      const page = await outbox.read(sequence, limits.maxEvents - batch.events.length + 1)
      if (page.length === 0) return collected(false)
      for (const event of page) {
        // The events in between were pruned, including changes of this subscription.
        if (event.sequence !== sequence + 1) types = this.#options.types()
        if (types.has(event.type) && !batch.add(event)) return collected(true)
        sequence = event.sequence
        const notice = noticeIn(event)
        if (notice?.is === 'subscription' && notice.wish.id === this.#cursor.body.subscription_id)
          types = notice.wish.types
      }
    }
  }
}
