import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { AccountMaintenance } from '#acme/account-maintenance.ts'
import { Accounts } from '#acme/accounts.ts'
import { ScheduledDomain, schedule } from '#acme/schedule.ts'
import type { ChallengeType } from '#acme/answers.ts'
import { Check } from '#acme/check.ts'
import type { AcmeClient } from '#acme/client.ts'
import type { Domains, ManagedDomain } from '#acme/domains.ts'
import { Issuance } from '#acme/issuance.ts'
import { Orders, nameOf } from '#acme/orders.ts'
import { defaultAcmeTimings, type AcmeTimings } from '#acme/timings.ts'
import type { DnsCheckOptions } from '#acme/dns-check.ts'
import { OrderRunner } from '#acme/order-runner.ts'
import { guarded, inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { Sealer } from '#base/secrets.ts'
import type { Store } from '#store/store.ts'

export interface IssuerOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly client: AcmeClient
  readonly domains: Domains
  readonly dnsCheck: DnsCheckOptions
  /** The contact for the CA. */
  readonly email?: string | undefined
  /** The available challenge types for plain names, in order of preference. */
  readonly challengeTypes: readonly ChallengeType[]
  readonly log: Log
  readonly timings?: Partial<AcmeTimings>
  readonly onResult?: ((result: 'issued' | 'failed') => void) | undefined
  readonly now?: () => number
  readonly random?: () => number
}

const HOUR = 3_600_000
/** After an unexpected error, such as an unavailable database. */
const TROUBLE_MS = 30_000
const SWEEP_MS = HOUR
const CLOSE_MS = 5000
/** Node timers are limited to 24 days. */
const LONGEST_SLEEP_MS = HOUR

/** Ensures that every domain has a valid certificate. Any number of processes may do so on one database. */
export class Issuer {
  readonly #options: IssuerOptions
  readonly #timings: AcmeTimings
  readonly #now: () => number
  readonly #random: () => number
  readonly #account: AccountMaintenance
  readonly #orders: Orders
  readonly #runner: OrderRunner
  readonly #check: Check
  readonly #scheduledDomains = new Map<string, ScheduledDomain>()
  readonly #running = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #sweeper: NodeJS.Timeout | undefined
  #unfollow: (() => void) | undefined
  #closed = false

