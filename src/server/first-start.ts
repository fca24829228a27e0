import { AGENT_TOKENS, API_TOKENS } from '#api/behaviours/credentials.ts'
import { newLink } from '#api/dashboard/links.ts'
import { newId, newToken, timestamp } from '#base/ids.ts'
import { Sealer, Secret, tokenHash } from '#base/secrets.ts'
import type { Settings } from '#base/settings.ts'
import { decode, type ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { apiKey } from '#contract/kinds/api-key.ts'
import { credential } from '#contract/kinds/credential.ts'
import { user } from '#contract/kinds/users.ts'
import { findMasterKey, forgetSecret, keepSecret, keptSecret, makeMasterKey } from '#base/data-folder.ts'
import { StartError } from '#base/start-error.ts'
import type { Claim, Store, Write } from '#store/store.ts'

const ADMIN_EMAIL = 'admin@localhost'

/** The identity of the installation in the store. */
export interface InstallationAccount {
  readonly id: string
  readonly createdAt: string
}

export async function findAccount(store: Store, now: number): Promise<InstallationAccount> {
  const id = await store.claimMeta('account_id', newId('ac', now))
  return { id, createdAt: await store.claimMeta('account_created_at', timestamp(now)) }
}

const KEY_ID = 'master_key_id'

/** Opens the store's secrets with the right key; a new store gets a new key. */
export async function openSealer(store: Store, settings: Settings): Promise<Sealer> {
  const found = findMasterKey(settings)
  if (!found && (await store.readMeta(KEY_ID)) !== undefined) {
    throw new StartError(
      'the master key of this database is missing: put master.key back into the data folder, ' +
        'or set ADIT_MASTER_KEY or ADIT_MASTER_KEY_FILE',
    )
  }
  const sealer = new Sealer(Buffer.from((found ?? makeMasterKey(settings)).reveal(), 'base64'))
  const known = await store.claimMeta(KEY_ID, sealer.keyId)
  if (known === sealer.keyId) return sealer
  throw new StartError(
    `the secrets in this database were encrypted with another master key (${known}, not ${sealer.keyId}); ` +
      'start with its original key: ADIT_MASTER_KEY, ADIT_MASTER_KEY_FILE or master.key in the data folder',
  )
}

/** The secrets made on the first start. */
export interface FirstSecrets {
  readonly apiKey: Secret
  readonly authtoken: Secret
  /** Of the link that signs the first admin in to the dashboard. */
  readonly dashboardToken: Secret
}

type FirstTokens = Omit<FirstSecrets, 'dashboardToken'>

interface FirstRow {
  readonly kind: Kind
  readonly id: string
  readonly fields: ResourceBody
  readonly parent: string | null
  readonly claim: Claim
}

function insertion({ kind, id, fields, parent, claim }: FirstRow, now: number): Write {
  const body = { ...decode(kind.shape, {}), ...fields, id, created_at: timestamp(now) }
  const row = { id, kind: kind.name, parent, version: 1, body: JSON.stringify(body) }
  return { op: 'insert', entry: { row, refs: parent === null ? [] : [parent], claims: [claim] } }
}

/**
 * Creates the first admin with a key and an agent credential, if there is no user yet. The tokens are written to the
 * data folder before the store: a crash in between leaves them usable, never lost.
 */
export async function firstStart(
  store: Store,
  settings: Settings,
  now: number,
): Promise<FirstSecrets | undefined> {
  const [existing] = await store.list(user.name, { limit: 1 })
  if (existing) return undefined
  const folder = settings.data_dir
  const ids = { user: newId('usr', now), key: newId('ak', now), credential: newId('cr', now) }
  const givenKey = settings.api_key ?? keptSecret(folder, 'api-key')
  const givenToken = settings.authtoken ?? keptSecret(folder, 'authtoken')
  const secrets: FirstTokens = {
    apiKey: givenKey ?? new Secret(newToken(ids.key)),
    authtoken: givenToken ?? new Secret(newToken(ids.credential)),
  }
  keepSecret(folder, 'api-key', secrets.apiKey)
  keepSecret(folder, 'authtoken', secrets.authtoken)
  const outcome = await store.commit(firstRows(ids, secrets).map(row => insertion(row, now)))
  if (outcome.ok) {
    const link = await newLink(
      { store, now: () => now },
      { purpose: 'sign_in', user: ids.user, apiKey: ids.key },
    )
    return { ...secrets, dashboardToken: new Secret(link.token) }
  }
  // Another process on the same database was faster: its admin is the first, and the tokens made here are void.
  if (!givenKey) forgetSecret(folder, 'api-key')
  if (!givenToken) forgetSecret(folder, 'authtoken')
  return undefined
}

function firstRows(
  ids: { readonly user: string; readonly key: string; readonly credential: string },
  { apiKey: key, authtoken }: FirstTokens,
): FirstRow[] {
  const [keyHash, agentHash] = [tokenHash(key.reveal()), tokenHash(authtoken.reveal())]
  const owned = (token_hash: string) => ({
    description: 'created at the first start',
    owner_id: ids.user,
    token_hash,
  })
  return [
    {
      kind: user,
      id: ids.user,
      fields: { name: 'Admin', email: ADMIN_EMAIL, role: 'admin' },
      parent: null,
      claim: { namespace: 'user_email', value: ADMIN_EMAIL },
    },
    {
      kind: apiKey,
      id: ids.key,
      fields: owned(keyHash),
      parent: ids.user,
      claim: { namespace: API_TOKENS, value: keyHash },
    },
    {
      kind: credential,
      id: ids.credential,
      fields: owned(agentHash),
      parent: ids.user,
      claim: { namespace: AGENT_TOKENS, value: agentHash },
    },
  ]
}
