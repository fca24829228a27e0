import { inBackground } from '#base/background.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { renderMetrics } from '#base/metrics-text.ts'
import type { Sealer } from '#base/secrets.ts'
import { defaultDeliveryTimings, type DeliveryTimings } from '#events/backoff.ts'
import { Cursors, firstCursors } from '#events/cursors.ts'
import {
  deliveryStatuses,
  isMeant,
  type DeliveryStatus,
  type DeliveryFilter,
} from '#events/delivery-status.ts'
import { DeliveryError, type Destination, type OutgoingEvent } from '#events/destination.ts'
import { envelope } from '#events/envelope.ts'
import { Semaphore } from '#events/semaphore.ts'
import { Deliveries, type StoredTarget } from '#events/deliveries.ts'
import { LeaderLease, LeaseLost } from '#events/leader-lease.ts'
import { deliveryMetrics } from '#events/metrics.ts'
import { metricsPerDelivery, observe } from '#events/observe.ts'
import { Outbox } from '#events/outbox.ts'
import { Readership } from '#events/readership.ts'
import { Replays } from '#events/replays.ts'
import { TrafficLog } from '#events/traffic-log.ts'
import type { Store } from '#store/store.ts'

export interface EngineOptions {
  readonly store: Store
  /** No other process can use the store. */
  readonly alone?: boolean
  readonly sealer: Sealer
  readonly accountId: string
  /** Makes what sends to a target. */
  readonly build: (target: StoredTarget) => Destination
  readonly log: Log
  readonly now: () => number
  readonly timings?: Partial<DeliveryTimings>
  /** The needed fields of each subscribed traffic event type, whenever they change. */
  readonly onWanted?: (wanted: ReadonlyMap<string, ReadonlySet<string>>) => void
}

interface Started {
  readonly deliveries: Deliveries
  readonly cursors: Cursors
  readonly outbox: Outbox
}

/** Concurrent batches. */
const PARALLEL = 16
const TEST_MS = 15_000
/** How often the lease is checked within its duration. */
const RENEWALS = 5
const TEST_TYPE = 'test.v0'

/** Delivers events: changes from the store's outbox, and traffic events of the gateway. */
export class EventEngine {
  readonly #options: EngineOptions
  readonly #timings: DeliveryTimings
  readonly #metrics = deliveryMetrics()
  readonly #traffic = new TrafficLog()
  readonly #lease: LeaderLease
  readonly #replays: Replays
  #parts: Started | undefined
  #wanted: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  #timer: NodeJS.Timeout | undefined
  readonly #intervals: NodeJS.Timeout[] = []
  #reading: Promise<void> | undefined
  #renewing: Promise<void> | undefined
  #opening: Promise<void> | undefined
  #ledEpoch = 0
  #replaysAsked = true
  #closed = false

