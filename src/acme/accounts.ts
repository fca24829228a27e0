import { AccountRows, type KeptAccount } from '#acme/account-rows.ts'
import type { Account, AcmeClient } from '#acme/client.ts'
import { AccountKey } from '#acme/jws.ts'
import { moment } from '#acme/order-rows.ts'
import { AcmeProblem } from '#acme/problem.ts'
import type { Log } from '#base/log.ts'
import type { Sealer } from '#base/secrets.ts'
import type { Store } from '#store/store.ts'

const ATTEMPTS = 8
/** So often something is begun anew with the account as it is then. */
const MAX_USES = 3
/** An authority that wants none of our accounts is not offered one after another. */
const REPLACED_AGAIN_MS = 3_600_000
/** What an authority may say to a key that is not that of the account, or to an account that is no more. */
const doubtful: ReadonlySet<string> = new Set(['accountDoesNotExist', 'unauthorized', 'malformed'])

export interface AccountsOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly client: AcmeClient
  readonly email: string | undefined
  readonly log: Log
  readonly now: () => number
}

/** The one account that an installation has at an authority, whichever processes use it. */
export class Accounts {
  readonly #options: AccountsOptions
  readonly #rows: AccountRows
  #opening: Promise<Account> | undefined
  #recovering: Promise<boolean> | undefined

  constructor(options: AccountsOptions) {
    const { store, sealer, client } = options
    this.#options = options
    this.#rows = new AccountRows({ store, sealer, directory: client.directory })
  }

  /** Does something with the account; again when it is another one by then, or has another key. */
  async use<Result>(work: (account: Account) => Promise<Result>): Promise<Result> {
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

  /** Tells the authority where it may write to, if that has changed. Resolves to whether it had to be told. */
  async tellContact(): Promise<boolean> {
    const { client } = this.#options
    const contact = this.#contact
    const known = await this.#rows.find()
    if (!known || known.body.url === null || isSame(known.body.contact, contact)) return false
    const told = await this.use(async account => {
      await client.setContact(account, contact)
      return account.url
    })
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const kept = await this.#rows.find()
      if (kept?.body.url !== told || (await this.#rows.change(kept, { contact }))) break
    }
    return true
  }

  /** A change of keys that was begun, here or in a process that is gone, is brought to its end. */
  async finishKeyChange(): Promise<void> {
    const known = await this.#rows.find()
    if (known?.next !== undefined) await this.changeKey()
  }

  /**
   * Gives the account a new key and resolves to its address, or to undefined when there is no account yet. The new key
   * is kept before the authority hears of it, and for as long as the authority may take it: whatever happens between,
   * one of the two is the account's.
   */
  async changeKey(): Promise<string | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const kept = await this.#rows.find()
      if (!kept || kept.body.url === null) return undefined
      const { key, next } = kept
      const account = { key, url: kept.body.url }
      if (next === undefined) await this.#rows.change(kept, { next: AccountKey.make() })
      else {
        await this.#offer(account, next)
        await this.#adopt(next)
        return account.url
      }
    }
    throw new Error('The new key of the account at the authority could not be kept.')
  }

  async #offer(account: Account, next: AccountKey): Promise<void> {
    const { client } = this.#options
    try {
      await client.changeKey(account, next)
    } catch (error) {
      // It may have taken the key before, with nobody left to hear of it.
      if (!(error instanceof AcmeProblem) || (await client.findAccount(next)) === undefined) throw error
    }
  }

  /** The authority has the next key: it is the account's, whatever else was written meanwhile. */
  async #adopt(next: AccountKey): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const kept = await this.#rows.find()
      // Another process was quicker.
      if (kept?.next?.thumbprint !== next.thumbprint) return
      if (await this.#rows.change(kept, { key: next, next: null })) return
    }
    throw new Error('The new key of the account at the authority could not be kept.')
  }

  /** Asks the store each time, for another process may have changed it; whoever asks meanwhile shares the answer. */
  #get(): Promise<Account> {
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined))
    return this.#opening
  }

  async #open(): Promise<Account> {
    const { client } = this.#options
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const kept = await this.#rows.get()
      const { key, body } = kept
      if (body.url !== null) return { key, url: body.url }
      // The authority finds an account by its key: being cut off before it is written down does no harm.
      const { account, isNew } = await client.newAccount(key, this.#contact)
      const contact = isNew ? this.#contact : null
      if (await this.#rows.change(kept, { url: account.url, contact })) return account
    }
    throw new Error('The account at the authority could not be kept.')
  }

  /** Where a change of keys was cut off: does the authority know the next one? */
  async #takeOver({ next }: KeptAccount): Promise<boolean> {
    if (next === undefined || (await this.#options.client.findAccount(next)) === undefined) return false
    await this.#adopt(next)
    return true
  }

  /** Resolves to whether there is an account by now that is worth another try. */
  #recover(used: Account, problem: AcmeProblem): Promise<boolean> {
    this.#recovering ??= this.#recovered(used, problem).finally(() => (this.#recovering = undefined))
    return this.#recovering
  }

  async #recovered(used: Account, problem: AcmeProblem): Promise<boolean> {
    const kept = await this.#rows.find()
    if (kept?.body.url !== used.url || kept.key.thumbprint !== used.key.thumbprint) return true
    if (await this.#takeOver(kept)) return true
    if (!doubtful.has(problem.type) || !(await this.#isGone(used, problem))) return false
    // The next key may have come into use between the two questions.
    return (await this.#takeOver(kept)) || this.#replace(kept, problem)
  }

  /** Refusals have many reasons: only when the authority does not know the key, or wants it no more, is it the account. */
  async #isGone({ key }: Account, problem: AcmeProblem): Promise<boolean> {
    if (problem.type === 'accountDoesNotExist') return true
    try {
      const found = await this.#options.client.findAccount(key)
      return found === undefined || found.isDeactivated
    } catch (error) {
      return error instanceof AcmeProblem && error.type === 'unauthorized'
    }
  }

  /** A new account with a new key takes the place of one that is of no use any more. */
  async #replace(kept: KeptAccount, problem: AcmeProblem): Promise<boolean> {
    const { log, now } = this.#options
    const { url, replaced_at: replaced } = kept.body
    const facts = { account: url, error: problem }
    if (replaced && now() - Date.parse(replaced) < REPLACED_AGAIN_MS) {
      log.error(facts, 'the authority refuses the account, which took the place of another one just now')
      return false
    }
    log.warn(facts, 'the authority does not have the account any more: a new one is made, with a new key')
    const fresh = { key: AccountKey.make(), next: null, url: null, contact: null }
    // Refused: another process has done the same already.
    await this.#rows.change(kept, { ...fresh, replaced_at: moment(now()) })
    return true
  }

  get #contact(): readonly string[] {
    const { email } = this.#options
    return email === undefined ? [] : [`mailto:${email}`]
  }
}

const isSame = (known: readonly string[] | null | undefined, wanted: readonly string[]): boolean =>
  known?.join(' ') === wanted.join(' ')
