import { DOMAINS } from '#api/behaviours/edges.ts'
import type { Call } from '#api/call.ts'
import { close } from '#api/row-text.ts'
import { newId, timestamp } from '#base/ids.ts'
import { challengeName } from '#acme/proof.ts'
import { decode } from '#contract/body.ts'
import { reservedDomain as kind } from '#contract/kinds/reserved-domain.ts'

/**
 * Reserves the shared domain itself, so that a certificate for it and all names under it is issued like any other and
 * its state can be read in the same place. Our own DNS answers for the domain, so nothing has to be set for the proof.
 */
export async function reserveOwnDomain(call: Call): Promise<void> {
  const { store, facts, now } = call
  const { domain } = facts
  if ((await store.holder({ namespace: DOMAINS, value: domain })) !== undefined) return
  const id = newId(kind.prefix ?? '', now())
  const body = {
    ...decode(kind.shape, {}),
    id,
    created_at: timestamp(now()),
    domain,
    region: facts.region,
    description: 'The shared domain of this server.',
    acme_challenge_cname_target: challengeName(domain),
    certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
    certificate_management_status: { renews_at: null, provisioning_job: null },
  }
  const row = { id, kind: kind.name, parent: null, version: 1, body: close(kind, id, body, call) }
  // Another process may have been quicker; then it is there.
  await store.commit([
    { op: 'insert', entry: { row, refs: [], claims: [{ namespace: DOMAINS, value: domain }] } },
  ])
}