  constructor(options: EngineOptions) {
    const { store, now, log } = options
    this.#options = options
    this.#timings = { ...defaultDeliveryTimings, ...options.timings }
    this.#replays = new Replays(store)
    const begin = async () => {
      const sequence = await store.lastSequence()
      return { sequence, writes: await firstCursors(store, sequence, log) }
    }
    this.#lease = new LeaderLease({
      store,
      // It may change while this runs.
      get alone() {
        return options.alone ?? false
      },
      leaseMs: this.#timings.leaseMs,
      now,
      begin,
    })
    observe(this.#metrics, {
      deliveries: () => this.#parts?.deliveries.all ?? [],
      latest: () => this.#parts?.deliveries.sequence ?? 0,
      delivers: () => this.#lease.isLeader,
    })
  }

  async start(): Promise<void> {
    const { store } = this.#options
    store.onCommit(() => this.wake())
    this.#intervals.push(setInterval(() => this.#poll(), this.#timings.pollMs).unref())
    this.#intervals.push(setInterval(() => this.#renewLease(), this.#timings.leaseMs / RENEWALS).unref())
    this.#renewLease()
    await this.#renewing
    await this.#openParts()
  }

  /** An unavailable store delays deliveries; the rest of the server starts without them. */
  #openParts(): Promise<void> {
    const { store, log } = this.#options
    const failed = 'events cannot be delivered yet'
    this.#opening ??= inBackground({ task: 'events', log, failed }, async () => {
      const parts = this.#makeParts(new Outbox(store, await store.lastSequence()))
      await parts.deliveries.start()
      this.#parts = parts
      this.wake()
    }).then(() => void (this.#opening = undefined))
    return this.#opening
  }

  /** Something may have happened. It is checked a moment later, so that concurrent events are sent together. */
  wake(): void {
    if (this.#closed || this.#parts === undefined) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#reading ??= inBackground({ task: 'events', log: this.#options.log }, () => this.#read()).then(
        () => void (this.#reading = undefined),
      )
    }, this.#timings.gatherMs)
  }

  /** Takes traffic events; unselected ones cost nothing more. */
  publish(events: readonly OutgoingEvent[], dropped = 0): void {
    if (this.#closed) return
    this.#metrics.events.dropped.add(dropped)
    this.#traffic.forgetRead()
    let isWanted = false
    for (const event of events) {
      if (!this.#wanted.has(event.type)) continue
      this.#traffic.add(event)
      isWanted = true
    }
    if (isWanted) for (const delivery of this.#parts?.deliveries.all ?? []) delivery.wakeForTraffic()
  }

  /** The state of each selected delivery, on every server. */
  async deliveries(only: DeliveryFilter = {}): Promise<DeliveryStatus[]> {
    if (this.#parts === undefined) return []
    const { deliveries, outbox } = this.#parts
    const meant = deliveries.all.filter(delivery => isMeant(delivery, only))
    return deliveryStatuses(meant, { store: this.#options.store, outbox, latest: deliveries.sequence })
  }

  /** Replays the dead letters of a delivery, on the leader; false when there is no such delivery. */
  async replay(id: string): Promise<boolean> {
    const isAsked = await this.#replays.ask(id)
    if (isAsked) this.#poll()
    return isAsked
  }

  /** Sends a test event, without a subscription. Rejects with a `DeliveryError`. */
  async test(destinationId: string): Promise<void> {
    const destination = await this.#parts?.deliveries.open(destinationId)
    if (destination === undefined) throw new DeliveryError('The server is starting.')
    try {
      await destination.send([this.#testEvent(destinationId)], AbortSignal.timeout(TEST_MS))
    } finally {
      destination.close()
    }
  }

  /** Everything in the outbox up to this number was delivered. */
  async needed(): Promise<number> {
    if (this.#parts === undefined) return 0
    const { deliveries, cursors } = this.#parts
    if (this.#lease.isLeader) {
      await Promise.all(deliveries.all.map(delivery => delivery.settle()))
      await this.#lease.commit([])
    }
    return Math.min(deliveries.sequence, await this.#lease.written(), await cursors.needed())
  }

  metrics(): string {
    const perDelivery = metricsPerDelivery(this.#parts?.deliveries.all ?? [], this.#options.now())
    return renderMetrics([...this.#metrics.registry.snapshot(), ...perDelivery])
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#opening
    await this.#reading
    await this.#parts?.deliveries.close()
    // The lease was renewed up to here, for batches in flight.
    for (const interval of this.#intervals) clearInterval(interval)
    await this.#renewing
    await this.#lease.release().catch(() => undefined)
  }

  #makeParts(outbox: Outbox): Started {
    const { store, sealer, build, log, now, onWanted } = this.#options
    const lease = this.#lease
    const deliveries = new Deliveries({
      store,
      sealer,
      build,
      log,
      now,
      lease,
      outbox,
      timings: this.#timings,
      metrics: this.#metrics,
      traffic: this.#traffic,
      readership: new Readership(store, log),
      semaphore: new Semaphore(PARALLEL),
      onWanted: wanted => {
        this.#wanted = wanted
        onWanted?.(wanted)
      },
    })
    return { deliveries, outbox, cursors: new Cursors({ store, outbox, lease, log }) }
  }

  #poll(): void {
    this.#replaysAsked = true
    if (this.#options.alone && !this.#lease.isLeader) this.#renewLease()
    if (this.#parts === undefined) void this.#openParts()
    else this.wake()
  }

  #renewLease(): void {
    const wasHeld = this.#lease.isLeader
    const { log } = this.#options
    const failed = 'cannot determine the event delivery leader'
    this.#renewing ??= inBackground({ task: 'events', log, failed }, () => this.#lease.renew()).finally(
      () => {
        this.#renewing = undefined
        if (this.#lease.isLeader && !wasHeld) this.#poll()
      },
    )
  }

  async #read(): Promise<void> {
    if (this.#parts === undefined) return
    const { deliveries } = this.#parts
    try {
      await deliveries.read()
      if (this.#lease.isLeader) await this.#runAsLeader(this.#parts)
      for (const delivery of deliveries.all) delivery.wake()
    } catch (error) {
      if (error instanceof LeaseLost) return
      // The next poll retries.
      this.#options.log.warn({ error }, 'the outbox of events cannot be read')
    }
  }

  /** What only the leader does. */
  async #runAsLeader({ deliveries, cursors }: Started): Promise<void> {
    const { epoch } = this.#lease
    await cursors.keepUp(deliveries.sequence)
    for (const delivery of deliveries.all) delivery.grant(epoch)
    if (this.#ledEpoch !== epoch && !this.#options.alone)
      this.#options.log.info({ epoch }, 'this server delivers events')
    this.#ledEpoch = epoch
    if (!this.#replaysAsked) return
    this.#replaysAsked = false
    for (const replay of await this.#replays.list()) deliveries.find(replay.cursorId)?.replay(replay)
  }

  #testEvent(destinationId: string): OutgoingEvent {
    const { accountId, now } = this.#options
    const object = JSON.stringify({ destination_id: destinationId })
    const event = { id: newId('ev', now()), type: TEST_TYPE, at: timestamp(now()), object }
    return envelope(event, accountId)
  }
}
