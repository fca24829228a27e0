import { accountNotSaved, AccountRows, type StoredAccount } from '#acme/account-rows.ts'
import type { AcmeAccount, AcmeClient } from '#acme/client.ts'
import { AccountKey } from '#acme/jws.ts'
import { moment } from '#acme/order-rows.ts'
import { AcmeProblem } from '#acme/problem.ts'
import type { Log } from '#base/log.ts'
import type { Sealer } from '#base/secrets.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import type { Store } from '#store/store.ts'

/** How often an operation is restarted with the then current account. */
const MAX_USES = 3
/** A CA that rejects our accounts is not sent one after another. */
const REPLACED_AGAIN_MS = 3_600_000
/** Errors for a wrong key, or an account that no longer exists. */
const doubtful: ReadonlySet<string> = new Set(['accountDoesNotExist', 'unauthorized', 'malformed'])

interface AccountsOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly client: AcmeClient
  readonly email: string | undefined
  readonly log: Log
  readonly now: () => number
}

/** The installation's only account at a CA, shared by all processes. */
export class Accounts {
  readonly #options: AccountsOptions
  readonly #rows: AccountRows
  #opening: Promise<AcmeAccount> | undefined
  #recovering: Promise<boolean> | undefined

  constructor(options: AccountsOptions) {
    const { store, sealer, client } = options
    this.#options = options
    this.#rows = new AccountRows({ store, sealer, directory: client.directory })
  }

