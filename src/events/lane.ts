import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { Batch } from '#events/batch.ts'
import type { Pace } from '#events/backoff.ts'
import { Bell } from '#events/bell.ts'
import { Changes } from '#events/changes.ts'
import { cursorId, type Health } from '#events/cursor.ts'
import type { Destination, OutgoingEvent } from '#events/destination.ts'
import type { Gate } from '#events/gate.ts'
import { NotOurs, type Lead } from '#events/lead.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'
import type { Outbox } from '#events/outbox.ts'
import type { Readership } from '#events/readership.ts'
import type { Replay } from '#events/replays.ts'
import { Closed, Sender, type Mandate } from '#events/sender.ts'
import type { Sieve } from '#events/sieve.ts'
import { TRAFFIC_PAGE, type TrafficLog, type TrafficReader } from '#events/traffic-log.ts'
import type { Store } from '#store/store.ts'

export interface LaneParts {
  readonly store: Store
  readonly outbox: Outbox
  readonly traffic: TrafficLog
  readonly readership: Readership
  readonly lead: Lead
  readonly gate: Gate
  readonly pace: Pace
  readonly metrics: DeliveryMetrics
  readonly log: Log
  readonly now: () => number
}

/** The selection of a subscription: changes by their type, and traffic through a sieve. */
export interface Wanted {
  readonly types: ReadonlySet<string>
  readonly sieve: Sieve
}

export interface LaneOptions extends LaneParts {
  readonly subscriptionId: string
  readonly destinationId: string
  readonly open: () => Promise<Destination>
  readonly wanted: Wanted
}

const DRAIN_MS = 2000
const RETRY_MS = 1000
/** How often the health of a traffic-only destination is stored while it works. */
const HEALTH_MS = 60_000

/**
 * Delivers one subscription's events to one destination, in order, at least once. Traffic of this server's gateways is
 * always sent from here; outbox events only while this server is the leader.
 */
export class Lane {
  readonly id: string
  readonly #options: LaneOptions
  readonly #sender: Sender
  readonly #news = new Bell()
  readonly #running: Promise<void>
  #wanted: Wanted
  /** Undefined without a traffic selection: nothing is buffered for this one. */
  #traffic: TrafficReader | undefined
  #changes: Changes | undefined
  /** The outbox is not read for each traffic event. */
  #mayHaveChanges = true
  /** The epoch for which there is a cursor to take. */
  #granted = 0
  #replay: Replay | undefined
  /** Traffic events in flight or waiting for a retry. */
  #underWay = 0
  #healthWrittenAt = 0
  #closing = false

