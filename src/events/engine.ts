import { inBackground } from '#base/background.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { renderMetrics } from '#base/metrics-text.ts'
import type { Sealer } from '#base/secrets.ts'
import { usualPace, type Pace } from '#events/backoff.ts'
import { Cursors, firstCursors } from '#events/cursors.ts'
import { deliveriesOf, isMeant, type Delivery, type DeliveryFilter } from '#events/deliveries.ts'
import { DeliveryError, type Destination, type OutgoingEvent } from '#events/destination.ts'
import { envelope } from '#events/envelope.ts'
import { Gate } from '#events/gate.ts'
import { Lanes, type Target } from '#events/lanes.ts'
import { Lead, NotOurs } from '#events/lead.ts'
import { deliveryMetrics } from '#events/metrics.ts'
import { laneMetrics, observe } from '#events/observe.ts'
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
  readonly build: (target: Target) => Destination
  readonly log: Log
  readonly now: () => number
  readonly pace?: Partial<Pace>
  /** The needed fields of each subscribed traffic event type, whenever they change. */
  readonly onWanted?: (wanted: ReadonlyMap<string, ReadonlySet<string>>) => void
}

interface Started {
  readonly lanes: Lanes
  readonly cursors: Cursors
  readonly outbox: Outbox
}

/** Concurrent batches. */
const PARALLEL = 16
const TEST_MS = 15_000
/** How often the lease is checked within its duration. */
const LOOKS = 5
const TEST_TYPE = 'test.v0'

/** Delivers events: changes from the store's outbox, and traffic events of the gateway. */
export class EventEngine {
  readonly #options: EngineOptions
  readonly #pace: Pace
  readonly #metrics = deliveryMetrics()
  readonly #traffic = new TrafficLog()
  readonly #lead: Lead
  readonly #replays: Replays
  #parts: Started | undefined
  #wanted: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  #timer: NodeJS.Timeout | undefined
  readonly #intervals: NodeJS.Timeout[] = []
  #reading: Promise<void> | undefined
  #looking: Promise<void> | undefined
  #opening: Promise<void> | undefined
  #ledEpoch = 0
  #replaysAsked = true
  #closed = false

