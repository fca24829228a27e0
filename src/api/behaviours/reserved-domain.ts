import { hash } from 'node:crypto'
import type { ResourceHooks } from '#api/resource-hooks.ts'
import { firstStatus } from '#api/behaviours/certificate-status.ts'
import { DOMAINS } from '#api/behaviours/edges.ts'
import { requireFreeName } from '#api/behaviours/name-claims.ts'
import { isCovered, standardPolicy } from '#api/behaviours/shared-names.ts'
import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import { isUnder, readName } from '#api/names.ts'
import { fail } from '#base/errors.ts'
import { isOwnName } from '#base/own-names.ts'
import { isPublicSuffix } from '#base/public-suffix.ts'
import type { ResourceBody } from '#contract/body.ts'
import { reservedDomain as kind } from '#contract/kinds/reserved-domain.ts'
import type { Stored } from '#contract/shape.ts'

type Domain = Stored<typeof kind.shape>

/** The requested domain; both fields may be set if they mean the same. */
function nameOf({ name, domain }: Pick<Domain, 'name' | 'domain'>, base: string): string {
  const byName = name === '' ? undefined : readName(name.includes('.') ? name : `${name}.${base}`, 'name')
  const byDomain = domain === '' ? undefined : readFullName(domain)
  if (byName !== undefined && byDomain !== undefined && byName !== byDomain) {
    fail('domain_name_and_domain', { field: 'domain' })
  }
  return byDomain ?? byName ?? fail('domain_nothing', { field: 'domain' })
}

const readFullName = (domain: string): string =>
  domain.replace(/\.$/, '').includes('.')
    ? readName(domain, 'domain')
    : fail('domain_not_qualified', { field: 'domain' })

function refuseOwnNames(domain: string, base: string): void {
  const value = domain
  const field = 'domain'
  if (domain === `*.${base}`) fail('domain_wildcard_shared', { field, value })
  if (isOwnName(domain, base)) fail('domain_own_name', { field, value })
}

/** The owner of such a name, or its wildcard, would get names of strangers. */
function refusePublicSuffix(domain: string): void {
  if (!isPublicSuffix(domain.replace(/^\*\./, ''))) return
  fail('domain_public_suffix', { field: 'domain', value: domain })
}

/** A name that the server's DNS serves for one reservation only; it reveals nothing about the domain. */
const targetLabel = (id: string): string => hash('sha256', id, 'hex').slice(0, 17)

async function nameNewDomain(draft: Draft, call: Call): Promise<void> {
  const { info } = call
  const body = draft.as(kind)
  body.domain = nameOf(body, info.domain)
  const shared = isUnder(body.domain, info.domain)
  if (shared) refuseOwnNames(body.domain, info.domain)
  else refusePublicSuffix(body.domain)
  await requireFreeName(body.domain, call)
  const label = targetLabel(draft.id)
  body.cname_target = shared ? null : `${label}.cname.${info.domain}`
  const wildcard = !shared && body.domain.startsWith('*.')
  body.acme_challenge_cname_target = wildcard ? `${label}.acme.${info.domain}` : null
  if (body.certificate || body.certificate_management_policy) return
  if (!(await hasOurs(body.domain, call))) body.certificate_management_policy = standardPolicy
}

const hasOurs = async (name: string, call: Call): Promise<boolean> =>
  isUnder(name, call.info.domain) && isCovered(name, call)

async function settleCertificate(draft: Draft, call: Call): Promise<void> {
  const body = draft.as(kind)
  const uploads = draft.sets('certificate_id')
  const manages = draft.sets('certificate_management_policy')
  if (uploads && manages) fail('domain_certificate_and_policy', { field: 'certificate_id' })
  if (uploads && (await hasOurs(body.domain, call)))
    fail('domain_certificate_shared', { field: 'certificate_id' })
  // The policy of the shared domain itself can be removed, and so it can be set again.
  if (manages && body.domain !== call.info.domain && (await hasOurs(body.domain, call)))
    fail('domain_policy_shared', { field: 'certificate_management_policy' })
  if (uploads) body.certificate_management_policy = null
  if (manages && draft.before && !draft.before['certificate_management_policy']) body.certificate = null
  body.certificate_management_status = body.certificate_management_policy
    ? (body.certificate_management_status ?? firstStatus(call))
    : null
}

/** The type of an endpoint configuration must match. */
export async function requireConfigType(
  draft: Draft,
  field: string,
  wanted: string,
  call: Call,
): Promise<void> {
  const id = draft.body[field]
  const row = typeof id === 'string' && id !== '' ? await call.store.get(id) : undefined
  if (row?.kind !== 'endpoint_configuration') return
  const { type } = JSON.parse(row.body) as { type: string }
  if (type === wanted) return
  const refused = { field: `${field}_id`, id: row.id }
  if (wanted === 'tcp') fail('addr_config_type', refused)
  fail('domain_config_type', { ...refused, type, wanted })
}

const without =
  (...fields: string[]) =>
  ({ body }: { body: ResourceBody }): ResourceBody => ({
    ...body,
    ...Object.fromEntries(fields.map(field => [field, null])),
  })

export const reservedDomain: ResourceHooks = {
  async prepare(draft, call) {
    if (!draft.before) await nameNewDomain(draft, call)
    const { domain } = draft.as(kind)
    draft.claim(DOMAINS, domain, { refusal: 'domain_taken', field: 'domain' })
    await settleCertificate(draft, call)
    for (const type of ['http', 'https']) {
      await requireConfigType(draft, `${type}_endpoint_configuration`, type, call)
    }
  },
  remove({ row, body }, { info }) {
    // It would be created again at the next start.
    if (body['domain'] === info.domain) fail('domain_of_server', { id: row.id, domain: info.domain })
  },
  commands: { check: ({ row }, call) => call.checkDomain(row.id) },
  mutations: {
    delete_certificate: ({ row, body }) => {
      if (body['certificate_management_policy']) return fail('domain_certificate_managed', { id: row.id })
      return { ...body, certificate: null }
    },
    delete_certificate_management_policy: without(
      'certificate_management_policy',
      'certificate_management_status',
    ),
    delete_http_endpoint_configuration: without('http_endpoint_configuration'),
    delete_https_endpoint_configuration: without('https_endpoint_configuration'),
  },
}
