import { description, kind, metadata } from '#contract/kind.ts'
import { also, line, oneOf } from '#contract/schema.ts'
import { immutable, input, ref, required } from '#contract/shape.ts'
import { rulePolicy } from '#contract/targets.ts'

export const ipPolicyRule = kind({
  name: 'ip_policy_rule',
  doc: 'Allows or denies one range of addresses.',
  prefix: 'ipr',
  path: '/ip_policy_rules',
  listKey: 'ip_policy_rules',
  followedByGateway: true,
  belongsTo: { kinds: ['ip_policy'], field: 'ip_policy' },
  fields: {
    description: description('ip_description'),
    metadata: metadata(),
    cidr: required(
      input(
        line({ maxBytes: 64, missing: 'cidr_missing', refusals: { maxBytes: 'bad_cidr' } }),
        'Address range, such as 10.0.0.0/8.',
      ),
    ),
    ip_policy: required(immutable(ref(rulePolicy, 'ip_policy_id', 'The policy this rule belongs to.'))),
    action: required(
      immutable(also(oneOf('allow', 'deny'), { refusal: 'rule_action', missing: 'rule_action' })),
      'What happens to a matching address.',
    ),
  },
})
