import { orderClaim, removeOrder } from '#acme/order-rows.ts'
import { challengeName } from '#acme/dns-check.ts'
import { DOMAINS } from '#api/behaviours/edges.ts'
import { isCovered, standardPolicy } from '#api/behaviours/shared-names.ts'
import type { Call } from '#api/call.ts'
import { isUnder } from '#api/names.ts'
import { serialize } from '#api/row-text.ts'
import { change } from '#api/writing.ts'
import { newId, timestamp } from '#base/ids.ts'
import { decode } from '#contract/body.ts'
import { reservedDomain as kind } from '#contract/kinds/reserved-domain.ts'
import type { Stored } from '#contract/shape.ts'
import type { DomainEnvironment } from '#domains/acme/proving.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Row } from '#store/store.ts'

type Domain = Stored<typeof kind.shape>

/**
 * Reserves the shared domain itself, so that its certificate is issued and shown like any other. If our own DNS serves
 * the domain, one certificate has all names under it; otherwise each reserved name has its own.
 */
export async function reserveOwnDomain(call: Call, environment: DomainEnvironment): Promise<void> {
  const held = await call.store.holder({ namespace: DOMAINS, value: call.info.domain })
  const isNew = await (held === undefined ? insert(call, environment) : adapt(held, call, environment))
  if (isNew) await manageNamesUnder(call)
}

const targetOf = ({ domain, servesDns }: DomainEnvironment): string | null =>
  servesDns ? challengeName(domain) : null

const describe = ({ servesDns }: DomainEnvironment): string =>
  servesDns
    ? 'The shared domain of this server.'
    : 'The shared domain of this server. Reserved names under it get a certificate each, others use the local CA; with ADIT_DNS_ADDR one certificate covers all.'

async function insert(call: Call, environment: DomainEnvironment): Promise<boolean> {
  const { store, info, now } = call
  const { domain } = info
  const id = newId(kind.prefix ?? '', now())
  const body = {
    ...decode(kind.shape, {}),
    id,
    created_at: timestamp(now()),
    domain,
    region: info.region,
    description: describe(environment),
    // The account itself: only admins may change it.
    owner_id: info.accountId,
    acme_challenge_cname_target: targetOf(environment),
    certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
    certificate_management_status: { renews_at: null, provisioning_job: null },
  }
  const row = { id, kind: kind.name, parent: null, version: 1, body: serialize(kind, id, body, call) }
  // Another process may have been faster; then it exists.
  const outcome = await store.commit([
    { op: 'insert', entry: { row, refs: [], claims: [{ namespace: DOMAINS, value: domain }] } },
  ])
  return outcome.ok
}

/** It was reserved with another DNS mode, or another shared domain. */
async function adapt(
  { id, kind: name, body }: Row,
  call: Call,
  environment: DomainEnvironment,
): Promise<boolean> {
  if (name !== kind.name) return false
  const known = JSON.parse(body) as Domain
  const target = targetOf(environment)
  const { acme_challenge_cname_target: before } = known
  if (known.cname_target === null && before === target) return false
  // Another server of the same database may serve DNS.
  if (!environment.isSoleServer && before === challengeName(environment.domain)) return false
  await change({ kind, id, parent: null }, call, record => ({
    body: {
      ...record.body,
      description: describe(environment),
      cname_target: null,
      acme_challenge_cname_target: target,
    },
    given: {},
  }))
  // A pending order is for other names.
  const order = await call.store.holder(orderClaim(environment.domain))
  if (order !== undefined) await removeOrder(call.store, order)
  return true
}

/** Names reserved earlier that the shared domain's certificate does not cover. */
async function manageNamesUnder(call: Call): Promise<void> {
  const { store, info } = call
  for await (const { id, body } of rowsOf(store, kind.name)) {
    const { domain, certificate, certificate_management_policy: policy } = JSON.parse(body) as Domain
    if (policy || certificate || domain === info.domain || !isUnder(domain, info.domain)) continue
    if (await isCovered(domain, call)) continue
    await change({ kind, id, parent: null }, call, record => ({
      body: { ...record.body, certificate_management_policy: standardPolicy },
      given: {},
    }))
  }
}