  /** Runs an operation with the account; again when the account or its key has changed meanwhile. */
  async use<Result>(work: (account: AcmeAccount) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const account = await this.#get()
      try {
        return await work(account)
      } catch (error) {
        const isOurs = error instanceof AcmeProblem && attempt < MAX_USES
        if (!isOurs || !(await this.#recover(account, error))) throw error
      }
    }
  }

  /** Sends the contact to the CA, if it has changed. Resolves to whether it had. */
  async updateContact(): Promise<boolean> {
    const { client } = this.#options
    const contact = this.#contact
    const known = await this.#rows.find()
    if (!known || known.body.url === null || isSame(known.body.contact, contact)) return false
    const updated = await this.use(async account => {
      await client.setContact(account, contact)
      return account.url
    })
    const attempt = async (): Promise<true | typeof CONFLICT> => {
      const stored = await this.#rows.find()
      return stored?.body.url !== updated || (await this.#rows.change(stored, { contact })) || CONFLICT
    }
    return retryOnConflict(attempt, () => true)
  }

  /** Finishes a key change that was started here or in a process that is gone. */
  async finishKeyChange(): Promise<void> {
    const known = await this.#rows.find()
    if (known?.next !== undefined) await this.changeKey()
  }

  /**
   * Changes the account key and resolves to the account URL, or to undefined without an account. The new key is stored
   * before the CA gets it, and as long as the CA may accept it: whatever happens in between, one of the two is valid.
   */
  changeKey(): Promise<string | undefined> {
    const attempt = async (): Promise<string | undefined | typeof CONFLICT> => {
      const stored = await this.#rows.find()
      if (!stored || stored.body.url === null) return undefined
      const { key, next } = stored
      const account = { key, url: stored.body.url }
      if (next === undefined) {
        await this.#rows.change(stored, { next: AccountKey.make() })
        // The next attempt finds the key, of this process or of a faster one.
        return CONFLICT
      }
      await this.#offer(account, next)
      await this.#adopt(next)
      return account.url
    }
    return retryOnConflict(attempt, newKeyNotSaved)
  }

  async #offer(account: AcmeAccount, next: AccountKey): Promise<void> {
    const { client } = this.#options
    try {
      await client.changeKey(account, next)
    } catch (error) {
      // It may have accepted the key before, without a process left to notice.
      if (!(error instanceof AcmeProblem) || (await client.findAccount(next)) === undefined) throw error
    }
  }

  /** The CA has the next key: it is the account's, whatever else was written meanwhile. */
  #adopt(next: AccountKey): Promise<void> {
    const attempt = async (): Promise<void | typeof CONFLICT> => {
      const stored = await this.#rows.find()
      // Another process was faster.
      if (stored?.next?.thumbprint !== next.thumbprint) return undefined
      return (await this.#rows.change(stored, { key: next, next: null })) ? undefined : CONFLICT
    }
    return retryOnConflict(attempt, newKeyNotSaved)
  }

  /** Reads the store each time, since another process may have changed it; concurrent callers share the result. */
  #get(): Promise<AcmeAccount> {
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined))
    return this.#opening
  }

  #open(): Promise<AcmeAccount> {
    const { client } = this.#options
    const attempt = async (): Promise<AcmeAccount | typeof CONFLICT> => {
      const stored = await this.#rows.get()
      const { key, body } = stored
      if (body.url !== null) return { key, url: body.url }
      // The CA finds an account by its key: an interruption before it is stored does no harm.
      const { account, isNew } = await client.newAccount(key, this.#contact)
      const contact = isNew ? this.#contact : null
      return (await this.#rows.change(stored, { url: account.url, contact })) ? account : CONFLICT
    }
    return retryOnConflict(attempt, accountNotSaved)
  }

  /** After an interrupted key change: does the CA know the next one? */
  async #takeOver({ next }: StoredAccount): Promise<boolean> {
    if (next === undefined || (await this.#options.client.findAccount(next)) === undefined) return false
    await this.#adopt(next)
    return true
  }

  /** Resolves to whether there is an account that is worth another attempt. */
  #recover(used: AcmeAccount, problem: AcmeProblem): Promise<boolean> {
    this.#recovering ??= this.#recovered(used, problem).finally(() => (this.#recovering = undefined))
    return this.#recovering
  }

  async #recovered(used: AcmeAccount, problem: AcmeProblem): Promise<boolean> {
    const stored = await this.#rows.find()
    if (stored?.body.url !== used.url || stored.key.thumbprint !== used.key.thumbprint) return true
    if (await this.#takeOver(stored)) return true
    if (!doubtful.has(problem.type) || !(await this.#isGone(used, problem))) return false
    // The next key may have come into use between the two requests.
    return (await this.#takeOver(stored)) || this.#replace(stored, problem)
  }

  /**
   * Rejections have many reasons: the account is at fault only when the CA does not know or no longer accepts the key.
   */
  async #isGone({ key }: AcmeAccount, problem: AcmeProblem): Promise<boolean> {
    if (problem.type === 'accountDoesNotExist') return true
    try {
      const found = await this.#options.client.findAccount(key)
      return found === undefined || found.isDeactivated
    } catch (error) {
      return error instanceof AcmeProblem && error.type === 'unauthorized'
    }
  }

  /** Replaces a useless account by a new one with a new key. */
  async #replace(stored: StoredAccount, problem: AcmeProblem): Promise<boolean> {
    const { log, now } = this.#options
    const { url, replaced_at: replaced } = stored.body
    const facts = { account: url, error: problem }
    if (replaced && now() - Date.parse(replaced) < REPLACED_AGAIN_MS) {
      log.error(facts, 'the CA rejects the ACME account, which has just replaced another one')
      return false
    }
    log.warn(facts, 'the CA no longer has the ACME account: creating a new one with a new key')
    const fresh = { key: AccountKey.make(), next: null, url: null, contact: null }
    // Rejected: another process has already done the same.
    await this.#rows.change(stored, { ...fresh, replaced_at: moment(now()) })
    return true
  }

  get #contact(): readonly string[] {
    const { email } = this.#options
    return email === undefined ? [] : [`mailto:${email}`]
  }
}

function newKeyNotSaved(): never {
  throw new Error('The new key of the account at the authority could not be saved.')
}

const isSame = (known: readonly string[] | null | undefined, wanted: readonly string[]): boolean =>
  known?.join(' ') === wanted.join(' ')
