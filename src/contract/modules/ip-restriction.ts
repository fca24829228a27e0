import { module } from '#contract/kind.ts'
import { refs, required } from '#contract/shape.ts'
import { ipPolicies } from '#contract/targets.ts'

export const ipRestriction = module({
  name: 'ip_restriction',
  doc: 'Allows only addresses that match an allow rule and no deny rule.',
  fields: {
    ip_policies: required(
      refs(ipPolicies, 'ip_policy_ids', {
        min: 1,
        max: 100,
        tooFew: 'edge_needs_policy',
        tooMany: 'edge_too_many_policies',
      }),
    ),
  },
})
