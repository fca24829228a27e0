import { setImmediate } from 'node:timers/promises'
import { Batch } from '#events/batch.ts'
import { DeliveryCursor, type CursorBody } from '#events/cursor.ts'
import { DeadLetters } from '#events/dead-letters.ts'
import type { Destination, OutgoingEvent } from '#events/destination.ts'
import type { LeaderLease } from '#events/leader-lease.ts'
import type { DeadLetterCursor } from '#events/dead-letter-cursor.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'
import type { Outbox } from '#events/outbox.ts'
import { replayDone, type Replay } from '#events/replays.ts'
import type { DeliveryScope, Sender } from '#events/sender.ts'
import { parseConfigEvent } from '#events/subscription.ts'
import type { Store } from '#store/store.ts'

interface OutboxDeliveryOptions {
  readonly store: Store
  readonly outbox: Outbox
  readonly lease: LeaderLease
  readonly sender: Sender
  readonly metrics: DeliveryMetrics
  /** The types that the subscription currently selects. */
  readonly types: () => ReadonlySet<string>
  readonly now: () => number
}

/** The position of a delivery, and its selection from there on. */
interface OutboxPosition {
  readonly sequence: number
  readonly types: ReadonlySet<string>
}

type Limits = Pick<Destination, 'maxEvents' | 'maxBytes'>

/** A batch, with the positions before and after it. */
interface Collected {
  readonly from: number
  readonly limits: Limits
  readonly events: readonly OutgoingEvent[]
  readonly position: OutboxPosition
  readonly isFull: boolean
}

/** Skipped events that may be read again after a crash: it saves a write for each. */
const UNWRITTEN = 1000

/** The progress of a replay of dead letters. */
interface ReplayProgress {
  readonly version: number
  readonly cursor: DeadLetterCursor
  readonly scope: DeliveryScope
}

/** The part of a delivery that only the leader runs: outbox events, and dead letters. */
export class OutboxDelivery implements DeliveryScope {
  readonly epoch: number
  readonly #options: OutboxDeliveryOptions
  readonly #cursor: DeliveryCursor
  readonly #deadLetters: DeadLetters
  #position: OutboxPosition
  #ahead: Promise<Collected | undefined> | undefined
  #replay: ReplayProgress | undefined
  #saving: Promise<unknown> = Promise.resolve()

  private constructor(options: OutboxDeliveryOptions, cursor: DeliveryCursor, deadLetters: DeadLetters) {
    this.#options = options
    this.#cursor = cursor
    this.#deadLetters = deadLetters
    this.epoch = cursor.body.epoch
    this.#position = { sequence: cursor.body.sequence, types: new Set(cursor.body.sources) }
  }

  /** Continues from the position of the previous leader. Undefined when there is no cursor to take. */
  static async take(
    id: string,
    epoch: number,
    options: OutboxDeliveryOptions,
  ): Promise<OutboxDelivery | undefined> {
    const { store, sender } = options
    const cursor = await DeliveryCursor.take(store, id, epoch)
    if (cursor === undefined) return undefined
    const deadLetters = new DeadLetters(store, id, writes => cursor.commit(writes))
    await deadLetters.load()
    sender.restoreHealth(cursor.body)
    return new OutboxDelivery(options, cursor, deadLetters)
  }

  /** Everything up to here was processed. */
  get sequence(): number {
    return this.#position.sequence
  }

  get deadLetters(): number {
    return this.#deadLetters.count
  }

  /** True while no other server can have taken over. */
  isValid(): boolean {
    const { lease } = this.#options
    return lease.isLeader && lease.epoch === this.epoch
  }

  async onDead(events: readonly OutgoingEvent[], reason: string): Promise<void> {
    await this.#deadLetters.add(events, reason)
    this.#options.metrics.events.dead.add(events.length)
  }

  /**
   * Delivers a batch from the outbox; true when there was more than fits. Events a moment later wait for the next
   * notification: small batches would cost a cursor write each.
   */
  async deliver(): Promise<boolean> {
    const { sender } = this.#options
    const { events, position, isFull } = await this.#collected()
    if (position.sequence === this.#position.sequence) return false
    if (isFull) this.#ahead = this.#collectAhead(position)
    if (events.length > 0) await sender.send(events, this)
    this.#position = position
    if (events.length > 0 || position.sequence - this.#cursor.body.sequence >= UNWRITTEN) {
      // The next batch may be sent while this is written, but not the one after it.
      await this.#saving
      this.#saving = sender.persist(() => this.save())
      this.#saving.catch(() => undefined)
    }
    return isFull
  }

  /** Delivers a batch of requested dead letters; true when that was the last. */
  async replayDeadLetters(replay: Replay): Promise<boolean> {
    const { sender } = this.#options
    if (this.#replay?.version !== replay.version) this.#replay = await this.#beginReplay(replay)
    const { cursor, scope } = this.#replay
    const deadLetters = await cursor.next()
    const batch = new Batch(await sender.limits())
    // The first that does not fit ends it.
    deadLetters.every(({ event }) => batch.add(event))
    const sent = deadLetters.slice(0, batch.events.length)
    const last = sent.at(-1)
    if (last === undefined) {
      await sender.persist(() => this.#endReplay(replay))
      this.#replay = undefined
      return true
    }
    const dead = await sender.send(batch.events, scope)
    const gone = sent.filter(({ event }) => !dead.has(event.id))
    if (gone.length > 0) await sender.persist(() => this.#deadLetters.remove(gone))
    // A dead letter that is rejected again stays, and the next ones follow.
    cursor.advance(last)
    return false
  }

  /** Stores the position, so that nothing before it has to be kept. */
  async settle(): Promise<void> {
    const { sequence, last_success_at: written, dead_letters: stored } = this.#cursor.body
    const { last_success_at: latest } = this.#options.sender.health
    // Some may have been deleted with the audit log.
    if (this.#deadLetters.count > 0) await this.#deadLetters.load()
    const isNew =
      this.#position.sequence > sequence || latest !== written || this.#deadLetters.count !== stored
    if (isNew) await this.save()
  }

  save(): Promise<void> {
    const { sequence, types } = this.#position
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

  async #beginReplay({ version }: Replay): Promise<ReplayProgress> {
    const scope: DeliveryScope = {
      isValid: () => this.isValid(),
      // They are already dead letters.
      onDead: async () => undefined,
      since: this.#options.now(),
    }
    return { version, cursor: await this.#deadLetters.cursor(), scope }
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
      ahead?.from === this.#position.sequence &&
      ahead.limits.maxEvents === limits.maxEvents &&
      ahead.limits.maxBytes === limits.maxBytes
    return isRight ? ahead : this.#collect(this.#position, limits)
  }

  /** Reads ahead while a batch is in flight. Errors are reported when it is needed. */
  async #collectAhead(position: OutboxPosition): Promise<Collected | undefined> {
    await setImmediate()
    return this.#collect(position, await this.#options.sender.limits()).catch(() => undefined)
  }

  async #collect(from: OutboxPosition, limits: Limits): Promise<Collected> {
    const { outbox } = this.#options
    const batch = new Batch(limits)
    let { sequence, types } = from
    const collected = (isFull: boolean): Collected => {
      return { from: from.sequence, limits, events: batch.events, position: { sequence, types }, isFull }
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
        const notice = parseConfigEvent(event)
        if (notice?.is === 'subscription' && notice.subscription.id === this.#cursor.body.subscription_id)
          types = notice.subscription.types
      }
    }
  }
}
