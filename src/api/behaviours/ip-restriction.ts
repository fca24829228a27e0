import type { ResourceHooks } from '#api/resource-hooks.ts'
import { checkAddress } from '#api/address-check.ts'
import type { Call } from '#api/call.ts'
import { requireNoLockOut, requireNotRestricting, RESTRICTION_TYPES } from '#api/restrictions.ts'
import { parseRange, rangeText } from '#base/addresses.ts'
import { fail } from '#base/errors.ts'
import { isIP } from 'node:net'
import { ipPolicyRule as ruleKind } from '#contract/kinds/ip-policy-rule.ts'
import { ipRestriction as restrictionKind } from '#contract/kinds/ip-restriction.ts'
import type { Stored } from '#contract/shape.ts'

/** A normalized range. */
function readCidr(given: string): string {
  const field = 'cidr'
  if (!given.includes('/') && isIP(given)) {
    return fail('cidr_no_mask', {
      field,
      value: given,
      suggestion: `${given}/${isIP(given) === 4 ? 32 : 128}`,
    })
  }
  const range = parseRange(given)
  if (!range) return fail('bad_cidr', { field, value: given })
  const lowest = rangeText(range)
  const [address = ''] = given.split('/')
  if (parseRange(`${address}/${range.family === 'ipv4' ? 32 : 128}`)?.address !== range.address) {
    fail('cidr_not_lowest', { field, value: given, suggestion: lowest })
  }
  return lowest
}

export const ipPolicyRule: ResourceHooks = {
  async prepare(draft, call) {
    const rule = draft.as(ruleKind)
    rule.cidr = readCidr(rule.cidr)
    draft.claim('ip_policy_cidr', `${rule.ip_policy} ${rule.cidr}`, {
      refusal: 'duplicate_cidr',
      field: 'cidr',
      shown: rule.cidr,
    })
    await requireNotRestricting(String(rule.ip_policy), call)
    const { cidr, action } = rule
    await requireNoLockOut(call, {
      rule: { id: draft.id, policy: String(rule.ip_policy), now: { cidr, action } },
    })
  },
  async remove({ row, body }, call: Call) {
    const policy = String(body['ip_policy'])
    await requireNotRestricting(policy, call)
    await requireNoLockOut(call, { rule: { id: row.id, policy } })
  },
}

export const ipPolicy: ResourceHooks = {
  async prepare(draft, call) {
    if (draft.before) await requireNotRestricting(draft.id, call)
  },
  remove: ({ row }, call) => requireNotRestricting(row.id, call),
  queries: { check: ({ row }, given, call) => checkAddress([row.id], given, call) },
}

export const ipRestriction: ResourceHooks = {
  async prepare(draft, call) {
    const { type, enforced, ip_policies: policies } = draft.as(restrictionKind)
    draft.claim(RESTRICTION_TYPES, type, { refusal: 'restriction_type_taken', field: 'type' })
    if (enforced) await requireNoLockOut(call, { restriction: { id: draft.id, type, policies } })
  },
  queries: {
    async check({ body }, given, call) {
      const { ip_policies: policies, enforced } = body as Stored<typeof restrictionKind.shape>
      return { ...(await checkAddress(policies, given, call)), enforced }
    },
  },
}
