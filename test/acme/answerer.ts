import { hash } from 'node:crypto'
import type { Outcome, Store, Write } from '#store/store.ts'
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
  commit: (batch: readonly Write[], write: () => Promise<Outcome>) => Promise<Outcome>,
): Store =>
  new Proxy(store, {
    get(target, name) {
      if (name === 'commit') return (batch: Write[]) => commit(batch, () => target.commit(batch))
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })

const challengesIn = (batch: readonly Write[]): Challenge[] =>
  batch.flatMap(write =>
    write.op === 'insert' && write.entry.row.kind === 'acme_challenge'
      ? [JSON.parse(write.entry.row.body) as Challenge]
      : [],
  )

/** Makes the challenge server answer what the rows say, as the gateway and our DNS server do. */
export const answering = (
  store: Store,
  pebble: Pebble,
  { refuse = [], seen = [] }: { readonly refuse?: readonly string[]; readonly seen?: Challenge[] } = {},
): Store =>
  withCommit(store, async (batch, write) => {
    const outcome = await write()
    const found = outcome.ok ? challengesIn(batch) : []
    seen.push(...found)
    for (const challenge of found) if (!refuse.includes(challenge.type)) await answer(pebble, challenge)
    return outcome
  })

async function answer(pebble: Pebble, { type, name, token, key_authorization: text, target }: Challenge) {
  if (type === 'http-01') await pebble.tell('add-http01', { token, content: text })
  if (type === 'tls-alpn-01') await pebble.tell('add-tlsalpn01', { host: name, content: text })
  if (type === 'dns-01')
    await pebble.tell('set-txt', { host: `${target}.`, value: hash('sha256', text, 'base64url') })
}
