import type { CatalogEntry } from '#base/catalog/entry.ts'

/** IP policies and restrictions. */
export const ipPolicyErrors = {
  ip_policy_missing: { number: 1402, status: 400, text: '"{field}": there is no IP policy with id "{id}".' },
  bad_cidr: {
    number: 1406,
    status: 400,
    text: '"cidr": "{value}" is not an address range. Write it as 10.0.0.0/8 or 2001:db8::/32.',
  },
  cidr_missing: {
    number: 1405,
    status: 400,
    text: '"{field}" is required: an address range such as 10.0.0.0/8.',
  },
  duplicate_cidr: {
    number: 1408,
    status: 400,
    conflict: true,
    text: '"cidr": this policy already has a rule for {value}: {owner}.',
  },
  cidr_not_lowest: {
    number: 1409,
    status: 400,
    text: '"cidr": "{value}" does not start at the lowest address of its range. Did you mean {suggestion}?',
  },
  cidr_no_mask: {
    number: 1413,
    status: 400,
    text: '"cidr": "{value}" has no mask. For a single address write {suggestion}.',
  },
  bad_ip_policy_id: {
    number: 1414,
    status: 400,
    text: '"{field}": "{id}" is not the id of an IP policy (ipp_...).',
  },
  last_rule: {
    number: 1419,
    status: 400,
    text: 'Without this rule, the enforced restriction {by} would lock out your own address, {ip}.',
  },
  ip_policy_in_use: {
    number: 1420,
    status: 400,
    conflict: true,
    text: 'This IP policy is still in use by {by}. Change or delete that first.',
  },
  ip_description: { number: 1421, status: 400, text: '"{field}" may have at most 255 bytes.' },
  rule_action: { number: 1422, status: 400, text: '"action" must be "allow" or "deny".' },
  restriction_too_many: {
    number: 1800,
    status: 400,
    text: '"ip_policy_ids" may name at most 100 IP policies.',
  },
  restriction_policy: { number: 1801, status: 400, text: '"{field}": there is no IP policy with id "{id}".' },
  restriction_type_taken: {
    number: 1802,
    status: 400,
    conflict: true,
    text: 'An IP restriction of type "{value}" already exists: {owner}. Change that one.',
  },
  restriction_type: {
    number: 1803,
    status: 400,
    text: '"type" must be one of dashboard, api, agent, endpoints.',
  },
  restriction_needs_policy: {
    number: 1804,
    status: 400,
    text: '"ip_policy_ids" must name at least one IP policy.',
  },
} as const satisfies Record<string, CatalogEntry>
