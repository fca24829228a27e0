import { hash } from 'node:crypto'
import type { CommitOutcome, Row, Store, Write } from '#store/store.ts'
import type { Pebble } from './pebble.ts'

export interface Challenge {
  readonly type: string
  readonly name: string
  readonly token: string
  readonly key_authorization: string
  readonly expires_at: string
  readonly target?: string
}

/** A store whose writes pass through a function first. */
export const withCommit = (
  store: Store,
  commit: (batch: readonly Write[], write: () => Promise<CommitOutcome>) => Promise<CommitOutcome>,
): Store =>
  new Proxy(store, {
    get(target, name) {
      if (name === 'commit') return (batch: Write[]) => commit(batch, () => target.commit(batch))
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })

const rowsIn = (batch: readonly Write[]): Row[] =>
  batch.flatMap(write => ('entry' in write ? [write.entry.row] : []))

interface ResponderOptions {
  /** Challenge types that get no response. */
  readonly refuse?: readonly string[]
  /** Gets all challenges. */
  readonly seen?: Challenge[]
  /** Called for every row that was written. */
  readonly onRow?: (row: Row) => unknown
}

/** Configures the challenge server from the challenge rows, as the gateway and the DNS server of Adit respond. */
export const respondToChallenges = (
  store: Store,
  pebble: Pebble,
  { refuse = [], seen = [], onRow }: ResponderOptions = {},
): Store =>
  withCommit(store, async (batch, write) => {
    const outcome = await write()
    if (!outcome.ok) return outcome
    for (const row of rowsIn(batch)) {
      await onRow?.(row)
      if (row.kind !== 'acme_challenge') continue
      const challenge = JSON.parse(row.body) as Challenge
      seen.push(challenge)
      if (!refuse.includes(challenge.type)) await respondToChallenge(pebble, challenge)
    }
    return outcome
  })

export async function respondToChallenge(
  pebble: Pebble,
  { type, name, token, key_authorization: text, target }: Challenge,
) {
  if (type === 'http-01') await pebble.configure('add-http01', { token, content: text })
  if (type === 'tls-alpn-01') await pebble.configure('add-tlsalpn01', { host: name, content: text })
  if (type === 'dns-01')
    await pebble.configure('set-txt', { host: `${target}.`, value: hash('sha256', text, 'base64url') })
}
