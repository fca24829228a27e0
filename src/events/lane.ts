import type { Log } from '#base/log.ts'
import { Batch } from '#events/batch.ts'
import type { Pace } from '#events/backoff.ts'
import { Bell } from '#events/bell.ts'
import type { Cursor, CursorBody } from '#events/cursor.ts'
import { DeadLetters } from '#events/dead-letters.ts'
import type { Destination, OutgoingEvent } from '#events/destination.ts'
import type { Gate } from '#events/gate.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'
import type { Outbox } from '#events/outbox.ts'
import { Closed, Sender } from '#events/sender.ts'
import { noticeIn } from '#events/subscription.ts'
import { isTraffic, type TrafficLog } from '#events/traffic-log.ts'
import type { Store } from '#store/store.ts'

export interface LaneParts {
  readonly store: Store
  readonly outbox: Outbox
  readonly traffic: TrafficLog
  readonly gate: Gate
  readonly pace: Pace
  readonly metrics: DeliveryMetrics
  readonly log: Log
  readonly now: () => number
}

export interface LaneOptions extends LaneParts {
  readonly cursor: Cursor
  readonly open: () => Promise<Destination>
  /** The types that the subscription wants now. */
  readonly types: ReadonlySet<string>
}

/** Where a lane has come to, and what it wants from there on. */
interface Place {
  readonly sequence: number
  readonly types: ReadonlySet<string>
}

/** So much that nobody wanted may be read again after a crash: it saves a write for each event. */
const UNWRITTEN = 1000
const DRAIN_MS = 2000
const RETRY_MS = 1000

/** The way of one subscription's events to one destination: in order, each at least once. */
export class Lane {
  readonly #options: LaneOptions
  readonly #sender: Sender
  readonly #deadLetters: DeadLetters
  readonly #news = new Bell()
  readonly #running: Promise<void>
  #types: ReadonlySet<string>
  #place: Place
  #trafficAt: number
  #saving: Promise<unknown> = Promise.resolve()
  #replaying = false
  #closing = false

  constructor(options: LaneOptions) {
    const { cursor, store } = options
    this.#options = options
    this.#types = options.types
    this.#place = { sequence: cursor.body.sequence, types: new Set(cursor.body.sources) }
    this.#trafficAt = options.traffic.latest
    this.#deadLetters = new DeadLetters(store, cursor.id)
    this.#sender = new Sender({ ...options, deadLetters: this.#deadLetters })
    this.#running = this.#run()
  }

  get id(): string {
    return this.#options.cursor.id
  }

  get subscriptionId(): string {
    return this.#options.cursor.body.subscription_id
  }

  get destinationId(): string {
    return this.#options.cursor.body.destination_id
  }

  get types(): ReadonlySet<string> {
    return this.#types
  }

