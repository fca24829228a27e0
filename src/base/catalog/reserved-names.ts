import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Reserved domains and addresses. */
export const reservedNameErrors = {
  domain_region: { number: 400, status: 400, text: '"region" must be one of au, eu, ap, us, jp, in, sa.' },
  domain_wildcard_place: {
    number: 402,
    status: 400,
    text: '"{field}": a wildcard is allowed only as the first label, as in *.example.com.',
  },
  domain_wildcard_label: {
    number: 403,
    status: 400,
    text: '"{field}": the first label of a wildcard must be exactly "*".',
  },
  domain_own_name: {
    number: 404,
    status: 400,
    text: '"{field}": "{value}" is used by the server itself. Choose another.',
  },
  domain_character: {
    number: 406,
    status: 400,
    text: '"{field}": "{value}" contains an invalid character. Allowed are a-z, 0-9, "-", "." and a leading "*".',
  },
  domain_label_start: {
    number: 407,
    status: 400,
    text: '"{field}": the label "{label}" must start with a letter or digit.',
  },
  domain_label_end: {
    number: 408,
    status: 400,
    text: '"{field}": the label "{label}" must end with a letter or digit.',
  },
  domain_empty_label: {
    number: 409,
    status: 400,
    text: '"{field}": "{value}" has an empty label (two dots in a row).',
  },
  domain_hyphens: {
    number: 410,
    status: 400,
    text: '"{field}": the label "{label}" has "--" at its third position but is not punycode (xn--).',
  },
  domain_tld: {
    number: 411,
    status: 400,
    text: '"{field}": "{value}" ends in a number; use a host name, not an address.',
  },
  domain_public_suffix: {
    number: 90205,
    status: 400,
    text: '"{field}": "{value}" is a public suffix: anyone can register names under it. Use a domain that you own.',
  },
  domain_of_server: {
    number: 90200,
    status: 400,
    text: '"{domain}" is the server\'s own domain and cannot be deleted. To stop ordering certificates for it: DELETE /reserved_domains/{id}/certificate_management_policy.',
  },
  domain_taken: {
    number: 413,
    status: 400,
    conflict: true,
    text: '"{value}" is already reserved, by {owner}.',
  },
  domain_wildcard_shared: {
    number: 416,
    status: 400,
    text: 'The wildcard of the shared domain itself, "{value}", cannot be reserved.',
  },
  domain_description: { number: 420, status: 400, text: '"{field}" may have at most 255 bytes.' },
  domain_metadata: { number: 421, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  domain_nothing: {
    number: 422,
    status: 400,
    text: 'Set "domain" (a full name) or "name" (a name under the shared domain).',
  },
  domain_config_type: {
    number: 428,
    status: 400,
    text: '"{field}": "{id}" is an endpoint configuration of type "{type}"; this needs one of type "{wanted}".',
  },
  domain_punycode: {
    number: 429,
    status: 400,
    text: '"{field}": the label "{label}" is not valid punycode.',
  },
  domain_certificate_and_policy: {
    number: 434,
    status: 400,
    text: 'Set "certificate_id" or "certificate_management_policy", not both.',
  },
  domain_certificate_managed: {
    number: 436,
    status: 400,
    text: 'This certificate is managed automatically. Remove the policy instead: DELETE /reserved_domains/{id}/certificate_management_policy.',
  },
  domain_underscore: {
    number: 438,
    status: 400,
    text: '"{field}": "{value}" has an underscore, which is not allowed in a host name.',
  },
  domain_policy_shared: {
    number: 439,
    status: 400,
    text: '"certificate_management_policy" does not apply to names under the shared domain: the server has a certificate for those.',
  },
  domain_certificate_shared: {
    number: 440,
    status: 400,
    text: '"certificate_id" does not apply to names under the shared domain: the server has a certificate for those.',
  },
  domain_in_use: {
    number: 446,
    status: 400,
    conflict: true,
    text: 'This domain is still in use by {by}. Change or delete that first.',
  },
  domain_not_qualified: {
    number: 448,
    status: 400,
    text: '"domain" must be a full name with a dot, such as app.example.com. For a name under the shared domain use "name".',
  },
  domain_name_and_domain: {
    number: 449,
    status: 400,
    text: '"name" and "domain" name different domains. Set only one of them.',
  },
  domain_label_length: {
    number: 513,
    status: 400,
    text: '"{field}": the label "{label}" has more than 63 characters.',
  },
  domain_length: { number: 514, status: 400, text: '"{field}" may have at most 253 characters.' },
  addr_region: { number: 500, status: 400, text: '"region" must be one of au, eu, ap, us, jp, in, sa.' },
  addr_none_free: { number: 503, status: 400, text: 'No free TCP port for another reserved address.' },
  addr_description: { number: 504, status: 400, text: '"{field}" may have at most 255 bytes.' },
  addr_metadata: { number: 505, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  addr_config_type: {
    number: 507,
    status: 400,
    text: '"{field}": "{id}" is not an endpoint configuration of type "tcp".',
  },
  addr_in_use: {
    number: 90006,
    status: 400,
    conflict: true,
    text: 'This address is still in use by {by}. Change or delete that first.',
  },
} as const satisfies Record<string, CatalogEntry>
