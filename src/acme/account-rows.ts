import { hash } from 'node:crypto'
import { AccountKey } from '#acme/jws.ts'
import { newId } from '#base/ids.ts'
import { Secret, type Sealer } from '#base/secrets.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import type { Row, Store } from '#store/store.ts'

const ACCOUNTS = 'acme_account'

/** A stored account. */
interface AccountBody {
  readonly directory: string
  /** Encrypted, like the next one. */
  readonly key: string
  /** During a key change: the CA may know either of them. */
  readonly next_key?: string | null
  /** Null until the CA has responded. */
  readonly url: string | null
  /** The contact last sent to the CA; absent when unknown. */
  readonly contact?: readonly string[] | null
  /** When it replaced an account that the CA no longer accepted. */
  readonly replaced_at?: string | null
}

/** An account that was read, with its keys decrypted. */
export interface StoredAccount {
  readonly id: string
  readonly version: number
  readonly body: AccountBody
  readonly key: AccountKey
  readonly next: AccountKey | undefined
}

/** Changeable fields; absent ones stay. */
type AccountChange = Partial<Pick<AccountBody, 'url' | 'contact' | 'replaced_at'>> & {
  readonly key?: AccountKey
  /** Null: none. */
  readonly next?: AccountKey | null
}

interface AccountRowsOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly directory: string
}

/** The only row with the installation's account at a CA. */
export class AccountRows {
  readonly #options: AccountRowsOptions

  constructor(options: AccountRowsOptions) {
    this.#options = options
  }

  async find(): Promise<StoredAccount | undefined> {
    const { store, directory } = this.#options
    const row = await store.holder(claimOf(directory))
    return row && this.#opened(row)
  }

  /** Creates it if there is none: one of several processes does, and all use it. */
  get(): Promise<StoredAccount> {
    const attempt = async (): Promise<StoredAccount | typeof CONFLICT> => {
      const found = await this.find()
      if (found) return found
      const { directory } = this.#options
      const id = newId('aa')
      await this.#write(
        { id, version: 0 },
        { directory, key: this.#sealed(AccountKey.make(), id), url: null },
      )
      // The next attempt finds the account, of this process or of a faster one.
      return CONFLICT
    }
    return retryOnConflict(attempt, accountNotSaved)
  }

  /** False when another process has changed it since it was read. */
  change(stored: StoredAccount, { key, next, ...fields }: AccountChange): Promise<boolean> {
    return this.#write(stored, {
      ...stored.body,
      ...fields,
      ...(key && { key: this.#sealed(key, stored.id) }),
      ...(next !== undefined && { next_key: next && this.#sealed(next, stored.id) }),
    })
  }

  #sealed(key: AccountKey, id: string): string {
    return this.#options.sealer.seal(key.pem().reveal(), id)
  }

  #opened({ id, version, body: text }: Row): StoredAccount {
    const body = JSON.parse(text) as AccountBody
    const open = (sealed: string) => AccountKey.open(new Secret(this.#options.sealer.unseal(sealed, id)))
    return { id, version, body, key: open(body.key), next: body.next_key ? open(body.next_key) : undefined }
  }

  async #write({ id, version }: Pick<Row, 'id' | 'version'>, body: AccountBody): Promise<boolean> {
    const row = { id, kind: ACCOUNTS, parent: null, version: version + 1, body: JSON.stringify(body) }
    const entry = { row, refs: [], claims: [claimOf(body.directory)] }
    return (await this.#options.store.commit([{ op: version === 0 ? 'insert' : 'update', entry }])).ok
  }
}

export function accountNotSaved(): never {
  throw new Error('The account at the authority could not be saved.')
}

/** An address may be longer than what a claim can hold. */
const claimOf = (directory: string) => ({ namespace: ACCOUNTS, value: hash('sha256', directory, 'hex') })
