import { setTimeout as pause } from 'node:timers/promises'
import type { Accounts } from '#acme/accounts.ts'
import type { Authorization, ChallengeType, Order } from '#acme/answers.ts'
import { challengeBody, choose, isValidated, isUnknownOrder, challengeTypesFor } from '#acme/authorize.ts'
import type { AcmeAccount, AcmeClient } from '#acme/client.ts'
import type { Domains, ManagedDomain } from '#acme/domains.ts'
import { checkedCertificate } from '#acme/checked-certificate.ts'
import { ChallengeFailed, OrderEnded, StillWaiting } from '#acme/failure.ts'
import { LostOrder, type HeldOrder } from '#acme/held-order.ts'
import type { AcmeTimings } from '#acme/timings.ts'
import { AcmeProblem } from '#acme/problem.ts'
import { firstRenewal } from '#acme/renewal.ts'
import { newServerKey, signingRequest } from '#pki/csr.ts'
import { renewalId } from '#pki/renewal-id.ts'
import type { Secret } from '#base/secrets.ts'

interface IssuanceOptions {
  readonly client: AcmeClient
  readonly accounts: Accounts
  readonly domains: Domains
  /** The challenge types for plain names, in order of preference. */
  readonly challengeTypes: readonly ChallengeType[]
  readonly timings: AcmeTimings
  readonly now: () => number
  readonly random: () => number
}

/** One order in progress. */
interface OrderRun {
  readonly domain: ManagedDomain
  readonly order: HeldOrder
  readonly account: AcmeAccount
  readonly signal: AbortSignal
  /** How long to keep polling. */
  readonly until: number
}

const GROWTH = 1.5
const LONGEST_POLL_MS = 10_000

/**
 * Completes an order. The CA knows its state best, so after a restart it is queried and work continues from there; what
 * only we know, the key and the order URL, is stored before it is used.
 */
export class Issuance {
  readonly #options: IssuanceOptions

  constructor(options: IssuanceOptions) {
    this.#options = options
  }

  /** Resolves when the certificate is in use. */
  async run(domain: ManagedDomain, order: HeldOrder, signal: AbortSignal): Promise<void> {
    const { accounts, challengeTypes, timings, now } = this.#options
    const until = now() + timings.patienceMs
    const types = challengeTypesFor(domain, challengeTypes)
    for (;;) {
      try {
        return await accounts.use(account => this.#proceed({ domain, order, account, signal, until }))
      } catch (error) {
        const used = types.indexOf(order.body.challenge ?? 'http-01')
        const next = error instanceof ChallengeFailed && used >= 0 ? types[used + 1] : undefined
        if (next === undefined) throw error
        // The order has ended, so another one is created with the other challenge.
        await order.save({ challenge: next, url: null, state: 'ordering' }, await order.withoutChallenges())
      }
    }
  }

  async #proceed(run: OrderRun): Promise<void> {
    const key = await this.#key(run)
    let current = await this.#current(run)
    if (current.status === 'pending') {
      await this.#prove(run, current)
      current = await this.#settled(run, current, ['pending'])
    }
    if (current.status === 'ready') {
      const { account, domain, order, signal } = run
      signal.throwIfAborted()
      await order.save({ state: 'finalizing' })
      current = await this.#options.client.finalize(account, current, await signingRequest(domain.names, key))
    }
    const { certificate } = await this.#settled(run, current, ['pending', 'ready', 'processing'])
    if (certificate === undefined)
      throw new OrderEnded(new AcmeProblem('invalidAnswer', 'A valid order has no certificate.'))
    await this.#download(run, certificate, key)
  }