  constructor(options: LaneOptions) {
    const { subscriptionId, destinationId, now } = options
    this.id = cursorId(subscriptionId, destinationId)
    this.#options = options
    this.#wanted = options.wanted
    this.want(options.wanted)
    this.#healthWrittenAt = now()
    this.#sender = new Sender({
      ...options,
      names: { subscription: subscriptionId, destination: destinationId },
      allowed: events => options.readership.allowed(subscriptionId, events),
      healthChanged: () => this.#writeHealth(),
    })
    this.#running = inBackground({ task: 'events', log: options.log }, () => this.#run())
  }

  get subscriptionId(): string {
    return this.#options.subscriptionId
  }

  get destinationId(): string {
    return this.#options.destinationId
  }

  get sieve(): Sieve {
    return this.#wanted.sieve
  }

  /** As far as this server knows. */
  get health(): Health {
    return this.#sender.health
  }

  /** The state of the outbox part; undefined on other servers than the leader. */
  get changes(): Pick<Changes, 'sequence' | 'deadLetters'> | undefined {
    return this.#changes?.stands() ? this.#changes : undefined
  }

  /** Unprocessed traffic of this server. */
  get trafficWaiting(): number {
    return this.#underWay + (this.#traffic?.waiting ?? 0)
  }

  /** There may be something in the outbox. */
  ring(): void {
    this.#mayHaveChanges = true
    this.#news.ring()
  }

  /** There may be traffic. */
  ringForTraffic(): void {
    if (this.#traffic !== undefined) this.#news.ring()
  }

  /** The subscription was changed. Earlier outbox events still use the earlier selection. */
  want(wanted: Wanted): void {
    this.#wanted = wanted
    if (wanted.sieve.isEmpty) this.#ignoreTraffic()
    else this.#traffic ??= this.#joinTraffic()
  }

  /** This server is the leader, and there is a cursor to continue from. */
  grant(epoch: number): void {
    this.#granted = epoch
    this.ring()
  }

  /** The destination was changed. */
  reload(): void {
    this.#sender.reload()
  }

  /** Sends dead letters again. */
  replay(replay: Replay): void {
    if (replay.version === this.#replay?.version) return
    this.#replay = replay
    this.#sender.reload()
    this.#news.ring()
  }

  /** Stores the position, so that nothing before it has to be kept. */
  async settle(): Promise<void> {
    if (this.#changes?.stands()) await this.#changes.settle()
  }

  /** Finishes what is in flight, but does not wait for a hanging destination. */
  async close(drainMs = DRAIN_MS): Promise<void> {
    this.#closing = true
    this.#ignoreTraffic()
    this.#sender.stop()
    this.#news.ring()
    const timer = setTimeout(() => this.#sender.abort(), drainMs)
    await this.#running
    clearTimeout(timer)
    this.#sender.abort()
    await this.#changes?.saved()
    if (drainMs > 0) await this.settle().catch(() => undefined)
  }

  async #run(): Promise<void> {
    while (!this.#closing) {
      try {
        const turns = [await this.#changesTurn(), await this.#trafficTurn(), await this.#replayTurn()]
        if (!turns.includes(true)) await this.#news.wait()
      } catch (error) {
        if (error instanceof Closed) return
        if (error instanceof NotOurs) {
          this.#lost()
          continue
        }
        this.#options.log.warn({ error }, 'events cannot be read; trying again')
        await this.#news.wait(RETRY_MS)
      }
    }
  }

  /** A late lease may be renewed, and then it continues from here; otherwise another server has it. */
  #lost(): void {
    const { lead } = this.#options
    if (this.#changes?.epoch === lead.epoch && !lead.held) return
    this.#changes = undefined
    this.#replay = undefined
    this.#granted = 0
    this.#sender.handOver()
  }

  async #changesTurn(): Promise<boolean> {
    const { lead } = this.#options
    if (this.#changes !== undefined && this.#changes.epoch !== lead.epoch) this.#lost()
    if (!lead.held || this.#granted !== lead.epoch) return false
    this.#changes ??= await this.#take(lead.epoch)
    // None: it is granted again when there is one.
    if (this.#changes === undefined) this.#granted = 0
    if (!this.#mayHaveChanges) return false
    this.#mayHaveChanges = false
    // Also when it fails.
    let isMore = true
    try {
      isMore = (await this.#changes?.deliver()) ?? false
    } finally {
      if (isMore) this.#mayHaveChanges = true
    }
    return isMore
  }

  #take(epoch: number): Promise<Changes | undefined> {
    const options = { ...this.#options, sender: this.#sender, types: () => this.#wanted.types }
    return Changes.take(this.id, epoch, options)
  }

  async #trafficTurn(): Promise<boolean> {
    const reader = this.#traffic
    if (reader === undefined) return false
    const { sieve } = this.#wanted
    const limits = await this.#sender.limits()
    const { numbers, events } = reader.read()
    if (events.length === 0) return false
    const batch = new Batch(limits)
    for (const [at, event] of events.entries()) {
      const passed = sieve.pass(event)
      if (passed !== undefined && !batch.add(passed)) break
      reader.place = numbers[at] ?? reader.place
    }
    // Events a moment later wait for the next notification, and are sent together.
    const isMore = reader.place !== numbers.at(-1) || events.length === TRAFFIC_PAGE
    if (batch.events.length > 0) await this.#sendTraffic(batch.events)
    return isMore
  }

  #joinTraffic(): TrafficReader {
    const { traffic, metrics } = this.#options
    return traffic.join({
      wants: type => this.#wanted.sieve.wants(type),
      missed: () => metrics.events.dropped.add(),
    })
  }

  #ignoreTraffic(): void {
    this.#traffic?.leave()
    this.#traffic = undefined
  }

  async #sendTraffic(events: readonly OutgoingEvent[]): Promise<void> {
    const { metrics, now } = this.#options
    const mandate: Mandate = {
      stands: () => true,
      giveUp: async lost => metrics.events.dropped.add(lost.length),
    }
    this.#underWay = events.length
    await this.#sender.pass(events, mandate).finally(() => (this.#underWay = 0))
    if (now() - this.#healthWrittenAt >= HEALTH_MS) await this.#sender.persist(() => this.#writeHealth())
  }

  async #replayTurn(): Promise<boolean> {
    const replay = this.#replay
    if (replay === undefined || !this.#changes?.stands()) return false
    const isDone = await this.#changes.deliverAgain(replay)
    if (isDone && this.#replay === replay) this.#replay = undefined
    return true
  }

  /** Only the leader has a cursor to write to; traffic continues on other servers. */
  async #writeHealth(): Promise<void> {
    this.#healthWrittenAt = this.#options.now()
    try {
      if (this.#changes?.stands()) await this.#changes.save()
    } catch (error) {
      if (!(error instanceof NotOurs)) throw error
    }
  }
}
