import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { DeliveryAttempt } from '#events/attempts.ts'
import { Batch } from '#events/batch.ts'
import type { DeliveryTimings } from '#events/backoff.ts'
import { Notifier } from '#events/notifier.ts'
import { OutboxDelivery } from '#events/outbox-delivery.ts'
import { cursorId, type Health } from '#events/cursor.ts'
import type { Destination, OutgoingEvent } from '#events/destination.ts'
import type { Semaphore } from '#events/semaphore.ts'
import { LeaseLost, type LeaderLease } from '#events/leader-lease.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'
import type { Outbox } from '#events/outbox.ts'
import type { Readership } from '#events/readership.ts'
import type { Replay } from '#events/replays.ts'
import { DeliveryClosed, Sender, type DeliveryScope } from '#events/sender.ts'
import type { TrafficFilter } from '#events/traffic-filter.ts'
import { TRAFFIC_PAGE, type TrafficLog, type TrafficReader } from '#events/traffic-log.ts'
import type { Store } from '#store/store.ts'

export interface DeliveryParts {
  readonly store: Store
  readonly outbox: Outbox
  readonly traffic: TrafficLog
  readonly readership: Readership
  readonly lease: LeaderLease
  readonly semaphore: Semaphore
  readonly timings: DeliveryTimings
  readonly metrics: DeliveryMetrics
  readonly log: Log
  readonly now: () => number
}

/** The selection of a subscription: changes by their type, and traffic through a filter. */
export interface WantedEvents {
  readonly types: ReadonlySet<string>
  readonly filter: TrafficFilter
}

interface DeliveryOptions extends DeliveryParts {
  readonly subscriptionId: string
  readonly destinationId: string
  readonly open: () => Promise<Destination>
  readonly wanted: WantedEvents
}

const DRAIN_MS = 2000
const RETRY_MS = 1000
/** How often the health of a traffic-only destination is stored while it works. */
const HEALTH_MS = 60_000

/**
 * Delivers one subscription's events to one destination, in order, at least once. Traffic of this server's gateways is
 * always sent from here; outbox events only while this server is the leader.
 */
export class Delivery {
  readonly id: string
  readonly #options: DeliveryOptions
  readonly #sender: Sender
  readonly #wakeup = new Notifier()
  readonly #running: Promise<void>
  #wanted: WantedEvents
  /** Undefined without a traffic selection: nothing is buffered for this one. */
  #traffic: TrafficReader | undefined
  #outboxDelivery: OutboxDelivery | undefined
  /** The outbox is not read for each traffic event. */
  #mayHaveChanges = true
  /** The epoch for which there is a cursor to take. */
  #granted = 0
  #taking: Promise<void> | undefined
  #replay: Replay | undefined
  /** Traffic events in flight or waiting for a retry. */
  #underWay = 0
  #healthWrittenAt = 0
  #closing = false

