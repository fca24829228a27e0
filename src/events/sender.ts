import { timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { waitAfter, type Pace } from '#events/backoff.ts'
import { Bell } from '#events/bell.ts'
import type { Cursor, CursorBody } from '#events/cursor.ts'
import type { DeadLetters } from '#events/dead-letters.ts'
import { DeliveryError, type Destination, type OutgoingEvent } from '#events/destination.ts'
import type { Gate } from '#events/gate.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'

/** Thrown out of everything that waits when the lane is closed. */
export class Closed extends Error {
  override readonly name = 'Closed'
}

/** What becomes of an event that cannot be delivered: audit events are kept, those of traffic are not. */
export type Hopeless = 'keep' | 'drop'

export interface SenderOptions {
  readonly cursor: Cursor
  readonly deadLetters: DeadLetters
  /** Makes the destination as it is set now. */
  readonly open: () => Promise<Destination>
  readonly gate: Gate
  readonly pace: Pace
  readonly metrics: DeliveryMetrics
  readonly log: Log
  readonly now: () => number
}

type Health = Pick<CursorBody, 'failing_since' | 'last_success_at' | 'last_error' | 'last_error_at'>

interface Pass {
  readonly hopeless: Hopeless
  readonly dead: Set<string>
  splits: number
}

/** A batch that is refused for good is halved so often, to find what it is refused for. */
const MAX_SPLITS = 16
const STORE_RETRY_MS = 1000
const MAX_REASON = 500
const UNOPENED = { maxEvents: 100, maxBytes: 262_144 }

/** Brings events to one destination, however long it takes, or gives them up as dead letters. */
export class Sender {
  readonly #options: SenderOptions
  readonly #abort = new AbortController()
  readonly #alarm = new Bell()
  #destination: Destination | undefined
  #outdated = false
  #health: Health
  #failures = 0
  #nextTryAt = 0
  #closing = false

  constructor(options: SenderOptions) {
    this.#options = options
    const { failing_since, last_success_at, last_error, last_error_at } = options.cursor.body
    this.#health = { failing_since, last_success_at, last_error, last_error_at }
  }

  get health(): Health {
    return this.#health
  }

  /** When the next attempt is due; undefined while all is well. */
  get nextTryAt(): number | undefined {
    return this.#failures === 0 ? undefined : this.#nextTryAt
  }

  async limits(): Promise<Pick<Destination, 'maxEvents' | 'maxBytes'>> {
    // A destination that cannot be made is told as a failed attempt.
    return this.#open().catch(() => UNOPENED)
  }

  /** The destination was changed: what failed so far may go well now. */
  reload(): void {
    // What is under way with the old one may end well.
    this.#outdated = true
    this.#failures = 0
    this.#nextTryAt = 0
    this.#alarm.ring()
  }

  /** Nothing new is begun. */
  stop(): void {
    this.#closing = true
    this.#alarm.ring()
  }

  /** What is under way is given up too. */
  abort(): void {
    this.#abort.abort()
    this.#forget()
  }

  /** Resolves when each event was taken or given up, to the ids of the latter. Rejects with `Closed`. */
  async pass(events: readonly OutgoingEvent[], hopeless: Hopeless): Promise<ReadonlySet<string>> {
    const pass: Pass = { hopeless, dead: new Set(), splits: MAX_SPLITS }
    await this.#piece(events, pass)
    return pass.dead
  }

  /** Does what needs the store, again and again until the store can. */
  async persist<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        this.#options.log.warn({ error }, 'the state of event delivery could not be written')
        await this.#pause(STORE_RETRY_MS)
      }
    }
  }

  async #piece(events: readonly OutgoingEvent[], pass: Pass): Promise<void> {
    for (let left = await this.#whenDue(events, pass); left.length > 0;) {
      const failure = await this.#attempt(left)
      if (failure === undefined) return
      left = left.filter(({ id }) => !failure.taken.has(id))
      if (failure.permanent && left.length > 1 && pass.splits-- > 0) {
        const half = left.length >> 1
        await this.#piece(left.slice(0, half), pass)
        return this.#piece(left.slice(half), pass)
      }
      await this.#failed(failure)
      if (failure.permanent) return this.#giveUp(left, failure.message, pass)
      left = await this.#whenDue(left, pass)
    }
  }

  /** Undefined when all went well. */
  async #attempt(events: readonly OutgoingEvent[]): Promise<DeliveryError | undefined> {
    if (this.#closing) throw new Closed()
    const { gate, metrics, now } = this.#options
    try {
      const destination = await this.#open()
      await gate.run(() => destination.send(events, this.#abort.signal))
    } catch (error) {
      if (this.#abort.signal.aborted) throw new Closed()
      metrics.attempts.failed.add()
      return this.#failureOf(error)
    }
    this.#failures = 0
    this.#nextTryAt = 0
    this.#health = { ...this.#health, failing_since: null, last_success_at: timestamp(now()) }
    metrics.attempts.sent.add()
    metrics.events.delivered.add(events.length)
    return undefined
  }

  #failureOf(error: unknown): DeliveryError {
    if (error instanceof DeliveryError) return error
    this.#options.log.error({ error }, 'a destination of events failed in a way that it should not')
    return new DeliveryError('The destination failed unexpectedly; see the log of the server.')
  }

  /** Only the first failure in a row is written at once: the others would be a write for each attempt. */
  async #failed({ message, retryAfterMs }: DeliveryError): Promise<void> {
    const { now, pace, cursor, log } = this.#options
    this.#failures++
    this.#nextTryAt = now() + waitAfter(this.#failures, pace, retryAfterMs)
    const at = timestamp(now())
    const first = this.#health.failing_since === null
    this.#health = {
      ...this.#health,
      failing_since: this.#health.failing_since ?? at,
      last_error: message.slice(0, MAX_REASON),
      last_error_at: at,
    }
    if (!first) return
    const { destination_id: destination, subscription_id: subscription } = cursor.body
    log.warn({ destination, subscription, reason: message }, 'events cannot be delivered')
    await this.persist(() => cursor.write(this.#health))
  }

  /** Waits until the next attempt may be made; what has waited too long by then is given up. */
  async #whenDue(events: readonly OutgoingEvent[], pass: Pass): Promise<readonly OutgoingEvent[]> {
    const { now } = this.#options
    let left = events
    while (left.length > 0 && this.#nextTryAt > now()) {
      const old = left.filter(({ at }) => this.#isTooOld(at))
      if (old.length > 0) {
        await this.#giveUp(old, this.#health.last_error ?? '', pass)
        left = left.filter(({ at }) => !this.#isTooOld(at))
      } else await this.#pause(this.#nextTryAt - now())
    }
    return left
  }

  #isTooOld(at: string): boolean {
    const { now, pace } = this.#options
    const { failing_since: since } = this.#health
    const limit = now() - pace.giveUpMs
    return since !== null && Date.parse(since) <= limit && Date.parse(at) <= limit
  }

  async #giveUp(events: readonly OutgoingEvent[], reason: string, pass: Pass): Promise<void> {
    const { deadLetters, metrics } = this.#options
    if (pass.hopeless === 'keep') {
      await this.persist(() => deadLetters.add(events, reason.slice(0, MAX_REASON)))
      metrics.events.dead.add(events.length)
    } else metrics.events.dropped.add(events.length)
    for (const { id } of events) pass.dead.add(id)
  }

  async #pause(milliseconds: number): Promise<void> {
    if (!this.#closing) await this.#alarm.wait(milliseconds)
    if (this.#closing) throw new Closed()
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
