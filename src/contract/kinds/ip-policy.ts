import { addressToCheck, checkedAddress } from '#contract/address-check.ts'
import { description, kind, metadata, owner } from '#contract/kind.ts'

export const ipPolicy = kind({
  name: 'ip_policy',
  doc: 'A named set of address rules.',
  prefix: 'ipp',
  path: '/ip_policies',
  listKey: 'ip_policies',
  followedByGateway: true,
  inUse: 'ip_policy_in_use',
  commonUse: true,
  actions: {
    check: {
      method: 'POST',
      path: '/check',
      doc: 'Returns whether the policy allows an address, and the rule that decides.',
      input: addressToCheck,
      output: checkedAddress,
    },
  },
  fields: { description: description('ip_description'), metadata: metadata(), owner_id: owner() },
})