  constructor(options: EngineOptions) {
    const { store, now, log } = options
    this.#options = options
    this.#pace = { ...usualPace, ...options.pace }
    this.#replays = new Replays(store)
    const begin = async () => {
      const sequence = await store.lastSequence()
      return { sequence, writes: await firstCursors(store, sequence, log) }
    }
    this.#lead = new Lead({
      store,
      // It may change while this runs.
      get alone() {
        return options.alone ?? false
      },
      leaseMs: this.#pace.leaseMs,
      now,
      begin,
    })
    observe(this.#metrics, {
      lanes: () => this.#parts?.lanes.all ?? [],
      latest: () => this.#parts?.lanes.sequence ?? 0,
      delivers: () => this.#lead.held,
    })
  }

  async start(): Promise<void> {
    const { store } = this.#options
    store.onCommit(() => this.wake())
    this.#intervals.push(setInterval(() => this.#poll(), this.#pace.pollMs).unref())
    this.#intervals.push(setInterval(() => this.#look(), this.#pace.leaseMs / LOOKS).unref())
    this.#look()
    await this.#looking
    await this.#openParts()
  }

  /** An unavailable store delays deliveries; the rest of the server starts without them. */
  #openParts(): Promise<void> {
    const { store, log } = this.#options
    const failed = 'events cannot be delivered yet'
    this.#opening ??= inBackground({ task: 'events', log, failed }, async () => {
      const parts = this.#makeParts(new Outbox(store, await store.lastSequence()))
      await parts.lanes.start()
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
    }, this.#pace.gatherMs)
  }

  /** Takes traffic events; unselected ones cost nothing more. */
  tell(events: readonly OutgoingEvent[], dropped = 0): void {
    if (this.#closed) return
    this.#metrics.events.dropped.add(dropped)
    this.#traffic.forgetRead()
    let isWanted = false
    for (const event of events) {
      if (!this.#wanted.has(event.type)) continue
      this.#traffic.add(event)
      isWanted = true
    }
    if (isWanted) for (const lane of this.#parts?.lanes.all ?? []) lane.ringForTraffic()
  }

  /** The state of each selected delivery, whichever server is the leader. */
  async deliveries(only: DeliveryFilter = {}): Promise<Delivery[]> {
    if (this.#parts === undefined) return []
    const { lanes, outbox } = this.#parts
    const meant = lanes.all.filter(lane => isMeant(lane, only))
    return deliveriesOf(meant, { store: this.#options.store, outbox, latest: lanes.sequence })
  }

  /** Replays the dead letters of a delivery, on the leader; false when there is no such delivery. */
  async replay(id: string): Promise<boolean> {
    const isAsked = await this.#replays.ask(id)
    if (isAsked) this.#poll()
    return isAsked
  }

  /** Sends a test event, without a subscription. Rejects with a `DeliveryError`. */
  async test(destinationId: string): Promise<void> {
    const destination = await this.#parts?.lanes.open(destinationId)
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
    const { lanes, cursors } = this.#parts
    if (this.#lead.held) {
      await Promise.all(lanes.all.map(lane => lane.settle()))
      await this.#lead.commit([])
    }
    return Math.min(lanes.sequence, await this.#lead.written(), await cursors.needed())
  }

  metrics(): string {
    const lanes = laneMetrics(this.#parts?.lanes.all ?? [], this.#options.now())
    return renderMetrics([...this.#metrics.registry.snapshot(), ...lanes])
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#opening
    await this.#reading
    await this.#parts?.lanes.close()
    // The lease was renewed up to here, for batches in flight.
    for (const interval of this.#intervals) clearInterval(interval)
    await this.#looking
    await this.#lead.release().catch(() => undefined)
  }

  #makeParts(outbox: Outbox): Started {
    const { store, sealer, build, log, now, onWanted } = this.#options
    const lead = this.#lead
    const lanes = new Lanes({
      store,
      sealer,
      build,
      log,
      now,
      lead,
      outbox,
      pace: this.#pace,
      metrics: this.#metrics,
      traffic: this.#traffic,
      readership: new Readership(store, log),
      gate: new Gate(PARALLEL),
      onWanted: wanted => {
        this.#wanted = wanted
        onWanted?.(wanted)
      },
    })
    return { lanes, outbox, cursors: new Cursors({ store, outbox, lead, log }) }
  }

  #poll(): void {
    this.#replaysAsked = true
    if (this.#options.alone && !this.#lead.held) this.#look()
    if (this.#parts === undefined) void this.#openParts()
    else this.wake()
  }

  #look(): void {
    const wasHeld = this.#lead.held
    const { log } = this.#options
    const failed = 'cannot determine the event delivery leader'
    this.#looking ??= inBackground({ task: 'events', log, failed }, () => this.#lead.look()).finally(() => {
      this.#looking = undefined
      if (this.#lead.held && !wasHeld) this.#poll()
    })
  }

  async #read(): Promise<void> {
    if (this.#parts === undefined) return
    const { lanes } = this.#parts
    try {
      await lanes.read()
      if (this.#lead.held) await this.#leadOn(this.#parts)
      for (const lane of lanes.all) lane.ring()
    } catch (error) {
      if (error instanceof NotOurs) return
      // The next poll retries.
      this.#options.log.warn({ error }, 'the outbox of events cannot be read')
    }
  }

  /** What only the leader does. */
  async #leadOn({ lanes, cursors }: Started): Promise<void> {
    const { epoch } = this.#lead
    await cursors.keepUp(lanes.sequence)
    for (const lane of lanes.all) lane.grant(epoch)
    if (this.#ledEpoch !== epoch && !this.#options.alone)
      this.#options.log.info({ epoch }, 'this server delivers events')
    this.#ledEpoch = epoch
    if (!this.#replaysAsked) return
    this.#replaysAsked = false
    for (const replay of await this.#replays.list()) lanes.find(replay.cursorId)?.replay(replay)
  }

  #testEvent(destinationId: string): OutgoingEvent {
    const { accountId, now } = this.#options
    const object = JSON.stringify({ destination_id: destinationId })
    const told = { id: newId('ev', now()), type: TEST_TYPE, at: timestamp(now()), object }
    return envelope(told, accountId)
  }
}