  constructor(options: DeliveryOptions) {
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

  get filter(): TrafficFilter {
    return this.#wanted.filter
  }

  /** As far as this server knows. */
  get health(): Health {
    return this.#sender.health
  }

  /** The last attempts of this server. */
  get attempts(): readonly DeliveryAttempt[] {
    return this.#sender.attempts
  }

  /** The state of the outbox part; undefined on other servers than the leader. */
  get outboxDelivery(): Pick<OutboxDelivery, 'sequence' | 'deadLetters'> | undefined {
    return this.#outboxDelivery?.isValid() ? this.#outboxDelivery : undefined
  }

  /** Unprocessed traffic of this server. */
  get trafficWaiting(): number {
    return this.#underWay + (this.#traffic?.waiting ?? 0)
  }

  /** There may be something in the outbox. */
  wake(): void {
    this.#mayHaveChanges = true
    this.#wakeup.notify()
  }

  /** There may be traffic. */
  wakeForTraffic(): void {
    if (this.#traffic !== undefined) this.#wakeup.notify()
  }

  /** The subscription was changed. Earlier outbox events still use the earlier selection. */
  want(wanted: WantedEvents): void {
    this.#wanted = wanted
    if (wanted.filter.isEmpty) this.#ignoreTraffic()
    else this.#traffic ??= this.#joinTraffic()
  }

  /** This server is the leader, and there is a cursor to continue from. */
  grant(epoch: number): void {
    this.#granted = epoch
    this.wake()
    // Traffic may be retried for hours: no turn takes the cursor until then, and other servers read the health from it.
    if (this.#underWay > 0 && this.#outboxDelivery === undefined)
      void inBackground({ task: 'events', log: this.#options.log }, async () => {
        await this.#take()
        await this.#writeHealth()
      })
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
    this.#wakeup.notify()
  }

  /** Stores the position, so that nothing before it has to be kept. */
  async settle(): Promise<void> {
    if (this.#outboxDelivery?.isValid()) await this.#outboxDelivery.settle()
  }

  /** Finishes what is in flight, but does not wait for a hanging destination. */
  async close(drainMs = DRAIN_MS): Promise<void> {
    this.#closing = true
    this.#ignoreTraffic()
    this.#sender.stop()
    this.#wakeup.notify()
    const timer = setTimeout(() => this.#sender.abort(), drainMs)
    await this.#running
    clearTimeout(timer)
    this.#sender.abort()
    await this.#taking?.catch(() => undefined)
    await this.#outboxDelivery?.saved()
    if (drainMs > 0) await this.settle().catch(() => undefined)
  }

  async #run(): Promise<void> {
    while (!this.#closing) {
      try {
        const turns = [await this.#outboxTurn(), await this.#trafficTurn(), await this.#replayTurn()]
        if (!turns.includes(true)) await this.#wakeup.wait()
      } catch (error) {
        if (error instanceof DeliveryClosed) return
        if (error instanceof LeaseLost) {
          this.#leaseLost()
          continue
        }
        this.#options.log.warn({ error }, 'events cannot be read; trying again')
        await this.#wakeup.wait(RETRY_MS)
      }
    }
  }

  /** A late lease may be renewed, and then it continues from here; otherwise another server has it. */
  #leaseLost(): void {
    const { lease } = this.#options
    if (this.#outboxDelivery?.epoch === lease.epoch && !lease.isLeader) return
    this.#outboxDelivery = undefined
    this.#replay = undefined
    this.#granted = 0
    this.#sender.resetHealth()
  }

  async #outboxTurn(): Promise<boolean> {
    const { lease } = this.#options
    if (this.#outboxDelivery !== undefined && this.#outboxDelivery.epoch !== lease.epoch) this.#leaseLost()
    if (!lease.isLeader || this.#granted !== lease.epoch) return false
    await this.#take()
    if (!this.#mayHaveChanges) return false
    this.#mayHaveChanges = false
    // Also when it fails.
    let isMore = true
    try {
      isMore = (await this.#outboxDelivery?.deliver()) ?? false
    } finally {
      if (isMore) this.#mayHaveChanges = true
    }
    return isMore
  }

  /** Takes the granted cursor, unless it is held already. */
  async #take(): Promise<void> {
    if (this.#outboxDelivery !== undefined) return
    this.#taking ??= this.#takeGranted().finally(() => {
      this.#taking = undefined
    })
    await this.#taking
  }

  async #takeGranted(): Promise<void> {
    const options = { ...this.#options, sender: this.#sender, types: () => this.#wanted.types }
    this.#outboxDelivery = await OutboxDelivery.take(this.id, this.#granted, options)
    // None: it is granted again when there is one.
    if (this.#outboxDelivery === undefined) this.#granted = 0
  }

  async #trafficTurn(): Promise<boolean> {
    const reader = this.#traffic
    if (reader === undefined) return false
    const { filter } = this.#wanted
    const limits = await this.#sender.limits()
    const { numbers, events } = reader.read()
    if (events.length === 0) return false
    const batch = new Batch(limits)
    for (const [at, event] of events.entries()) {
      const passed = filter.apply(event)
      if (passed !== undefined && !batch.add(passed)) break
      reader.position = numbers[at] ?? reader.position
    }
    // Events a moment later wait for the next notification, and are sent together.
    const isMore = reader.position !== numbers.at(-1) || events.length === TRAFFIC_PAGE
    if (batch.events.length > 0) await this.#sendTraffic(batch.events)
    return isMore
  }

  #joinTraffic(): TrafficReader {
    const { traffic, metrics } = this.#options
    return traffic.join({
      wants: type => this.#wanted.filter.wants(type),
      missed: () => metrics.events.dropped.add(),
    })
  }

  #ignoreTraffic(): void {
    this.#traffic?.leave()
    this.#traffic = undefined
  }

  async #sendTraffic(events: readonly OutgoingEvent[]): Promise<void> {
    const { metrics, now } = this.#options
    const scope: DeliveryScope = {
      isValid: () => true,
      onDead: async lost => metrics.events.dropped.add(lost.length),
    }
    this.#underWay = events.length
    await this.#sender.send(events, scope).finally(() => (this.#underWay = 0))
    if (now() - this.#healthWrittenAt >= HEALTH_MS) await this.#sender.persist(() => this.#writeHealth())
  }

  async #replayTurn(): Promise<boolean> {
    const replay = this.#replay
    if (replay === undefined || !this.#outboxDelivery?.isValid()) return false
    const isDone = await this.#outboxDelivery.replayDeadLetters(replay)
    if (isDone && this.#replay === replay) this.#replay = undefined
    return true
  }

  /** Only the leader has a cursor to write to; traffic continues on other servers. */
  async #writeHealth(): Promise<void> {
    this.#healthWrittenAt = this.#options.now()
    try {
      if (this.#outboxDelivery?.isValid()) await this.#outboxDelivery.save()
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
    }
  }
}
