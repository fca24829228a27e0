import { addressToCheck, checkedRestriction } from '#contract/address-check.ts'
import { description, kind, metadata } from '#contract/kind.ts'
import { also, flag, oneOf } from '#contract/schema.ts'
import { immutable, input, refs, required } from '#contract/shape.ts'
import { restrictionPolicies } from '#contract/targets.ts'

/** The types of traffic that can be restricted. */
export const restrictionTypes = ['dashboard', 'api', 'agent', 'endpoints'] as const

/** Applies IP policies to one type of traffic. */
export const ipRestriction = kind({
  name: 'ip_restriction',
  doc: 'Applies IP policies to one type of traffic.',
  prefix: 'ipx',
  path: '/ip_restrictions',
  listKey: 'ip_restrictions',
  followedByGateway: true,
  adminOnly: true,
  actions: {
    check: {
      method: 'POST',
      path: '/check',
      doc: 'Returns whether the policies of the restriction allow an address, and the rule that decides.',
      input: addressToCheck,
      output: checkedRestriction,
    },
  },
  fields: {
    description: description(),
    metadata: metadata(),
    // False when absent: the Go client omits false values.
    enforced: input(flag(false), 'False: violations are only logged.'),
    type: required(
      immutable(
        also(oneOf(...restrictionTypes), {
          refusal: 'restriction_type',
          missing: 'restriction_type',
        }),
      ),
      'The traffic that the policies restrict.',
    ),
    ip_policies: required(
      refs(restrictionPolicies, 'ip_policy_ids', {
        min: 1,
        max: 100,
        tooFew: 'restriction_needs_policy',
        tooMany: 'restriction_too_many',
      }),
    ),
  },
})
