import { DOMAINS } from '#api/behaviours/edges.ts'
import type { Call } from '#api/call.ts'
import { reservedDomain as kind } from '#contract/kinds/reserved-domain.ts'
import type { Stored } from '#contract/shape.ts'

/** The default certificate management. */
export const standardPolicy = { authority: 'letsencrypt', private_key_type: 'rsa' } as const

/**
 * Whether the shared domain's certificate covers a name under it. The server's own reservation of that domain decides.
 * Without one, nothing is issued there, and the local CA serves all of them.
 */
export async function isCovered(name: string, { store, info }: Call): Promise<boolean> {
  const row = await store.holder({ namespace: DOMAINS, value: info.domain })
  if (row?.kind !== kind.name) return true
  const own = JSON.parse(row.body) as Stored<typeof kind.shape>
  if (own.cname_target !== null) return true
  // A wildcard in a certificate covers one label.
  const isDeep = name.slice(0, -info.domain.length - 1).includes('.')
  return own.acme_challenge_cname_target !== null && !isDeep
}
