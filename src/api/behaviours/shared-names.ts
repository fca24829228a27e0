import { DOMAINS } from '#api/behaviours/edges.ts'
import type { Call } from '#api/call.ts'
import { reservedDomain as kind } from '#contract/kinds/reserved-domain.ts'
import type { Kept } from '#contract/shape.ts'

/** How certificates are issued for a name of which nobody says it. */
export const standardPolicy = { authority: 'letsencrypt', private_key_type: 'rsa' } as const

/**
 * Is the certificate of the shared domain all that a name under it needs? The reservation of that domain, which the
 * server makes for itself, tells. Without one, nothing there is issued, and the local authority is for all of them.
 */
export async function isCovered(name: string, { store, facts }: Call): Promise<boolean> {
  const row = await store.holder({ namespace: DOMAINS, value: facts.domain })
  if (row?.kind !== kind.name) return true
  const own = JSON.parse(row.body) as Kept<typeof kind.shape>
  if (own.cname_target !== null) return true
  // A wildcard in a certificate is for one label.
  const isDeep = name.slice(0, -facts.domain.length - 1).includes('.')
  return own.acme_challenge_cname_target !== null && !isDeep
}