  constructor(options: IssuerOptions) {
    const { store, sealer, client, domains, dnsCheck, challengeTypes, log } = options
    const { now = Date.now, random = Math.random, onResult = () => undefined, email } = options
    const timings = { ...defaultAcmeTimings, ...options.timings }
    const accounts = new Accounts({ store, sealer, client, email, log, now })
    this.#options = options
    this.#account = new AccountMaintenance({ accounts, log, shortestMs: timings.retryMs, random })
    this.#timings = timings
    this.#now = now
    this.#random = random
    this.#orders = new Orders({ store, sealer, now, owner: randomUUID(), leaseMs: timings.leaseMs })
    const issuance = new Issuance({ client, accounts, domains, challengeTypes, timings, now, random })
    this.#runner = new OrderRunner({
      orders: this.#orders,
      issuance,
      domains,
      dnsCheck,
      timings,
      log,
      now,
      random,
      onResult,
    })
    this.#check = new Check({ client, domains, dnsCheck, checkMs: timings.checkMs, log, now, random })
  }

  async start(): Promise<void> {
    this.#unfollow = await this.#options.domains.follow((id, domain) => this.#onDomain(id, domain))
    this.#sweeper = setInterval(() => this.#spawn(this.#sweep()), SWEEP_MS)
    this.#sweeper.unref()
    this.#spawn(this.#sweep())
    this.#account.start()
  }

  /** DNS of a domain is right: an order that only waits for the next DNS check begins now. */
  async expedite(id: string): Promise<void> {
    const scheduled = this.#scheduledDomains.get(id)
    if (scheduled === undefined || scheduled.running !== undefined) return
    if (!(await this.#orders.bringForward(nameOf(scheduled.domain)))) return
    scheduled.holdUntil = 0
    this.#wakeAt(this.#now())
  }

  /** Changes the account key, however long that takes; false when it was closed before. */
  changeAccountKey(): Promise<boolean> {
    return this.#account.changeKey()
  }

  /** Stops quickly: work can continue later, here or elsewhere. */
  async close(): Promise<void> {
    this.#closed = true
    this.#unfollow?.()
    clearTimeout(this.#timer)
    clearInterval(this.#sweeper)
    for (const { abort } of this.#scheduledDomains.values()) abort.abort()
    // A request in flight is not awaited: the next process asks the CA for the state.
    const ended = Promise.all([...this.#running, this.#account.close()])
    await Promise.race([ended, pause(CLOSE_MS, undefined, { ref: false })])
  }

  #onDomain(id: string, domain: ManagedDomain | undefined): void {
    if (this.#closed) return
    const scheduled = this.#scheduledDomains.get(id)
    if (domain === undefined) this.#forget(id, scheduled)
    else if (scheduled === undefined) this.#scheduledDomains.set(id, this.#newEntry(domain))
    else scheduled.learn(domain)
    this.#wakeAt(this.#now())
  }

  #newEntry(domain: ManagedDomain): ScheduledDomain {
    return new ScheduledDomain(domain, this.#now() + this.#random() * Math.min(HOUR, this.#timings.checkMs))
  }

  #forget(id: string, scheduled: ScheduledDomain | undefined): void {
    if (scheduled === undefined) return
    this.#scheduledDomains.delete(id)
    scheduled.abort.abort()
    const { running = Promise.resolve(), domain } = scheduled
    this.#spawn(running.then(() => this.#orders.end(id, nameOf(domain))))
  }

  /** Leftovers of a killed process. */
  async #sweep(): Promise<void> {
    await this.#orders.sweep(
      async id => this.#scheduledDomains.has(id) || (await this.#options.domains.manages(id)),
    )
  }

  #wakeAt(time: number): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    const wait = Math.min(Math.max(time - this.#now(), 0), LONGEST_SLEEP_MS)
    const { log } = this.#options
    this.#timer = setTimeout(() => guarded({ task: 'acme', log }, () => this.#pump()), wait)
    this.#timer.unref()
  }

  #pump(): void {
    const { ready, next } = schedule(this.#scheduledDomains.values(), this.#now())
    let busy = 0
    for (const { running } of this.#scheduledDomains.values()) if (running !== undefined) busy++
    for (const scheduled of ready.slice(0, Math.max(0, this.#timings.parallel - busy))) this.#begin(scheduled)
    this.#wakeAt(next)
  }

  #begin(scheduled: ScheduledDomain): void {
    const running = this.#attend(scheduled).finally(() => {
      scheduled.running = undefined
      this.#wakeAt(this.#now())
    })
    scheduled.running = running
    this.#spawn(running)
  }

  async #attend(scheduled: ScheduledDomain): Promise<void> {
    const { domain, abort } = scheduled
    try {
      if (scheduled.dueAt <= this.#now()) scheduled.hold(domain, await this.#runner.run(domain, abort.signal))
      else scheduled.checkAt = await this.#check.of(domain)
    } catch (error) {
      this.#options.log.error({ error, domain: nameOf(domain) }, 'certificate management failed for a domain')
      scheduled.holdUntil = this.#now() + TROUBLE_MS
      scheduled.checkAt = Math.max(scheduled.checkAt, scheduled.holdUntil)
    }
  }

  #spawn(work: Promise<void>): void {
    const { log } = this.#options
    const watched = inBackground({ task: 'acme', log, failed: 'cleaning up orders failed' }, () => work).then(
      () => void this.#running.delete(watched),
    )
    this.#running.add(watched)
  }
}
