import { timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { DeliveryAttempts, type DeliveryAttempt } from '#events/attempts.ts'
import { Batch } from '#events/batch.ts'
import { waitAfter, type DeliveryTimings } from '#events/backoff.ts'
import { Notifier } from '#events/notifier.ts'
import { unknownHealth, type Health } from '#events/cursor.ts'
import { DeliveryError, type Destination, type OutgoingEvent } from '#events/destination.ts'
import type { Semaphore } from '#events/semaphore.ts'
import { mergedHealth } from '#events/health.ts'
import { LeaseLost } from '#events/leader-lease.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'

/** Thrown from every wait when the delivery is closed. */
export class DeliveryClosed extends Error {
  override readonly name = 'DeliveryClosed'
}

interface SenderOptions {
  /** Named in the log. */
  readonly names: { readonly subscription: string; readonly destination: string }
  /** Builds the destination from its current configuration. */
  readonly open: () => Promise<Destination>
  /** It has started to fail, works again, or is retried only much later. */
  readonly healthChanged: (health: Health) => Promise<void>
  /** The events among these that may be sent now. */
  readonly allowed: (events: readonly OutgoingEvent[]) => Promise<readonly OutgoingEvent[]>
  readonly semaphore: Semaphore
  readonly timings: DeliveryTimings
  readonly metrics: DeliveryMetrics
  readonly log: Log
  readonly now: () => number
}

/** On whose behalf events are sent. */
export interface DeliveryScope {
  /** Checked before each attempt; `LeaseLost` is thrown when it is false. */
  isValid(): boolean
  /** Takes undeliverable events. */
  onDead(events: readonly OutgoingEvent[], reason: string): Promise<void>
  /** When a replay was requested, in milliseconds: from then on it is retried as long as a new event. */
  readonly since?: number
}

interface SendAttempt extends Required<DeliveryScope> {
  readonly dead: Set<string>
  splits: number
}

/** How often a permanently rejected batch is halved, to find the rejected event. */
const MAX_SPLITS = 16
const STORE_RETRY_MS = 1000
const MAX_REASON = 500
/** A failure with a shorter delay is not worth a write. */
const LONG_WAIT_MS = 5000
/** Maximum wait before the scope is checked again. */
const RECHECK_MS = 5000
const UNOPENED = { maxEvents: 100, maxBytes: 262_144 }

/** Sends events to one destination, with retries, until they are accepted or become dead letters. */
export class Sender {
  readonly #options: SenderOptions
  readonly #abort = new AbortController()
  readonly #retryNow = new Notifier()
  #destination: Destination | undefined
  #outdated = false
  #health = unknownHealth
  readonly #attempts = new DeliveryAttempts()
  #failures = 0
  #nextTryAt = 0
  #closing = false

  constructor(options: SenderOptions) {
    this.#options = options
  }

  get health(): Health {
    return this.#health
  }

  get attempts(): readonly DeliveryAttempt[] {
    return this.#attempts.all
  }

  /** The health stored by the previous leader. */
  restoreHealth(written: Health): void {
    const { next_try_at } = this.#health
    this.#health = { ...mergedHealth(this.#health, written), next_try_at }
  }

  /** Another server is the leader, and reports the health. */
  resetHealth(): void {
    this.#health = unknownHealth
  }

  async limits(): Promise<Pick<Destination, 'maxEvents' | 'maxBytes'>> {
    // A destination that cannot be built counts as a failed attempt.
    return this.#open().catch(() => UNOPENED)
  }

  /** The destination was changed: what failed so far may succeed now. */
  reload(): void {
    // A request in flight with the old one may succeed.
    this.#outdated = true
    this.#failures = 0
    this.#nextTryAt = 0
    this.#health = { ...this.#health, next_try_at: null }
    this.#retryNow.notify()
  }

  /** Nothing new is begun. */
  stop(): void {
    this.#closing = true
    this.#retryNow.notify()
  }

  /** Requests in flight are aborted too. */
  abort(): void {
    this.#abort.abort()
    this.#forget()
  }

  /**
   * Resolves when each event was accepted or given up, to the ids of the latter. Rejects with `Closed` or `LeaseLost`.
   */
  async send(events: readonly OutgoingEvent[], scope: DeliveryScope): Promise<ReadonlySet<string>> {
    const attempt: SendAttempt = {
      isValid: () => scope.isValid(),
      onDead: (lost, reason) => scope.onDead(lost, reason),
      since: scope.since ?? 0,
      dead: new Set(),
      splits: MAX_SPLITS,
    }
    await this.#piece(events, attempt)
    return attempt.dead
  }

  /** Retries a store operation until it succeeds. */
  async persist<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (error instanceof LeaseLost) throw error
        this.#options.log.warn({ error }, 'the state of event delivery could not be written')
        await this.#pause(STORE_RETRY_MS)
      }
    }
  }

  async #piece(events: readonly OutgoingEvent[], attempt: SendAttempt): Promise<void> {
    for (let left = await this.#whenDue(events, attempt); left.length > 0;) {
      const failure = await this.#attempt(left, attempt)
      if (failure === undefined) return
      if (failure === 'too large') return this.#halves(left, attempt)
      left = left.filter(({ id }) => !failure.taken.has(id))
      if (failure.permanent && left.length > 1 && attempt.splits-- > 0) return this.#halves(left, attempt)
      await this.#failed(failure)
      if (failure.permanent) return this.#giveUp(left, failure.message, attempt)
      left = await this.#whenDue(left, attempt)
    }
  }

  async #halves(events: readonly OutgoingEvent[], attempt: SendAttempt): Promise<void> {
    const half = events.length >> 1
    await this.#piece(events.slice(0, half), attempt)
    await this.#piece(events.slice(half), attempt)
  }

  /** Undefined when all went well. */
  async #attempt(
    events: readonly OutgoingEvent[],
    attempt: SendAttempt,
  ): Promise<DeliveryError | 'too large' | undefined> {
    if (this.#closing) throw new DeliveryClosed()
    const { semaphore, metrics, now } = this.#options
    let allowed: readonly OutgoingEvent[] = []
    let ended = this.#attempts.begin(events.length, now())
    try {
      const destination = await this.#open()
      // The destination may have changed since the batch was made.
      if (!fits(events, destination)) return 'too large'
      await semaphore.run(async () => {
        if (!attempt.isValid()) throw new LeaseLost()
        allowed = await this.#options.allowed(events)
        // Without the wait for others.
        ended = this.#attempts.begin(allowed.length, now())
        if (allowed.length > 0) await destination.send(allowed, this.#abort.signal)
      })
    } catch (error) {
      if (this.#abort.signal.aborted) throw new DeliveryClosed()
      if (error instanceof LeaseLost) throw error
      metrics.attempts.failed.add()
      const failure = this.#failureOf(error)
      ended(failure.message.slice(0, MAX_REASON))
      return failure
    }
    if (allowed.length === 0) return undefined
    ended(null)
    metrics.attempts.sent.add()
    metrics.events.delivered.add(allowed.length)
    await this.#succeeded()
    return undefined
  }

  #failureOf(error: unknown): DeliveryError {
    if (error instanceof DeliveryError) return error
    this.#options.log.error({ error }, 'event destination failed unexpectedly')
    return new DeliveryError('The destination failed unexpectedly; see the server log.')
  }

  async #succeeded(): Promise<void> {
    const { now, healthChanged } = this.#options
    const wasFailing = this.#health.failing_since !== null
    this.#failures = 0
    this.#nextTryAt = 0
    this.#health = {
      ...this.#health,
      failing_since: null,
      next_try_at: null,
      last_success_at: timestamp(now()),
    }
    if (wasFailing) await this.persist(() => healthChanged(this.#health))
  }

  async #failed({ message, retryAfterMs }: DeliveryError): Promise<void> {
    const { now, timings, names, log, healthChanged } = this.#options
    this.#failures++
    this.#nextTryAt = now() + waitAfter(this.#failures, timings, retryAfterMs)
    const at = timestamp(now())
    const first = this.#health.failing_since === null
    this.#health = {
      ...this.#health,
      failing_since: this.#health.failing_since ?? at,
      last_error: message.slice(0, MAX_REASON),
      last_error_at: at,
      next_try_at: new Date(this.#nextTryAt).toISOString(),
    }
    if (first) log.warn({ ...names, reason: message }, 'events cannot be delivered')
    if (first || this.#nextTryAt - now() >= LONG_WAIT_MS)
      await this.persist(() => healthChanged(this.#health))
  }

  /** Waits until the next attempt; events that have waited too long become dead letters. */
  async #whenDue(events: readonly OutgoingEvent[], attempt: SendAttempt): Promise<readonly OutgoingEvent[]> {
    const { now } = this.#options
    let left = events
    while (left.length > 0 && this.#nextTryAt > now()) {
      if (!attempt.isValid()) throw new LeaseLost()
      const { old = [], young = [] } = Object.groupBy(left, event =>
        this.#isTooOld(event, attempt) ? 'old' : 'young',
      )
      if (old.length > 0) {
        await this.#giveUp(old, this.#health.last_error ?? '', attempt)
        left = young
      } else await this.#pause(Math.min(this.#nextTryAt - now(), RECHECK_MS))
    }
    return left
  }

  #isTooOld({ at }: OutgoingEvent, { since }: SendAttempt): boolean {
    const { now, timings } = this.#options
    const { failing_since: failing } = this.#health
    const limit = now() - timings.giveUpMs
    return failing !== null && Date.parse(failing) <= limit && Math.max(Date.parse(at), since) <= limit
  }

  async #giveUp(events: readonly OutgoingEvent[], reason: string, attempt: SendAttempt): Promise<void> {
    await this.persist(() => attempt.onDead(events, reason.slice(0, MAX_REASON)))
    for (const { id } of events) attempt.dead.add(id)
  }

  async #pause(milliseconds: number): Promise<void> {
    if (!this.#closing) await this.#retryNow.wait(milliseconds)
    if (this.#closing) throw new DeliveryClosed()
  }

  async #open(): Promise<Destination> {
    if (this.#outdated) this.#forget()
    if (this.#destination !== undefined) return this.#destination
    const made = await this.#options.open()
    this.#destination = made
    return made
  }

  #forget(): void {
    this.#destination?.close()
    this.#destination = undefined
    this.#outdated = false
  }
}

function fits(events: readonly OutgoingEvent[], destination: Destination): boolean {
  const batch = new Batch(destination)
  return events.every(event => batch.add(event))
}
