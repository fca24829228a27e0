import type { Call } from '#api/call.ts'
import { rulesOf } from '#api/restrictions.ts'
import { addressFilter, decidingRule } from '#base/address-filter.ts'
import { canonicalAddress } from '#base/addresses.ts'
import { fail } from '#base/errors.ts'
import type { CheckedAddress } from '#contract/address-check.ts'
import type { ResourceBody } from '#contract/body.ts'

/** Whether these policies together allow the address of a request body, decided by the filter that enforces them. */
export async function checkAddress(
  policies: readonly string[],
  { ip: given }: ResourceBody,
  call: Call,
): Promise<CheckedAddress> {
  const text = String(given)
  const ip = canonicalAddress(text) ?? fail('ip_invalid', { field: 'ip', value: text })
  const rules = (await Promise.all(policies.map(policy => rulesOf(policy, call)))).flat()
  const allowed = addressFilter(rules)(ip)
  const found = decidingRule(rules, ip)
  if (found === undefined)
    return { ip, allowed, rule: null, reason: 'No rule matches. Addresses without an allow rule are denied.' }
  const { id, ip_policy: policy, cidr, action } = found
  const deny = 'A deny rule matches; deny rules override allow rules.'
  const reason = action === 'deny' ? deny : 'An allow rule matches, and no deny rule.'
  return { ip, allowed, rule: { id, ip_policy_id: policy, cidr, action }, reason }
}
