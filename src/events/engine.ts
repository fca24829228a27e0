import { newId, timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { renderMetrics } from '#base/metrics-text.ts'
import type { Sealer } from '#base/secrets.ts'
import { usualPace, type Pace } from '#events/backoff.ts'
import { DeliveryError, type Destination, type OutgoingEvent } from '#events/destination.ts'
import { envelope } from '#events/envelope.ts'
import { Gate } from '#events/gate.ts'
import { Lanes, type Target } from '#events/lanes.ts'
import { deliveryMetrics } from '#events/metrics.ts'
import { Outbox } from '#events/outbox.ts'
import { TrafficLog } from '#events/traffic-log.ts'
import type { Store } from '#store/store.ts'

export interface EngineOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly accountId: string
  /** Makes what sends to a target. */
  readonly build: (target: Target) => Destination
  readonly log: Log
  readonly now: () => number
  readonly pace?: Partial<Pace>
  /** The types that some subscription wants, whenever they change. */
  readonly onTypes?: (types: ReadonlySet<string>) => void
}

/** What the gateway tells of; `object` is JSON text. */
export interface Told {
  readonly id: string
  readonly type: string
  /** RFC 3339. */
  readonly at: string
  readonly object: string
}

/** So many batches are on their way at a time. */
const PARALLEL = 16
const TEST_MS = 15_000
export const TEST_TYPE = 'test.v0'

/** Delivers events: changes from the store's outbox, and what the gateway tells. */
export class EventEngine {
  readonly #options: EngineOptions
  readonly #pace: Pace
  readonly #metrics = deliveryMetrics()
  readonly #traffic = new TrafficLog()
  #lanes: Lanes | undefined
  #types: ReadonlySet<string> = new Set()
  #timer: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined
  #reading: Promise<void> | undefined
  #latest = 0
  #closed = false

  constructor(options: EngineOptions) {
    this.#options = options
    this.#pace = { ...usualPace, ...options.pace }
    this.#observe()
  }

  async start(): Promise<void> {
    const { store, sealer, build, log, now } = this.#options
    this.#latest = await store.lastSequence()
    const lanes = new Lanes({
      store,
      sealer,
      build,
      log,
      now,
      pace: this.#pace,
      metrics: this.#metrics,
      traffic: this.#traffic,
      outbox: new Outbox(store, this.#latest),
      gate: new Gate(PARALLEL),
      onTypes: types => {
        this.#types = types
        this.#options.onTypes?.(types)
      },
    })
    await lanes.start()
    this.#lanes = lanes
    store.onCommit(() => this.wake())
    this.#poll = setInterval(() => this.wake(), this.#pace.pollMs).unref()
    this.wake()
  }

  /** Something may have happened. It is looked at a moment later, so that what comes together leaves together. */
  wake(): void {
    if (this.#closed || this.#lanes === undefined) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    }, this.#pace.gatherMs)
  }

  /** Takes what the gateway tells; what nobody wants costs nothing more. */
  tell(events: readonly Told[], dropped = 0): void {
    if (this.#closed) return
    this.#metrics.events.dropped.add(dropped)
    let wanted = false
    for (const event of events) {
      if (!this.#types.has(event.type)) continue
      this.#traffic.add(envelope(event, this.#options.accountId))
      wanted = true
    }
    if (wanted) this.wake()
  }

  get states() {
    return (this.#lanes?.all ?? []).map(lane => ({
      ...lane.state,
      waiting: Math.max(0, this.#latest - lane.position.sequence),
    }))
  }

  /** Sends the dead letters of a lane again; false when there is no such lane. */
  replay(id: string): boolean {
    const lane = this.#lanes?.find(id)
    lane?.replay()
    return lane !== undefined
  }

  /** Sends one event that says that it is a test, past all subscriptions. Rejects with a `DeliveryError`. */
  async test(destinationId: string): Promise<void> {
    const destination = await this.#lanes?.open(destinationId)
    if (destination === undefined) throw new DeliveryError('The server is starting.')
    try {
      await destination.send([this.#testEvent(destinationId)], AbortSignal.timeout(TEST_MS))
    } finally {
      destination.close()
    }
  }

  /** Everything in the outbox up to this number was delivered. */
  async needed(): Promise<number> {
    return (await this.#lanes?.needed()) ?? 0
  }

  metrics(): string {
    return renderMetrics(this.#metrics.registry.snapshot())
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#poll)
    clearTimeout(this.#timer)
    await this.#reading
    await this.#lanes?.close()
  }

  async #read(): Promise<void> {
    const lanes = this.#lanes
    if (lanes === undefined) return
    try {
      await lanes.read()
      this.#latest = lanes.sequence
      for (const lane of lanes.all) lane.ring()
    } catch (error) {
      // The next poll tries again.
      this.#options.log.warn({ error }, 'the outbox of events cannot be read')
    }
  }

  #testEvent(destinationId: string): OutgoingEvent {
    const { accountId, now } = this.#options
    const object = JSON.stringify({ destination_id: destinationId })
    const told = { id: newId('ev', now()), type: TEST_TYPE, at: timestamp(now()), object }
    return envelope(told, accountId)
  }

  #observe(): void {
    const { waiting, failing, deadLetters } = this.#metrics
    const sum = (of: (lane: Lanes['all'][number]) => number): number =>
      (this.#lanes?.all ?? []).reduce((total, lane) => total + of(lane), 0)
    waiting.from(() => sum(lane => Math.max(0, this.#latest - lane.position.sequence)))
    failing.from(() => sum(lane => (lane.state.failing_since === null ? 0 : 1)))
    deadLetters.from(() => sum(lane => lane.state.dead_letters))
  }
}