  /** Up to where everything was looked at, and up to where that is written down. */
  get position(): { readonly sequence: number; readonly written: number } {
    return { sequence: this.#place.sequence, written: this.#options.cursor.body.sequence }
  }

  get state() {
    const { subscription_id, destination_id } = this.#options.cursor.body
    const { health, nextTryAt } = this.#sender
    return {
      id: this.id,
      subscription_id,
      destination_id,
      ...health,
      next_try_at: nextTryAt === undefined ? null : new Date(nextTryAt).toISOString(),
      dead_letters: this.#deadLetters.count,
    }
  }

  /** There may be something to deliver. */
  ring(): void {
    this.#news.ring()
  }

  /** The subscription was changed. What lies in the outbox still counts by what was wanted at its time. */
  want(types: ReadonlySet<string>): void {
    this.#types = types
  }

  /** The destination was changed. */
  reload(): void {
    this.#sender.reload()
  }

  /** Sends dead letters again. */
  replay(): void {
    this.#replaying = true
    this.#sender.reload()
    this.#news.ring()
  }

  /** Writes down how far it is, so that nothing before that has to be kept. */
  async settle(): Promise<void> {
    const { sequence, written } = this.position
    if (sequence > written) await this.#save()
  }

  /** Finishes what is under way, but does not wait for a destination that hangs. */
  async close(drainMs = DRAIN_MS): Promise<void> {
    this.#closing = true
    this.#sender.stop()
    this.#news.ring()
    const timer = setTimeout(() => this.#sender.abort(), drainMs)
    await this.#running
    clearTimeout(timer)
    this.#sender.abort()
    await this.#saving.catch(() => undefined)
    if (drainMs > 0) await this.settle().catch(() => undefined)
  }

  async #run(): Promise<void> {
    for (let loaded = false; !this.#closing;) {
      try {
        if (!loaded) await this.#deadLetters.load()
        loaded = true
        const turns = [await this.#changesTurn(), await this.#trafficTurn(), await this.#replayTurn()]
        if (!turns.includes(true)) await this.#news.wait()
      } catch (error) {
        if (error instanceof Closed) return
        this.#options.log.warn({ error }, 'events cannot be read; trying again')
        await this.#news.wait(RETRY_MS)
      }
    }
  }

  /** Delivers a batch of what was written to the outbox; false when there is nothing new. */
  async #changesTurn(): Promise<boolean> {
    const { events, place } = await this.#collect()
    if (place.sequence === this.#place.sequence) return false
    if (events.length > 0) await this.#sender.pass(events, 'keep')
    this.#place = place
    if (events.length > 0 || place.sequence - this.#options.cursor.body.sequence >= UNWRITTEN) {
      // The next batch may leave while this is written, but not the one after it.
      await this.#saving
      this.#saving = this.#sender.persist(() => this.#save())
      this.#saving.catch(() => undefined)
    }
    return true
  }

  async #collect(): Promise<{ events: readonly OutgoingEvent[]; place: Place }> {
    const { outbox, cursor } = this.#options
    const batch = new Batch(await this.#sender.limits())
    let { sequence, types } = this.#place
    for (;;) {
      const page = await outbox.read(sequence)
      if (page.length === 0) return { events: batch.events, place: { sequence, types } }
      for (const event of page) {
        // What was between is no longer kept, and with it what it said of this subscription.
        if (event.sequence !== sequence + 1) types = this.#types
        if (types.has(event.type) && !batch.add(event))
          return { events: batch.events, place: { sequence, types } }
        sequence = event.sequence
        const notice = noticeIn(event)
        if (notice?.is === 'subscription' && notice.wish.id === cursor.body.subscription_id)
          types = notice.wish.types
      }
    }
  }

  async #trafficTurn(): Promise<boolean> {
    const { traffic, metrics } = this.#options
    if (![...this.#types].some(isTraffic)) {
      this.#trafficAt = traffic.latest
      return false
    }
    const { events, lost } = traffic.read(this.#trafficAt)
    metrics.events.dropped.add(lost)
    if (events.length === 0) return false
    const batch = new Batch(await this.#sender.limits())
    for (const event of events) {
      if (this.#types.has(event.type) && !batch.add(event)) break
      this.#trafficAt = event.sequence
    }
    if (batch.events.length > 0) await this.#sender.pass(batch.events, 'drop')
    return true
  }

  async #replayTurn(): Promise<boolean> {
    if (!this.#replaying) return false
    const letters = await this.#deadLetters.list()
    const batch = new Batch(await this.#sender.limits())
    // The first that has no room ends it.
    letters.every(({ event }) => batch.add(event))
    const sent = letters.slice(0, batch.events.length)
    if (sent.length === 0) {
      this.#replaying = false
      return false
    }
    const dead = await this.#sender.pass(batch.events, 'keep')
    const gone = sent.filter(({ event }) => !dead.has(event.id))
    if (gone.length > 0) await this.#sender.persist(() => this.#deadLetters.remove(gone))
    // What is refused again would be refused for ever.
    if (dead.size > 0) this.#replaying = false
    return true
  }

  #save(): Promise<boolean> {
    const { sequence, types } = this.#place
    const changes: Partial<CursorBody> = { sequence, sources: [...types], ...this.#sender.health }
    return this.#options.cursor.write(changes)
  }
}
