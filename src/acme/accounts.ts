import type { Account, AcmeClient } from '#acme/client.ts'
import { AccountKey } from '#acme/jws.ts'
import { hash } from 'node:crypto'
import { newId } from '#base/ids.ts'
import { Secret, type Sealer } from '#base/secrets.ts'
import type { Row, Store } from '#store/store.ts'

const ACCOUNTS = 'acme_account'
const ATTEMPTS = 8

interface AccountBody {
  readonly directory: string
  /** Sealed. */
  readonly key: string
  /** Null until the authority has answered. */
  readonly url: string | null
}

export interface AccountsOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly client: AcmeClient
  readonly email: string | undefined
}

/** The one account that an installation has at an authority. */
export class Accounts {
  readonly #options: AccountsOptions
  #known: Promise<Account> | undefined

  constructor(options: AccountsOptions) {
    this.#options = options
  }

  get(): Promise<Account> {
    if (this.#known !== undefined) return this.#known
    const opened = this.#open()
    this.#known = opened
    opened.catch(() => (this.#known = undefined))
    return opened
  }

  /** The authority does not know an account: it is made again with the same key, once for all who noticed. */
  async renew({ url }: Account): Promise<void> {
    const row = await this.#row()
    const body = bodyOf(row)
    if (body.url === url) await this.#write(row, { ...body, url: null })
    if ((await this.#known)?.url === url) this.#known = undefined
  }

  async #open(): Promise<Account> {
    const { client, sealer, email } = this.#options
    const row = await this.#row()
    const body = bodyOf(row)
    const key = AccountKey.open(new Secret(sealer.unseal(body.key, row.id)))
    if (body.url !== null) return { key, url: body.url }
    // The authority finds an account by its key: being cut off before it is written down does no harm.
    const account = await client.newAccount(key, email === undefined ? [] : [`mailto:${email}`])
    await this.#write(row, { ...body, url: account.url })
    return account
  }

  /** The row with the key, made if there is none: of several processes one makes it, and all use that. */
  async #row(): Promise<Row> {
    const { store, sealer, client } = this.#options
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const found = await store.holder(claimOf(client.directory))
      if (found) return found
      const id = newId('aa')
      const key = sealer.seal(AccountKey.make().pem().reveal(), id)
      await this.#write({ id, version: 0 }, { directory: client.directory, key, url: null })
    }
    throw new Error('The account at the authority could not be kept.')
  }

  async #write({ id, version }: Pick<Row, 'id' | 'version'>, body: AccountBody): Promise<void> {
    const row = { id, kind: ACCOUNTS, parent: null, version: version + 1, body: JSON.stringify(body) }
    const entry = { row, refs: [], claims: [claimOf(body.directory)] }
    // A refusal means that another process has written the same already.
    await this.#options.store.commit([{ op: version === 0 ? 'insert' : 'update', entry }])
  }
}

const bodyOf = (row: Row): AccountBody => JSON.parse(row.body) as AccountBody

/** An address may be longer than what a claim can hold. */
const claimOf = (directory: string) => ({ namespace: ACCOUNTS, value: hash('sha256', directory, 'hex') })
