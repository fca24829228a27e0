import {
  readAuthorization,
  readOrder,
  readRenewalInfo,
  type Authorization,
  type Order,
  type RenewalInfo,
  type ResponseMeta,
} from '#acme/answers.ts'
import { DirectoryReader, jsonOf } from '#acme/directory.ts'
import { address } from '#acme/fields.ts'
import type { AccountKey } from '#acme/jws.ts'
import { AcmeProblem, invalidAnswer, refusedAnswer } from '#acme/problem.ts'
import { retryAfter } from '#acme/retry-after.ts'
import type { Egress, EgressAnswer } from '#base/egress.ts'

interface AcmeClientOptions {
  readonly egress: Egress
  /** Directory URL of the CA. */
  readonly directory: string
  readonly now?: () => number
}

export interface AcmeAccount {
  readonly key: AccountKey
  readonly url: string
}

const MAX_BYTES = 131_072
const TIMEOUT_MS = 30_000
/** CAs may reject any nonce; one that rejects this many in a row is broken. */
const MAX_NONCES = 16
const MAX_UNUSED_NONCES = 64
const NONCE = /^[A-Za-z0-9_-]{1,512}$/
const LANGUAGE = { 'accept-language': 'en' }

/** An RFC 8555 client for one CA. Rejections and invalid responses are thrown as an `AcmeProblem`. */
export class AcmeClient {
  readonly directory: string
  readonly #egress: Egress
  readonly #now: () => number
  readonly #scheme: string
  readonly #nonces = new Nonces()
  readonly #addresses: DirectoryReader

  constructor({ egress, directory, now = Date.now }: AcmeClientOptions) {
    this.directory = directory
    this.#egress = egress
    this.#now = now
    this.#scheme = new URL(directory).protocol
    this.#addresses = new DirectoryReader(() => this.#call(directory, 'GET'), this.#scheme, now)
  }