  /** The key of the new certificate; stored before the order, so that no order is without one. */
  async #key({ domain, order }: OrderRun): Promise<Secret> {
    const stored = order.key()
    if (stored !== undefined) return stored
    const key = await newServerKey(domain.keyType)
    await order.save({ key: order.sealed(key), state: 'ordering' })
    return key
  }

  /** The order at the CA; a new one if there is none any more. */
  async #current(run: OrderRun): Promise<Order> {
    const { order, account } = run
    const isOurs = (order.body.account ?? account.url) === account.url
    if (order.body.url !== null && isOurs) {
      try {
        const known = await this.#options.client.order(account, order.body.url)
        if (known.status !== 'invalid') return known
        throw new OrderEnded(known.error ?? new AcmeProblem('unknown', 'The order has become invalid.'))
      } catch (error) {
        // The reason why an unattended order ended is unknown: a new one will show it.
        if (!(error instanceof OrderEnded) && !isUnknownOrder(error)) throw error
      }
    }
    const made = await this.#newOrder(run)
    const stored = { url: made.url, account: account.url, state: 'proving' } as const
    await order.save(stored, await order.withoutChallenges())
    return made
  }

  async #newOrder({ domain, account }: OrderRun): Promise<Order> {
    const { client, domains } = this.#options
    const chain = domain.certificate && (await domains.chain(domain.certificate.id))
    const replaced = chain === undefined ? undefined : renewalId(chain)
    try {
      return await client.newOrder(account, domain.names, replaced)
    } catch (error) {
      // `replaces` is only a hint: a CA that rejects it gets an order without.
      const isHint = error instanceof AcmeProblem && ['alreadyReplaced', 'malformed'].includes(error.type)
      if (!isHint || replaced === undefined) throw error
      return client.newOrder(account, domain.names)
    }
  }

  async #prove(run: OrderRun, { authorizations }: Order): Promise<void> {
    const { client } = this.#options
    const asked: string[] = []
    let isNew = false
    for (const url of authorizations) {
      run.signal.throwIfAborted()
      const authorization = await client.authorization(run.account, url)
      if (isValidated(authorization)) continue
      isNew = (await this.#publish(run, authorization)) || isNew
      asked.push(url)
    }
    if (isNew) await this.#wait(run, this.#options.timings.settleMs)
    for (const url of asked) await this.#convince(run, url)
  }

  async #publish(run: OrderRun, authorization: Authorization): Promise<boolean> {
    const { domain, account, order } = run
    const challenge = choose(authorization, this.#types(run))
    const now = this.#options.now()
    return order.publish(challengeBody(challenge, { authorization, domain, account, now }))
  }

  /** Waits until the CA has validated the names. */
  async #convince(run: OrderRun, url: string): Promise<void> {
    const { client } = this.#options
    const first = await client.authorization(run.account, url)
    if (!isValidated(first)) {
      const challenge = choose(first, this.#types(run))
      if (challenge.status === 'pending') await client.respond(run.account, challenge.url)
    }
    await this.#poll(run, async () => {
      const authorization = await client.authorization(run.account, url)
      return { done: isValidated(authorization), retryAt: authorization.retryAt, value: undefined }
    })
  }

  #types({ domain, order }: OrderRun): readonly ChallengeType[] {
    const types = challengeTypesFor(domain, this.#options.challengeTypes)
    const { challenge } = order.body
    return challenge === null ? types : types.filter(type => type === challenge)
  }

  /** The order, once it is in none of these states. */
  async #settled(run: OrderRun, order: Order, unsettled: readonly Order['status'][]): Promise<Order> {
    let current = order
    let isFirst = order.status !== 'pending'
    await this.#poll(run, async () => {
      if (!isFirst) current = await this.#options.client.order(run.account, order.url)
      isFirst = false
      if (current.status === 'invalid')
        throw new OrderEnded(current.error ?? new AcmeProblem('unknown', 'The order has become invalid.'))
      return { done: !unsettled.includes(current.status), retryAt: current.retryAt, value: current }
    })
    return current
  }

  async #poll(
    run: OrderRun,
    ask: () => Promise<{ done: boolean; retryAt: number | undefined; value: unknown }>,
  ): Promise<void> {
    const { timings, now } = this.#options
    for (let wait = timings.pollMs; ; wait = Math.min(wait * GROWTH, LONGEST_POLL_MS)) {
      const { done, retryAt } = await ask()
      if (done) return
      const next = Math.max(retryAt ?? 0, now() + wait)
      if (next > run.until) throw new StillWaiting(next)
      await this.#wait(run, next - now())
    }
  }

  /** However long it takes, the order stays with this process. */
  async #wait({ order, signal }: OrderRun, milliseconds: number): Promise<void> {
    const longest = this.#options.timings.leaseMs / 4
    for (let left = milliseconds; left > 0; left -= longest) {
      await order.keep()
      await pause(Math.min(left, longest), undefined, { signal })
    }
    await order.keep()
  }

  async #download({ domain, order, account }: OrderRun, url: string, key: Secret): Promise<void> {
    const { client, domains, now, random } = this.#options
    const pem = await client.certificate(account, url)
    const certificate = checkedCertificate(pem, key, { names: domain.names, now: now() })
    const renewsAt = firstRenewal(certificate, now(), random)
    const used = await domains.issued(
      domain.id,
      { chainPem: certificate.chainPem, keyPem: key, renewsAt },
      await order.removal(),
    )
    if (!used) throw new LostOrder()
  }
}
