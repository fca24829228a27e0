import type { Deps } from '#api/call.ts'
import { serialize } from '#api/row-text.ts'
import { newId, timestamp } from '#base/ids.ts'
import { tokenHash } from '#base/secrets.ts'
import { passkey } from '#contract/kinds/passkey.ts'
import type { Stored } from '#contract/shape.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Claim, Row, Store, Write } from '#store/store.ts'

export type PasskeyBody = Stored<typeof passkey.shape>

/** The namespace of credential ids: a passkey belongs to one user. */
const CREDENTIALS = 'passkey_credential'
/** The kind of row, and the namespace, of challenges that were used. */
const USED = 'dashboard_challenge'

const claimOf = (credentialId: string): Claim => ({ namespace: CREDENTIALS, value: tokenHash(credentialId) })

/** The passkey with this credential. */
export async function findPasskey(
  credentialId: string,
  store: Store,
): Promise<{ readonly row: Row; readonly body: PasskeyBody } | undefined> {
  const row = await store.holder(claimOf(credentialId))
  return row?.kind === passkey.name ? { row, body: JSON.parse(row.body) as PasskeyBody } : undefined
}

type NewPasskey = Pick<
  PasskeyBody,
  'owner_id' | 'name' | 'host' | 'credential_id' | 'public_key' | 'sign_count'
>

/** A passkey that is about to be stored. */
export function newPasskey(
  given: NewPasskey,
  { sealer, now }: Pick<Deps, 'sealer' | 'now'>,
): { readonly body: PasskeyBody; readonly write: Write } {
  const id = newId(passkey.prefix ?? '', now())
  const time = timestamp(now())
  const body = { id, created_at: time, last_used: time, ...given } as PasskeyBody
  const row = { id, kind: passkey.name, parent: given.owner_id, version: 1, body: '' }
  return { body, write: entryOf('insert', row, body, { sealer }) }
}

/** Records a sign-in. */
export const usedPasskey = (
  { row, body }: { readonly row: Row; readonly body: PasskeyBody },
  count: number,
  { sealer, now }: Pick<Deps, 'sealer' | 'now'>,
): Write =>
  entryOf(
    'update',
    { ...row, version: row.version + 1 },
    { ...body, sign_count: String(count), last_used: timestamp(now()) },
    { sealer },
  )

function entryOf(
  op: 'insert' | 'update',
  row: Row,
  body: PasskeyBody,
  { sealer }: Pick<Deps, 'sealer'>,
): Write {
  const text = serialize(passkey, row.id, { ...body }, { sealer })
  return { op, entry: { row: { ...row, body: text }, refs: [], claims: [claimOf(body.credential_id)] } }
}

/** Fails to commit if the challenge was used before, on any server. */
export function useChallenge(challenge: string, until: number): Write {
  const row = { id: newId('dc'), kind: USED, parent: null, version: 1, body: JSON.stringify({ until }) }
  return {
    op: 'insert',
    entry: { row, refs: [], claims: [{ namespace: USED, value: tokenHash(challenge) }] },
  }
}

export const isUsed = async (challenge: string, store: Store): Promise<boolean> =>
  (await store.holder({ namespace: USED, value: tokenHash(challenge) })) !== undefined

/** Forgets challenges that have expired. */
export async function pruneChallenges(store: Store, now: () => number): Promise<void> {
  for await (const row of rowsOf(store, USED)) {
    const { until } = JSON.parse(row.body) as { until: number }
    if (until <= now()) await store.commit([{ op: 'remove', id: row.id, version: row.version }])
  }
}
