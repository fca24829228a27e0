import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { AccountCare } from '#acme/account-care.ts'
import { Accounts } from '#acme/accounts.ts'
import { Entry, agenda } from '#acme/agenda.ts'
import type { ChallengeType } from '#acme/answers.ts'
import { Check } from '#acme/check.ts'
import type { AcmeClient } from '#acme/client.ts'
import type { Domains, ManagedDomain } from '#acme/domains.ts'
import { Issuance } from '#acme/issuance.ts'
import { Orders, nameOf } from '#acme/orders.ts'
import { usualPace, type Pace } from '#acme/pace.ts'
import type { ProofOptions } from '#acme/proof.ts'
import { Work } from '#acme/work.ts'
import { guarded, inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { Sealer } from '#base/secrets.ts'
import type { Store } from '#store/store.ts'

export interface IssuerOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly client: AcmeClient
  readonly domains: Domains
  readonly proof: ProofOptions
  /** The contact for the CA. */
  readonly email?: string | undefined
  /** The available challenge types for plain names, in order of preference. */
  readonly visits: readonly ChallengeType[]
  readonly log: Log
  readonly pace?: Partial<Pace>
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
  readonly #pace: Pace
  readonly #now: () => number
  readonly #random: () => number
  readonly #account: AccountCare
  readonly #orders: Orders
  readonly #work: Work
  readonly #check: Check
  readonly #entries = new Map<string, Entry>()
  readonly #running = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #sweeper: NodeJS.Timeout | undefined
  #unfollow: (() => void) | undefined
  #closed = false

  constructor(options: IssuerOptions) {
    const { store, sealer, client, domains, proof, visits, log } = options
    const { now = Date.now, random = Math.random, onResult = () => undefined, email } = options
    const pace = { ...usualPace, ...options.pace }
    const accounts = new Accounts({ store, sealer, client, email, log, now })
    this.#options = options
    this.#account = new AccountCare({ accounts, log, shortestMs: pace.retryMs, random })
    this.#pace = pace
    this.#now = now
    this.#random = random
    this.#orders = new Orders({ store, sealer, now, owner: randomUUID(), leaseMs: pace.leaseMs })
    const issuance = new Issuance({ client, accounts, domains, visits, pace, now, random })
    this.#work = new Work({
      orders: this.#orders,
      issuance,
      domains,
      proof,
      pace,
      log,
      now,
      random,
      onResult,
    })
    this.#check = new Check({ client, domains, proof, checkMs: pace.checkMs, log, now, random })
  }

  async start(): Promise<void> {
    this.#unfollow = await this.#options.domains.follow((id, domain) => this.#hear(id, domain))
    this.#sweeper = setInterval(() => this.#spawn(this.#sweep()), SWEEP_MS)
    this.#sweeper.unref()
    this.#spawn(this.#sweep())
    this.#account.start()
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
    for (const { abort } of this.#entries.values()) abort.abort()
    // A request in flight is not awaited: the next process asks the CA for the state.
    const ended = Promise.all([...this.#running, this.#account.close()])
    await Promise.race([ended, pause(CLOSE_MS, undefined, { ref: false })])
  }

  #hear(id: string, domain: ManagedDomain | undefined): void {
    if (this.#closed) return
    const entry = this.#entries.get(id)
    if (domain === undefined) this.#forget(id, entry)
    else if (entry === undefined) this.#entries.set(id, this.#newEntry(domain))
    else entry.learn(domain)
    this.#wakeAt(this.#now())
  }

  #newEntry(domain: ManagedDomain): Entry {
    return new Entry(domain, this.#now() + this.#random() * Math.min(HOUR, this.#pace.checkMs))
  }

  #forget(id: string, entry: Entry | undefined): void {
    if (entry === undefined) return
    this.#entries.delete(id)
    entry.abort.abort()
    const { running = Promise.resolve(), domain } = entry
    this.#spawn(running.then(() => this.#orders.end(id, nameOf(domain))))
  }

  /** Leftovers of a killed process. */
  async #sweep(): Promise<void> {
    await this.#orders.sweep(async id => this.#entries.has(id) || (await this.#options.domains.manages(id)))
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
    const { ready, next } = agenda(this.#entries.values(), this.#now())
    let busy = 0
    for (const { running } of this.#entries.values()) if (running !== undefined) busy++
    for (const entry of ready.slice(0, Math.max(0, this.#pace.parallel - busy))) this.#begin(entry)
    this.#wakeAt(next)
  }

  #begin(entry: Entry): void {
    const running = this.#attend(entry).finally(() => {
      entry.running = undefined
      this.#wakeAt(this.#now())
    })
    entry.running = running
    this.#spawn(running)
  }

  async #attend(entry: Entry): Promise<void> {
    const { domain, abort } = entry
    try {
      if (entry.dueAt <= this.#now()) entry.hold(domain, await this.#work.on(domain, abort.signal))
      else entry.checkAt = await this.#check.of(domain)
    } catch (error) {
      this.#options.log.error({ error, domain: nameOf(domain) }, 'certificate management failed for a domain')
      entry.holdUntil = this.#now() + TROUBLE_MS
      entry.checkAt = Math.max(entry.checkAt, entry.holdUntil)
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
