import type { ResourceHooks } from '#api/resource-hooks.ts'
import { firstStatus } from '#api/behaviours/certificate-status.ts'
import { isUnder, readName } from '#api/names.ts'
import { fail } from '#base/errors.ts'
import { nameServers } from '#base/own-names.ts'
import { isPublicSuffix } from '#base/public-suffix.ts'
import { agentIngress as kind } from '#contract/kinds/agent-ingress.ts'

export const agentIngress: ResourceHooks = {
  prepare(draft, call) {
    const { info } = call
    const ingress = draft.as(kind)
    if (!draft.before) {
      ingress.domain = readName(ingress.domain, 'domain')
      if (!ingress.domain.includes('.') || ingress.domain.startsWith('*')) {
        fail('ingress_domain', { field: 'domain', reason: 'give a full name such as agents.example.com.' })
      }
      if (isPublicSuffix(ingress.domain))
        fail('domain_public_suffix', { field: 'domain', value: ingress.domain })
      if (isUnder(ingress.domain, info.domain)) fail('ingress_third_party', { field: 'domain' })
    }
    draft.claim('agent_ingress', ingress.domain, { refusal: 'ingress_taken', field: 'domain' })
    ingress.ns_targets = nameServers(info.domain)
    ingress.region_domains = [`tunnel.${info.region}.${ingress.domain}`]
    ingress.certificate_management_status = ingress.certificate_management_policy
      ? (ingress.certificate_management_status ?? firstStatus(call))
      : null
  },
}