  /** Creates an account, or finds the existing one of the key, whose contact stays. */
  async newAccount(
    key: AccountKey,
    contact: readonly string[],
  ): Promise<{ readonly account: AcmeAccount; readonly isNew: boolean }> {
    const { newAccount } = await this.#addresses.get()
    const payload = { termsOfServiceAgreed: true, ...(contact.length > 0 && { contact }) }
    const answer = await this.#post(newAccount, { key, url: undefined }, payload)
    return { account: this.#account(key, answer), isNew: answer.status === 201 }
  }

  /** The account of a key (RFC 8555 §7.3.1); undefined when the CA does not know the key. */
  async findAccount(
    key: AccountKey,
  ): Promise<{ readonly account: AcmeAccount; readonly isDeactivated: boolean } | undefined> {
    const { newAccount } = await this.#addresses.get()
    try {
      const answer = await this.#post(newAccount, { key, url: undefined }, { onlyReturnExisting: true })
      return { account: this.#account(key, answer), isDeactivated: isDeactivated(jsonOf(answer)) }
    } catch (error) {
      if (error instanceof AcmeProblem && error.type === 'accountDoesNotExist') return undefined
      throw error
    }
  }

  /** Changes the contact; none when it is empty (RFC 8555 §7.3.2). */
  async setContact(account: AcmeAccount, contact: readonly string[]): Promise<void> {
    await this.#post(account.url, account, { contact })
  }

  /** Changes the account key (RFC 8555 §7.3.5). */
  async changeKey(account: AcmeAccount, next: AccountKey): Promise<void> {
    const { keyChange: url } = await this.#addresses.get()
    if (url === undefined) return invalidAnswer('a directory without an address for changing keys')
    const change = { account: account.url, oldKey: account.key.jwk }
    await this.#post(url, account, next.signed({ url, nonce: undefined, account: undefined }, change))
  }

  /** `replaces` names the certificate that this one replaces (RFC 9773 §5). */
  async newOrder(account: AcmeAccount, names: readonly string[], replaces?: string): Promise<Order> {
    const { newOrder, renewalInfo } = await this.#addresses.get()
    const identifiers = names.map(value => ({ type: 'dns', value }))
    const names9773 = replaces !== undefined && renewalInfo !== undefined
    const answer = await this.#post(newOrder, account, { identifiers, ...(names9773 && { replaces }) })
    const url =
      address(answer.headers['location'], this.#scheme) ?? invalidAnswer('an order without an address')
    return readOrder(jsonOf(answer), url, this.#metaOf(answer))
  }

  async order(account: AcmeAccount, url: string): Promise<Order> {
    const answer = await this.#post(url, account)
    return readOrder(jsonOf(answer), url, this.#metaOf(answer))
  }

  async authorization(account: AcmeAccount, url: string): Promise<Authorization> {
    const answer = await this.#post(url, account)
    return readAuthorization(jsonOf(answer), this.#metaOf(answer))
  }

  /** Reports that a challenge is ready for validation. */
  async respond(account: AcmeAccount, challengeUrl: string): Promise<void> {
    await this.#post(challengeUrl, account, {})
  }

  async finalize(account: AcmeAccount, order: Order, request: Buffer): Promise<Order> {
    const answer = await this.#post(order.finalize, account, { csr: request.toString('base64url') })
    return readOrder(jsonOf(answer), order.url, this.#metaOf(answer))
  }

  /** The chain in PEM, as the CA prefers it, not checked yet. */
  async certificate(account: AcmeAccount, url: string): Promise<string> {
    const { body } = await this.#post(url, account, undefined, 'application/pem-certificate-chain')
    return body.toString('latin1')
  }

  /** Undefined when the CA does not support it. */
  async renewalInfo(certificateId: string): Promise<RenewalInfo | undefined> {
    const { renewalInfo } = await this.#addresses.get()
    if (renewalInfo === undefined) return undefined
    const answer = await this.#call(`${renewalInfo.replace(/\/+$/, '')}/${certificateId}`, 'GET')
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw refusedAnswer(answer, this.#now())
    return readRenewalInfo(jsonOf(answer), this.#metaOf(answer).retryAt)
  }

  #account(key: AccountKey, { headers }: EgressAnswer): AcmeAccount {
    const url = address(headers['location'], this.#scheme)
    return { key, url: url ?? invalidAnswer('an account without an address') }
  }

  #metaOf({ headers }: EgressAnswer): ResponseMeta {
    return { scheme: this.#scheme, retryAt: retryAfter(headers['retry-after'], this.#now()) }
  }

  async #post(
    url: string,
    { key, url: account }: { readonly key: AccountKey; readonly url: string | undefined },
    payload?: object,
    accept = 'application/json',
  ): Promise<EgressAnswer> {
    for (let attempt = 1; ; attempt++) {
      const nonce = this.#nonces.take() ?? (await this.#newNonce())
      const body = key.sign({ url, nonce, account }, payload)
      const headers = { ...LANGUAGE, accept, 'content-type': 'application/jose+json' }
      const answer = await this.#egress.request(url, {
        method: 'POST',
        headers,
        body,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      })
      this.#nonces.keep(answer.headers['replay-nonce'])
      if (answer.status >= 200 && answer.status < 300) return answer
      const problem = refusedAnswer(answer, this.#now())
      if (problem.type !== 'badNonce' || attempt === MAX_NONCES) throw problem
    }
  }

  async #newNonce(): Promise<string> {
    const { newNonce } = await this.#addresses.get()
    const answer = await this.#call(newNonce, 'HEAD')
    if (answer.status >= 300) throw refusedAnswer(answer, this.#now())
    this.#nonces.keep(answer.headers['replay-nonce'])
    return this.#nonces.take() ?? invalidAnswer('no nonce')
  }

  #call(url: string, method: string): Promise<EgressAnswer> {
    return this.#egress.request(url, {
      method,
      headers: LANGUAGE,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    })
  }
}

const isDeactivated = (account: unknown): boolean =>
  typeof account === 'object' && account !== null && 'status' in account && account.status === 'deactivated'

/** Nonces from the CA's responses, each valid for one message. */
class Nonces {
  readonly #unused: string[] = []

  /** The newest: a CA forgets old ones first. */
  take(): string | undefined {
    return this.#unused.pop()
  }

  keep(nonce: string | undefined): void {
    if (nonce === undefined || !NONCE.test(nonce)) return
    this.#unused.push(nonce)
    if (this.#unused.length > MAX_UNUSED_NONCES) this.#unused.shift()
  }
}
