export interface CatalogEntry {
  /** The number in the public catalogue of this API; absent if there is none. */
  readonly number?: number
  readonly status: number
  /**
   * Another resource already has or uses the requested value. The status is that of the public API; commands exit with
   * a separate code.
   */
  readonly conflict?: true
  /** One sentence that says what is wrong and what to change; the throwing code fills in `{name}`. */
  readonly text: string
}

/**
 * Every error of the platform. A published number never changes its meaning. Numbers from 90001 on are Adit's own; the
 * others are those of the public catalogue. 7036, 7079 and 7155 are retired: they rejected a second provider, a second
 * sign-in module and a second route with sign-in.
 */
export const catalog = {
  // The request itself
  no_authorization: {
    number: 200,
    status: 401,
    text: 'This request needs an API key: send the header "Authorization: Bearer <API key>".',
  },
  bad_authorization: {
    number: 201,
    status: 401,
    text: 'The Authorization header must have the form "Bearer <API key>".',
  },
  bad_token: {
    number: 202,
    status: 401,
    text: 'The API key is malformed. Copy the whole token from the response that created the key.',
  },
  unknown_token: {
    number: 203,
    status: 401,
    text: 'No API key has this token. It may have been deleted; create a new one with POST /api_keys.',
  },
  session_invalid: {
    number: 90450,
    status: 401,
    text: 'The dashboard session has ended. Sign in again.',
  },
  link_invalid: {
    number: 90451,
    status: 401,
    text: 'This sign-in link was used already, has expired or is incomplete. Get another one with "adit dashboard".',
  },
  csrf_token: {
    number: 90452,
    status: 403,
    text: 'With a session cookie, this request needs the header "x-csrf-token" with the csrf_token of GET /dashboard/session.',
  },
  foreign_origin: {
    number: 90453,
    status: 403,
    text: 'The request was sent by a page of another origin. With a session cookie, only pages of the dashboard may send requests.',
  },
  link_not_user: {
    number: 90454,
    status: 403,
    text: 'Only the API key of an admin can make a sign-in link. Members sign in with their password.',
  },
  sign_in_rejected: {
    number: 90456,
    status: 401,
    text: 'The e-mail address or the password is wrong.',
  },
  sign_in_blocked: {
    number: 90457,
    status: 429,
    text: 'There were too many wrong passwords. Try again in {retryAfter} seconds, or get a sign-in link from an admin.',
  },
  passwords_busy: {
    number: 90458,
    status: 503,
    text: 'Too many passwords are being checked. Try again in {retryAfter} seconds.',
  },
  password_weak: {
    number: 90459,
    status: 400,
    text: 'The password {reason}. Choose a longer one, such as several unrelated words.',
  },
  password_wrong: {
    number: 90460,
    status: 403,
    text: 'The current password is wrong.',
  },
  invitation_invalid: {
    number: 90461,
    status: 401,
    text: 'This invitation was used already, has expired or is incomplete. Ask an admin for another one.',
  },
  invitation_admin: {
    number: 90462,
    status: 403,
    text: 'Only admins can invite users.',
  },
  invitation_inactive: {
    number: 90463,
    status: 400,
    text: 'The user {id} is not active. Set "active" to true first.',
  },
  openid_state: {
    number: 90464,
    status: 400,
    text: 'This sign-in was started in another browser, or more than 10 minutes ago. Start it again.',
  },
  openid_no_role: {
    number: 90465,
    status: 403,
    text: 'None of your groups may use the dashboard. An operator can add one to dashboard_openid_roles.',
  },
  openid_off: {
    number: 90466,
    status: 404,
    text: 'This server has no OpenID provider for the dashboard. An operator can set dashboard_openid_issuer.',
  },
  authtoken_given: {
    number: 206,
    status: 401,
    text: 'This is the token of an agent credential. The management API needs the token of an API key.',
  },
  key_id_given: {
    number: 208,
    status: 401,
    text: 'This is the id of an API key. Send its token, which is shown once when the key is created.',
  },
  not_allowed: { number: 630, status: 403, text: 'Only an admin may {action}.' },
  not_owner: {
    number: 90251,
    status: 403,
    text: 'This {what} belongs to another owner. Only its owner and admins may change it: ask one of them, or have them share it by setting "owner_id" to null.',
  },
  use_not_allowed: {
    number: 90252,
    status: 403,
    text: '"{field}": "{value}" belongs to another owner. Use one of your own, or have it shared: its owner or an admin can set its "owner_id" to null.',
  },
  owner_inactive: {
    number: 636,
    status: 403,
    text: 'The owner of this API key, {owner}, is not active. An admin can set "active" to true.',
  },
  ip_not_allowed: {
    number: 220,
    status: 403,
    text: 'An IP restriction of type "api" does not allow requests from {ip}.',
  },
  dashboard_ip_not_allowed: {
    number: 90455,
    status: 403,
    text: 'An IP restriction of type "dashboard" does not allow requests from {ip}.',
  },
  would_lock_out: {
    number: 90001,
    status: 400,
    text: 'This change would lock out your own address, {ip}. Add a rule that allows it first, or set "enforced" to false.',
  },
  would_lock_out_loopback: {
    number: 90253,
    status: 400,
    text: 'With this change the enforced IP restriction of type "api" would deny {ip}, the way back in when all other addresses are locked out. Add a rule that allows {ip}/32 first, or set "enforced" to false.',
  },
  content_type: {
    number: 210,
    status: 415,
    text: 'The body must be JSON with the header "Content-Type: application/json"; "{value}" is not supported.',
  },
  no_content_type: {
    number: 216,
    status: 415,
    text: 'A request with a body needs the header "Content-Type: application/json".',
  },
  body_unreadable: { number: 212, status: 400, text: 'The body could not be read: {reason}.' },
  body_unparseable: { number: 213, status: 400, text: 'The body is not acceptable JSON: {reason}.' },
  body_missing: {
    number: 90281,
    status: 400,
    text: 'The request has no body, but this operation needs one. Send a JSON object; an empty one leaves each field as it is, or at its default.',
  },
  body_too_large: { status: 413, number: 812, text: 'The body may have at most {limit} bytes.' },
  unknown_field: {
    number: 214,
    status: 400,
    text: '"{field}" is not a field of this request. Supported: {supported}.',
  },
  invalid_value: { number: 215, status: 400, text: '"{field}" {reason}.' },
  missing_field: { number: 215, status: 400, text: '"{field}" is required.' },
  bad_version: {
    number: 217,
    status: 400,
    text: 'API version "{value}" is not supported. Supported versions: 2.',
  },
  bad_reference: {
    number: 223,
    status: 400,
    text: '"{field}": "{id}" is not the id of a resource of the right kind ({kinds}).',
  },
  reference_empty: {
    number: 90230,
    status: 400,
    text: '"{field}" must be the id of another resource, not an empty string. Set an id, or omit the field if it is optional.',
  },
  reference_missing: { number: 223, status: 400, text: '"{field}": there is no resource with id "{id}".' },
  rate_limited: {
    number: 226,
    status: 429,
    text: 'This API key may make {limit} requests in 60 seconds. Try again in {retryAfter} s.',
  },
  id_prefix: { number: 227, status: 400, text: '"{field}": expected an id that starts with "{prefix}_".' },
  bad_query: { number: 230, status: 400, text: 'The query string cannot be read: {reason}.' },
  unknown_parameter: {
    number: 231,
    status: 400,
    text: 'Unknown query parameter "{field}". Supported: {supported}.',
  },
  repeated_parameter: {
    number: 232,
    status: 400,
    text: 'Query parameter "{field}" was given more than once.',
  },
  page_size_range: { number: 233, status: 400, text: '"limit" must be between 1 and 100; "{value}" is not.' },
  page_size_number: { number: 244, status: 400, text: '"limit" must be a whole number; "{value}" is not.' },
  list_filter: {
    number: 250,
    status: 400,
    text: '"{field}" is not a valid filter for this list: {reason}. Write for example obj.description == "shop" && obj.created_at > timestamp("2026-01-31T12:00:00Z").',
  },
  not_found: { status: 404, text: 'Resource not found.' },
  no_such_path: { status: 404, text: 'Not Found.' },
  path_too_long: { status: 414, text: 'The path may have at most {limit} bytes.' },
  headers_too_large: { status: 431, text: 'The request headers are too large.' },
  bad_request: { status: 400, text: 'The request is not well-formed HTTP: {reason}.' },
  conflict: {
    status: 409,
    text: 'The resource kept changing during this request. Nothing was changed; try again.',
  },
  internal: { status: 500, text: 'Internal server error. The server log has the operation id.' },
  storage_full: {
    status: 507,
    number: 1500,
    text: "The server's disk is full: nothing was changed. Reading still works; free some space and try again.",
  },
  storage_unavailable: {
    status: 503,
    number: 1501,
    text: 'The database cannot be reached: nothing was changed. Try again in {retryAfter} s.',
  },
  storage_read_only: {
    status: 503,
    number: 1501,
    text: 'The database is read-only at the moment: nothing was changed. Reading still works. Try again in {retryAfter} s.',
  },
  storage_uncertain: {
    status: 503,
    number: 1501,
    text: 'The connection to the database was lost while the change was being written. Read the resource in {retryAfter} s to see whether it took effect.',
  },

  // Common to several kinds
  description_too_long: { number: 215, status: 400, text: '"{field}" may have at most 255 bytes.' },
  metadata_too_long: { number: 215, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  in_use: {
    number: 90023,
    status: 400,
    conflict: true,
    text: 'It is still in use by {by}. Change or delete that first.',
  },

  // Reserved domains
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

  // Reserved addresses
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

  // Keys, credentials and their owners
  bad_acl: {
    number: 600,
    status: 400,
    text: '"acl": "{rule}" is not a rule. Write "bind:<domain>", "bind:*.<domain>", "bind:<host>:<port>", "bind:<label>=<value>" or "*".',
  },
  credential_description: { number: 604, status: 400, text: '"{field}" may have at most 255 bytes.' },
  credential_metadata: { number: 605, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  ssh_key_taken: {
    number: 609,
    status: 400,
    conflict: true,
    text: '"public_key" is already registered, as {owner}.',
  },
  ssh_key_missing: {
    number: 611,
    status: 400,
    text: '"public_key" is required: one line as in ~/.ssh/id_ed25519.pub.',
  },
  ssh_key_bad: { number: 612, status: 400, text: '"public_key": {reason}' },
  owner_missing: { number: 634, status: 400, text: '"{field}": there is no user or bot with id "{id}".' },
  last_admin: {
    number: 90002,
    status: 400,
    text: 'This is the last active admin that has an API key; {action} it would leave no one to administer the server.',
  },
  last_admin_key: {
    number: 90254,
    status: 400,
    text: 'This is the last API key of an active admin; without it no one can administer the server. Create another one first.',
  },
  own_user: { number: 90003, status: 400, text: 'A user cannot delete itself. Ask another admin.' },
  user_name_taken: {
    number: 90004,
    status: 400,
    conflict: true,
    text: 'A user with the e-mail address "{value}" already exists: {owner}.',
  },

  // IP policies and restrictions
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

  // Endpoint configurations
  config_type: { number: 90007, status: 400, text: '"type" must be one of http, https, tcp.' },
  config_in_use: {
    number: 1619,
    status: 400,
    conflict: true,
    text: 'This endpoint configuration is still in use by {by}. Change or delete that first.',
  },
  module_not_here: { number: 7021, status: 400, text: '"{field}" does not apply to {what}.' },

  // Sessions and commands
  ssh_no_update: {
    number: 1121,
    status: 400,
    text: 'This session is an SSH client, which cannot update itself.',
  },
  ssh_no_restart: {
    number: 1122,
    status: 400,
    text: 'This session is an SSH client, which cannot restart itself.',
  },
  restart_unsupported: { number: 804, status: 400, text: 'The agent does not support restart: {reason}.' },
  stop_unsupported: { number: 805, status: 400, text: 'The agent does not support stop: {reason}.' },
  update_unsupported: { number: 806, status: 400, text: 'The agent does not support update: {reason}.' },
  stop_failed: { number: 807, status: 400, text: 'The agent did not stop: {reason}.' },
  restart_failed: { number: 808, status: 400, text: 'The agent did not restart: {reason}.' },
  update_failed: { number: 809, status: 400, text: 'The agent did not update: {reason}.' },
  command_unanswered: {
    number: 810,
    status: 502,
    text: 'The agent did not respond; it may still have executed the command.',
  },

  // Certificates
  certificate_bad: { number: 1900, status: 400, text: '"{field}": {reason}' },
  certificate_no_key: {
    number: 1901,
    status: 400,
    text: '"private_key_pem" is required: the private key of the certificate, in PEM.',
  },
  certificate_key_encrypted: {
    number: 1902,
    status: 400,
    text: '"private_key_pem" is encrypted. Send it without a passphrase; the server encrypts it at rest.',
  },
  certificate_key_bad: { number: 1903, status: 400, text: '"private_key_pem": {reason}' },
  certificate_authority_name: {
    number: 1908,
    status: 400,
    text: '"{field}": the only supported authority is "letsencrypt".',
  },
  certificate_key_type: { number: 1909, status: 400, text: '"{field}" must be "rsa" or "ecdsa".' },
  pem_headers: { number: 1910, status: 400, text: '"{field}": {reason}' },
  pem_type: { number: 1911, status: 400, text: '"{field}": {reason}' },
  authority_one: { number: 1912, status: 400, text: '"ca_pem" must contain exactly one certificate.' },
  authority_not_ca: {
    number: 1913,
    status: 400,
    text: '"ca_pem" is not a CA certificate: its basic constraints do not have CA:TRUE.',
  },
  certificate_description: { number: 1914, status: 400, text: '"{field}" may have at most 255 bytes.' },
  certificate_metadata: { number: 1915, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  authority_description: { number: 1916, status: 400, text: '"{field}" may have at most 255 bytes.' },
  authority_metadata: { number: 1917, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  pem_empty: { number: 1919, status: 400, text: '"{field}" is empty. Send a certificate in PEM.' },
  pem_not: {
    number: 1920,
    status: 400,
    text: '"{field}" is not PEM: it must start with "-----BEGIN ...-----".',
  },
  pem_too_big: {
    number: 1921,
    status: 400,
    text: '"{field}" is too large: at most 64 KiB, 10 certificates, and 16 KiB for each of them (without PEM).',
  },
  certificate_none: { number: 1922, status: 400, text: '"{field}" is required: a certificate in PEM.' },
  certificate_key_mismatch: {
    number: 1923,
    status: 400,
    text: '"private_key_pem" is not the key of the first certificate in "certificate_pem".',
  },
  certificate_swapped: {
    number: 1924,
    status: 400,
    text: '"certificate_pem" contains a private key. Put the key into "private_key_pem".',
  },
  certificate_key_swapped: {
    number: 1925,
    status: 400,
    text: '"private_key_pem" contains a certificate. Put it into "certificate_pem".',
  },
  certificate_chain: { number: 1926, status: 400, text: '"certificate_pem": {reason}' },
  ssh_public_key: { number: 1934, status: 400, text: '"public_key": {reason}' },
  ssh_key_type: { number: 1936, status: 400, text: '"private_key_type" must be one of rsa, ecdsa, ed25519.' },
  ssh_description: { number: 1937, status: 400, text: '"{field}" may have at most 255 bytes.' },
  ssh_metadata: { number: 1938, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  ssh_rsa_size: { number: 1939, status: 400, text: '"key_size" must be 2048 or 4096.' },
  ssh_size_only_rsa: { number: 1940, status: 400, text: '"key_size" applies only to keys of type rsa.' },
  ssh_curve: { number: 1941, status: 400, text: '"elliptic_curve" must be one of 256, 384, 521.' },
  ssh_curve_only_ecdsa: {
    number: 1942,
    status: 400,
    text: '"elliptic_curve" applies only to keys of type ecdsa.',
  },
  ssh_validity: { number: 1943, status: 400, text: '"valid_until" must be later than "valid_after".' },
  ssh_principal: { number: 90008, status: 400, text: '"principals": {reason}' },
  ssh_option: { number: 90009, status: 400, text: '"{field}": {reason}' },
  ssh_ca_missing: {
    number: 1949,
    status: 400,
    text: '"{field}": there is no SSH certificate authority with id "{id}".',
  },
  ssh_key_unsupported: { number: 1950, status: 400, text: '"public_key": {reason}' },
  ssh_public_key_missing: {
    number: 1952,
    status: 400,
    text: '"public_key" is required: one line as in ~/.ssh/id_ed25519.pub.',
  },
  ssh_ca_in_use: {
    number: 1964,
    status: 400,
    conflict: true,
    text: 'This SSH certificate authority is still in use by {by}. Delete that first.',
  },
  certificate_missing: {
    number: 1965,
    status: 400,
    text: '"{field}": there is no TLS certificate with id "{id}".',
  },
  certificate_in_use: {
    number: 1966,
    status: 400,
    conflict: true,
    text: 'This TLS certificate is still in use by {by}. Detach it there first.',
  },

  // Events
  event_format: { number: 235, status: 400, text: '"format" must be "json".' },
  event_type: {
    number: 238,
    status: 400,
    text: '"{field}": "{value}" is not an event type. They have the form ip_policy_created.v0; see docs/reference/events.md.',
  },
  filter_text: { number: 90220, status: 400, text: '"{field}" must have 1 to 255 characters.' },
  filter_moment: {
    number: 90221,
    status: 400,
    text: '"{field}": "{value}" is not an RFC 3339 time, such as 2026-01-31T12:00:00Z.',
  },
  too_many_streams: {
    number: 90312,
    status: 429,
    text: 'This {of} already has {limit} open streams, the maximum. Close one.',
  },
  filter_network: {
    number: 90310,
    status: 400,
    text: '"{field}": "{value}" is neither an IP address nor a network, such as 192.0.2.7 or 2001:db8::/32.',
  },
  filter_value: {
    number: 90311,
    status: 400,
    text: '"{field}": "{value}" is not allowed. Allowed: {example}.',
  },
  usage_filter: {
    number: 90400,
    status: 400,
    text: '"{field}" cannot be used with by={by}: remove it, or change "by".',
  },
  test_refused: { number: 90222, status: 400, text: 'The destination rejected the test event: {reason}' },
  // Not a 5xx: the caller asked whether the destination works, and this server did not fail.
  test_failed: { number: 90223, status: 400, text: 'The test event could not be delivered: {reason}' },
  target_none: { number: 5100, status: 400, text: '"target" must name one destination: {supported}.' },
  destination_missing: {
    number: 5103,
    status: 400,
    text: '"{field}": there is no event destination with id "{id}".',
  },
  target_role_arn: {
    number: 5104,
    status: 400,
    text: '"{field}" must be the ARN of a role, such as arn:aws:iam::123456789012:role/name.',
  },
  target_auth_empty: { number: 5107, status: 400, text: '"{field}" must contain "role" or "creds".' },
  target_type_fixed: {
    number: 5108,
    status: 400,
    text: 'The type of a destination cannot change from {was} to {now}. Create a new destination.',
  },
  destination_in_use: {
    number: 5112,
    status: 400,
    conflict: true,
    text: 'This destination is still in use by {by}. Change or delete that first.',
  },
  target_several: {
    number: 5115,
    status: 400,
    text: '"target" must name exactly one destination, not {given}.',
  },
  target_auth_several: {
    number: 5116,
    status: 400,
    text: '"{field}" must contain "role" or "creds", not both.',
  },
  target_arn: { number: 5118, status: 400, text: '"{field}" must be an ARN such as {example}.' },
  target_url: { number: 90021, status: 400, text: '"{field}" must be a complete URL, such as {example}.' },
  target_path: {
    number: 90022,
    status: 400,
    text: '"{field}" must be a relative path inside the data folder, without "..".',
  },
  source_missing: { number: 5125, status: 404, text: 'This subscription has no source of type "{value}".' },
  event_type_denied: {
    number: 90255,
    status: 403,
    text: '"{field}": only an admin may subscribe to "{value}", because only admins may read these resources.',
  },
  source_twice: {
    number: 5127,
    status: 400,
    conflict: true,
    text: '"{field}": "{value}" is already a source of this subscription.',
  },
  source_no_fields: {
    number: 5401,
    status: 400,
    text: '"{field}": events of type {type} always have all fields. Omit "fields"; it is supported for {types}.',
  },
  source_no_filter: {
    number: 5402,
    status: 400,
    text: '"{field}": events of type {type} cannot be filtered. Omit "filter"; it is supported for {types}.',
  },
  source_field_elsewhere: {
    number: 5403,
    status: 400,
    text: '"{field}": "{value}" is a field of {other}, not of {type}. Choose from {names}.',
  },
  source_filter: {
    number: 5404,
    status: 400,
    text: '"{field}" is not a filter: {reason}. A filter is a CEL expression that is true or false, such as ev.conn.server_port == 443.',
  },
  source_field_unknown: {
    number: 5405,
    status: 400,
    text: '"{field}": "{value}" is not a field of {type}. Choose from {names}.',
  },
  source_field_unfilterable: {
    number: 5406,
    status: 400,
    text: '"{field}": events cannot be filtered by "{value}". A filter for {type} can use {names}.',
  },
  target_datadog_key: { number: 5132, status: 400, text: '"target.datadog.api_key" is required.' },
  target_azure: { number: 5136, status: 400, text: '"{field}" is required.' },

  // Backends
  backend_child_missing: {
    number: 6501,
    status: 400,
    text: '"{field}": there is no backend with id "{id}".',
  },
  backend_in_use: {
    number: 6502,
    status: 400,
    conflict: true,
    text: 'This backend is still in use by {by}. Change or delete that first.',
  },
  backend_description: { number: 6503, status: 400, text: '"{field}" may have at most 255 bytes.' },
  backend_metadata: { number: 6504, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  static_address: {
    number: 6505,
    status: 400,
    text: '"address" must have the form host:port, such as 10.0.0.5:8080 or app.internal:443.',
  },
  label_count: { number: 6508, status: 400, text: '"labels" must contain between 1 and 100 labels.' },
  label_length: {
    number: 6509,
    status: 400,
    text: '"labels": the label "{label}" is empty or has more than 255 bytes.',
  },
  weighted_children: { number: 6511, status: 400, text: '"backends" may name at most 100 backends.' },
  weight_range: { number: 6512, status: 400, text: '"{field}" must be a whole number between 0 and 10000.' },
  failover_children: { number: 6513, status: 400, text: '"backends" may name at most 100 backends.' },
  failover_twice: { number: 90010, status: 400, text: '"backends" names {id} more than once.' },
  response_body_too_big: { number: 6516, status: 400, text: '"body" may have at most 64 KiB.' },
  response_status: { number: 6517, status: 400, text: '"status_code" must be between 200 and 599.' },
  header_variable: {
    number: 90180,
    status: 400,
    text: '"add": the value of "{name}", "{value}", has an unknown variable, or more than 16 variables. See the module reference for the supported ones.',
  },
  response_host: { number: 90181, status: 400, text: 'A response has no "host" header; only requests do.' },
  header_framing: {
    number: 90011,
    status: 400,
    text: '"{field}": "{name}" is set only by the gateway and cannot be changed here.',
  },
  backend_cycle: { number: 90012, status: 400, text: '"{field}": {id} leads back to this backend: {path}.' },
  backend_tree: {
    number: 90231,
    status: 400,
    text: '"{field}": this backend would lead to more than {limit} others, counting each path to a backend. Use fewer levels or fewer backends.',
  },
  bad_backend_id: {
    number: 242,
    status: 400,
    text: '"{field}": "{id}" is not the id of a backend (bkdfo_, bkdhr_, bkdsc_, bkdtg_ or bkdwd_).',
  },
  label_equals: { number: 6531, status: 400, text: '"labels": the label "{label}" may not contain "=".' },

  // Agent ingresses
  ingress_description: { number: 6700, status: 400, text: '"{field}" may have at most 255 bytes.' },
  ingress_metadata: { number: 6701, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  ingress_domain: { number: 6704, status: 400, text: '"domain": {reason}' },
  ingress_third_party: {
    number: 6705,
    status: 400,
    text: '"domain" must be your own domain, not one under the shared domain.',
  },
  ingress_taken: {
    number: 6706,
    status: 400,
    conflict: true,
    text: 'An agent ingress for "{value}" already exists: {owner}.',
  },

  // Edges, routes and modules
  edge_ip_policy_missing: {
    number: 7007,
    status: 400,
    text: '"{field}": there is no IP policy with id "{id}".',
  },
  breaker_threshold: {
    number: 7011,
    status: 400,
    text: '"error_threshold_percentage" must be between 0 and 1.0 (a fraction, not a percentage).',
  },
  edge_too_many_policies: {
    number: 7013,
    status: 400,
    text: '"ip_policy_ids" may name at most 100 IP policies.',
  },
  too_many_headers: { number: 7015, status: 400, text: '"{field}" may name at most 100 headers.' },
  breaker_tripped: { number: 7016, status: 400, text: '"tripped_duration" must be more than 0 seconds.' },
  breaker_window: { number: 7017, status: 400, text: '"rolling_window" must be more than 0 seconds.' },
  breaker_buckets: { number: 7018, status: 400, text: '"num_buckets" must be between 1 and 128.' },
  edge_in_use: {
    number: 7019,
    status: 400,
    conflict: true,
    text: 'This edge is still in use by {by}. Change or delete that first.',
  },
  edge_header_name: { number: 7023, status: 400, text: '"{field}": "{name}" is not a header name.' },
  edge_needs_policy: { number: 7025, status: 400, text: '"ip_policy_ids" must name at least one IP policy.' },
  webhook_no_secret: {
    number: 7026,
    status: 400,
    text: '"secret" must be absent for SNS: its messages are signed with a public key.',
  },
  webhook_secret: { number: 7027, status: 400, text: '"secret" is required for {provider}.' },
  webhook_secret_form: { number: 90182, status: 400, text: '"secret" of {provider} must be {form}.' },
  webhook_provider_missing: { number: 7029, status: 400, text: '"provider" is required.' },
  webhook_provider: {
    number: 7030,
    status: 400,
    text: '"provider": "{value}" is not a supported sender. Supported: {supported}.',
  },
  oauth_client: {
    number: 7033,
    status: 400,
    text: '"{field}": "client_id" and "client_secret" belong together; set both or neither.',
  },
  oauth_scopes: {
    number: 7034,
    status: 400,
    text: '"{field}.scopes" may be set only together with "client_id" and "client_secret".',
  },
  oauth_check_interval: {
    number: 7035,
    status: 400,
    text: '"auth_check_interval" must be 0 or at least 180 seconds.',
  },
  oauth_none: {
    number: 7037,
    status: 400,
    text: '"provider" must name at least one identity provider: {supported}.',
  },
  email_domain: { number: 7039, status: 400, text: '"{field}": "{value}" is not a domain.' },
  team_format: { number: 7040, status: 400, text: '"{field}": "{value}" does not have the form org/team.' },
  cookie_prefix: {
    number: 7042,
    status: 400,
    text: '"cookie_prefix" may have letters, digits and dots only, at most 64.',
  },
  list_twice: { number: 7043, status: 400, text: '"{field}": "{value}" occurs more than once.' },
  list_empty_item: { number: 7044, status: 400, text: '"{field}" has an empty entry.' },
  email_address: { number: 7045, status: 400, text: '"{field}": "{value}" is not an e-mail address.' },
  list_too_long: { number: 7056, status: 400, text: '"{field}" may have at most 1000 entries.' },
  needs_termination: {
    number: 7062,
    status: 400,
    text: '"mutual_tls" needs TLS termination at the edge: set "tls_termination" with "terminate_at": "edge".',
  },
  email_lower: { number: 7067, status: 400, text: '"{field}": write "{value}" in lower case.' },
  domain_lower: { number: 7068, status: 400, text: '"{field}": write "{value}" in lower case.' },
  header_twice: {
    number: 7069,
    status: 400,
    text: '"{field}": "{name}" occurs more than once; header names are case-insensitive.',
  },
  ca_missing: {
    number: 7072,
    status: 400,
    text: '"{field}": there is no certificate authority with id "{id}".',
  },
  bad_ca_id: {
    number: 228,
    status: 400,
    text: '"{field}": "{id}" is not the id of a certificate authority (ca_...).',
  },
  bad_policy_id: {
    number: 229,
    status: 400,
    text: '"{field}": "{id}" is not the id of an IP policy (ipp_...).',
  },
  ca_in_use: {
    number: 90013,
    status: 400,
    conflict: true,
    text: 'This certificate authority is still in use by {by}. Change or delete that first.',
  },
  edge_description: { number: 7073, status: 400, text: '"{field}" may have at most 255 bytes.' },
  edge_metadata: { number: 7074, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  too_many_cas: {
    number: 7075,
    status: 400,
    text: '"certificate_authority_ids" may name at most 10 authorities.',
  },
  needs_ca: {
    number: 90014,
    status: 400,
    text: '"certificate_authority_ids" must name at least one certificate authority.',
  },
  saml_too_long: { number: 7080, status: 400, text: '"idp_metadata" may have at most 256 KiB.' },
  saml_metadata_bad: { number: 7085, status: 400, text: '"idp_metadata": {reason}.' },
  oidc_issuer_length: { number: 7087, status: 400, text: '"issuer" may have at most 255 bytes.' },
  oidc_issuer: {
    number: 7088,
    status: 400,
    text: '"issuer" must be the URL of the OpenID provider, such as https://id.example.com.',
  },
  oidc_client_id: { number: 7089, status: 400, text: '"client_id" is required.' },
  oidc_client_secret: { number: 7090, status: 400, text: '"client_secret" is required.' },
  saml_metadata: {
    number: 7091,
    status: 400,
    text: '"idp_metadata" is required: the EntityDescriptor XML of the identity provider.',
  },
  inactivity: {
    number: 7092,
    status: 400,
    text: '"inactivity_timeout" may be at most one year (31536000 seconds).',
  },
  saml_nameid: {
    number: 1693,
    status: 400,
    text: '"nameid_format": "{value}" is not supported. Supported: {supported}.',
  },
  hostport_format: {
    number: 7104,
    status: 400,
    text: '"hostports": "{value}" does not have the form host:port.',
  },
  sendgrid_key: {
    number: 7107,
    status: 400,
    text: '"secret" for sendgrid must be the verification key: a public EC key, base64.',
  },
  terminate_at: { number: 224, status: 400, text: '"terminate_at" must be edge, agent or upstream.' },
  min_version: { number: 90015, status: 400, text: '"min_version" must be one of 1.0, 1.1, 1.2, 1.3.' },
  min_version_upstream: {
    number: 1694,
    status: 400,
    text: '"min_version" applies only if TLS is terminated at the edge; omit it or set "terminate_at" to "edge".',
  },
  hostport_port: {
    number: 7112,
    status: 400,
    text: '"hostports": the port of "{value}" must be between 1 and 65535.',
  },
  capture_target: {
    number: 90410,
    status: 400,
    text: 'A capture needs exactly one of "host", "edge_id" and "route_id".',
  },
  capture_not_owned: {
    number: 90411,
    status: 403,
    text: '"{field}": "{value}" is not yours. Members capture only what they own: ask its owner or an admin.',
  },
  captures_full: {
    number: 90412,
    status: 400,
    text: 'You already have {limit} captures that have not ended. Delete one, or wait until one ends.',
  },
  not_captured: {
    number: 90413,
    status: 404,
    text: 'Request {id} was not captured, or its capture was evicted by newer ones. Turn capture on with POST /captures before the request.',
  },
  captured_for_other: {
    number: 90414,
    status: 403,
    text: 'Request {id} was sent to an endpoint of another owner. Only its owner and admins may see or repeat it.',
  },
  replay_truncated: {
    number: 90415,
    status: 400,
    text: 'The body of request {id} was not captured completely: give "body" to replay it.',
  },
  replay_invalid: {
    number: 90416,
    status: 400,
    text: 'Request {id} cannot be sent with these changes: {reason}.',
  },
  replay_body: {
    number: 90419,
    status: 400,
    text: '"{field}" must be base64, as "body_encoding" says.',
  },
  replay_upgrade: {
    number: 90417,
    status: 400,
    text: 'Request {id} asked for another protocol ({protocol}), such as a WebSocket: only requests with a response can be replayed.',
  },
  replay_target: {
    number: 90421,
    status: 400,
    text: '"{field}": the request cannot be sent to "{value}": {reason}.',
  },
  replay_not_owned: {
    number: 90422,
    status: 403,
    text: 'The request cannot be sent to an endpoint of another owner. Members replay only to their own: ask its owner or an admin.',
  },
  replay_unsigned: {
    number: 90420,
    status: 400,
    text: 'The request cannot be signed again: {reason}. Replay it without "resign", or with "via": "agent".',
  },
  replays_busy: {
    number: 90418,
    status: 429,
    text: 'This server already runs {limit} replays. Try again when one of them has ended.',
  },
  port_not_allowed: {
    number: 90025,
    status: 400,
    text: '"hostports": port {port} is outside the range that this server may use ({allowed}).',
  },
  hostport_443: { number: 7116, status: 400, text: '"hostports": "{value}" must use port 443.' },
  hostport_domain: {
    number: 7117,
    status: 400,
    text: '"hostports": the domain of "{value}" is not reserved. Reserve it with POST /reserved_domains.',
  },
  hostport_not_domain: {
    number: 7121,
    status: 400,
    text: '"hostports": "{value}" must name a domain, not an address.',
  },
  hostport_taken: {
    number: 7122,
    status: 400,
    conflict: true,
    text: '"hostports": "{value}" belongs to another edge: {owner}.',
  },
  hostport_twice: { number: 90016, status: 400, text: '"hostports" has "{value}" more than once.' },
  port_reserved: { number: 7114, status: 400, text: '"hostports": port {value} is reserved by {owner}.' },
  match_required: {
    number: 7123,
    status: 400,
    text: '"match" is required: a path such as /api, a host name, or both (example.com/api).',
  },
  match_taken: {
    number: 7126,
    status: 400,
    text: '"match": "{value}" is the match of another route of this edge: {owner}.',
  },
  match_type: { number: 7130, status: 400, text: '"match_type" must be "exact_path" or "path_prefix".' },
  match_form: {
    number: 7131,
    status: 400,
    text: '"match": "{value}" must be a path that starts with "/", a host name, or a host name followed by a path.',
  },
  match_length: { number: 7135, status: 400, text: '"match" may have at most 2048 bytes.' },
  host_header: {
    number: 7164,
    status: 400,
    text: '"remove": "host" can be removed only when "add" sets another.',
  },
  fixed_header: { number: 90017, status: 400, text: '"{field}": "{name}" cannot be added or removed.' },
  oauth_own_app: {
    number: 7166,
    status: 400,
    text: '"{field}" has no managed application: set your own "client_id" and "client_secret".',
  },
  regex_bad: {
    number: 90018,
    status: 400,
    text: '"{field}": "{value}" is not a regular expression: {reason}.',
  },
  patterns_large: { number: 90280, status: 400, text: '"{field}": {reason}.' },
  policy_text: { number: 90024, status: 400, text: '"{field}" may have at most 64 KiB.' },

  // Abuse reports
  report_urls: { number: 90019, status: 400, text: '"urls" must contain between 1 and 100 URLs.' },
  report_url: {
    number: 90020,
    status: 400,
    text: '"urls": "{value}" is not an http or https URL.',
  },
  // Errors for clients of the gateway
  bad_message: { number: 90030, status: 400, text: 'Bad request: {reason}.' },
  head_too_large: {
    number: 90031,
    status: 431,
    text: 'The request headers are too large: {reason}.',
  },
  target_too_long: {
    number: 90032,
    status: 414,
    text: 'The request target is too long: at most {limit} bytes.',
  },
  coding_unsupported: {
    number: 90033,
    status: 501,
    text: 'The only supported transfer coding is "chunked".',
  },
  version_unsupported: { number: 90034, status: 505, text: 'HTTP version not supported.' },
  request_timeout: { number: 90035, status: 408, text: 'The request did not arrive in time.' },
  expectation_failed: {
    number: 90036,
    status: 417,
    text: 'The only supported expectation is "100-continue".',
  },
  misdirected: {
    number: 90037,
    status: 421,
    text: 'This connection was opened for another name than {host}.',
  },
  endpoint_expected: {
    number: 90265,
    status: 503,
    text: 'The endpoint {host} lost its connection a moment ago and is expected back.',
  },
  endpoint_offline: { number: 3200, status: 404, text: 'The endpoint {host} is offline.' },
  upstream_unreachable: {
    number: 8012,
    status: 502,
    text: 'The agent cannot reach the service behind {host}.',
  },
  upstream_invalid: {
    number: 3004,
    status: 502,
    text: 'The service behind {host} sent a response that is not valid HTTP: {reason}.',
  },
  upstream_closed: {
    number: 90038,
    status: 502,
    text: 'The service behind {host} closed the connection before it responded.',
  },
  upstream_timeout: {
    number: 90039,
    status: 504,
    text: 'The service behind {host} did not respond within {seconds} seconds.',
  },
  request_lost: {
    number: 90306,
    status: 502,
    text: 'The agent of {host} lost its connection after this request was sent to it. The service may have processed it, so it was not sent again.',
  },
  agent_gone: { number: 90040, status: 502, text: 'The agent of {host} lost its connection.' },
  agent_busy: {
    number: 90041,
    status: 503,
    text: 'The agent of {host} has reached its connection limit.',
  },
  backend_empty: { number: 90042, status: 503, text: 'No tunnel is online for {host}.' },
  path_ambiguous: {
    number: 90049,
    status: 400,
    text: 'The path is ambiguous, and {host} treats its interpretations differently. Write it without dots, double slashes and unnecessary escapes.',
  },
  backend_childless: {
    number: 724,
    status: 503,
    text: 'No backend receives traffic for {host}.',
  },
  passkey_rejected: {
    number: 90521,
    status: 401,
    text: 'This passkey cannot sign in here ({reason}). Sign in in another way, and add it again if that persists.',
  },
  passkey_invalid: {
    number: 90522,
    status: 400,
    text: 'The passkey cannot be added: {reason}.',
  },
  passkey_host: {
    number: 90523,
    status: 400,
    text: 'Passkeys need HTTPS or localhost, and a host name: open the dashboard at such a URL.',
  },
  passkey_limit: {
    number: 90524,
    status: 400,
    text: 'You have {limit} passkeys, which is the most. Delete one first.',
  },
  api_unavailable: { number: 90520, status: 503, text: 'The API at {host} does not respond at the moment.' },
  static_unreachable: { number: 3006, status: 502, text: 'The service behind {host} cannot be reached.' },
  static_timeout: {
    number: 3005,
    status: 504,
    text: 'Connecting to the service behind {host} timed out.',
  },
  static_forbidden: {
    number: 90160,
    status: 502,
    text: 'The gateway is not allowed to connect to the service behind {host}.',
  },
  static_untrusted: {
    number: 90161,
    status: 502,
    text: 'The service behind {host} has no valid certificate for its address.',
  },
  static_busy: {
    number: 90162,
    status: 503,
    text: 'Too many connections to the service behind {host} are being opened.',
  },
  secrets_closed: { number: 90175, status: 503, text: 'The secrets of {id} cannot be decrypted.' },
  not_servable: { number: 90043, status: 503, text: 'The edge of {host} cannot be served: {reason}.' },
  visitor_refused: { number: 3205, status: 403, text: 'The address {ip} is not allowed to reach {host}.' },
  password_required: { number: 90045, status: 401, text: '{host} requires a user name and a password.' },
  webhook_refused: {
    number: 3204,
    status: 403,
    text: 'This webhook is not signed by the sender that {host} expects.',
  },
  webhook_too_large: {
    number: 90100,
    status: 413,
    text: 'A webhook body may have at most {limit} bytes.',
  },
  webhooks_full: {
    number: 90101,
    status: 503,
    text: 'Too many webhooks are being received at this moment.',
  },
  webhook_slow: {
    number: 90270,
    status: 408,
    text: 'The webhook body arrives too slowly to be verified. Send at least 1 KiB per second.',
  },
  passwords_wrong: {
    number: 90271,
    status: 429,
    text: 'Too many wrong passwords from your address. Wait {seconds} seconds before the next attempt.',
  },
  certificate_required: {
    number: 90170,
    status: 403,
    text: '{host} requires a client certificate, and this connection has none for it.',
  },
  sign_in_required: {
    number: 90110,
    status: 401,
    text: '{host} requires sign-in, and this request has no session.',
  },
  sign_in_state: {
    number: 3106,
    status: 400,
    text: 'This sign-in link is invalid or has expired. Go back to the site and sign in again.',
  },
  sign_in_browser: {
    number: 3107,
    status: 400,
    text: 'This sign-in was started in another browser, was already finished, or the browser blocks cookies.',
  },
  sign_in_route: {
    number: 90490,
    status: 400,
    text: 'Several routes of {host} have sign-in. Name one of them in the address: ?route=ID.',
  },
  sign_in_changed: {
    number: 3120,
    status: 400,
    text: 'The sign-in configuration of this site changed during your sign-in.',
  },
  sign_in_refused: {
    number: 3112,
    status: 403,
    text: 'The identity provider did not sign you in: {reason}.',
  },
  sign_in_provider: {
    number: 90111,
    status: 502,
    text: 'The identity provider of this site cannot be used now: {reason}.',
  },
  sign_in_unverified: {
    number: 90112,
    status: 403,
    text: 'The response of the identity provider could not be verified: {reason}.',
  },
  sign_in_not_kept: {
    number: 90113,
    status: 503,
    text: 'Sign-in succeeded, but the session could not be saved.',
  },
  sign_in_unconfigured: {
    number: 90114,
    status: 503,
    text: 'The sign-in configuration of this site is invalid: {reason}.',
  },
  sign_in_nothing_here: {
    number: 90115,
    status: 404,
    text: 'This address only handles sign-in redirects.',
  },
  reserved_path: {
    number: 90240,
    status: 404,
    text: 'Paths below /.adit/ are reserved for the gateway on every host, and this one does not exist.',
  },
  sign_in_elsewhere: {
    number: 90241,
    status: 403,
    text: 'The sign-in was started at {target}, which is offline or no longer requires this sign-in.',
  },
  sign_in_answer_long: {
    number: 90242,
    status: 502,
    text: 'The response of the identity provider is too long to be forwarded: it must fit into a URL of 8 KiB.',
  },
  sign_in_busy: {
    number: 90243,
    status: 503,
    text: 'Too many sign-ins from your network, or to this site, within the last hour.',
  },
  sign_in_https: {
    number: 90244,
    status: 403,
    text: '{host} requires sign-in, which needs HTTPS, but it is available over HTTP only.',
  },
  saml_unasked_config: {
    number: 5302,
    status: 403,
    text: 'The identity provider started this sign-in, which the endpoint configuration {id} does not allow.',
  },
  saml_relay_state: {
    number: 5306,
    status: 400,
    text: 'The RelayState of the sign-in was not issued here.',
  },
  saml_target_config: {
    number: 5307,
    status: 400,
    text: 'The RelayState leads to "{target}", a host that does not have the endpoint configuration {id}.',
  },
  saml_statements: {
    number: 5311,
    status: 403,
    text: "The identity provider's assertion must have exactly one AuthnStatement.",
  },
  saml_group: {
    number: 5312,
    status: 403,
    text: 'You are signed in, but you are not in an allowed group.',
  },
  saml_late: {
    number: 5315,
    status: 400,
    text: 'The sign-in has expired or was already finished.',
  },
  saml_unasked_route: {
    number: 5317,
    status: 403,
    text: 'The identity provider started this sign-in, which the route {id} does not allow.',
  },
  saml_target_missing: {
    number: 5321,
    status: 400,
    text: 'The identity provider started this sign-in, and its RelayState is not a valid target. It must be an https URL of the site or a path that begins with "/"; without one, the site needs a host that is not a wildcard.',
  },
  saml_target_edge: {
    number: 5322,
    status: 400,
    text: 'The RelayState leads to "{target}", a host that is not one of the edge {id}.',
  },
  saml_off: { number: 5323, status: 404, text: 'No endpoint with the id "{id}" uses SAML.' },
  saml_unreadable: {
    number: 90140,
    status: 400,
    text: "The identity provider's message is invalid: {reason}.",
  },
  saml_signature: {
    number: 90141,
    status: 403,
    text: "The identity provider's message cannot be trusted: {reason}.",
  },
  saml_not_for_us: {
    number: 90142,
    status: 403,
    text: "The identity provider's message is not for this site: {reason}.",
  },
  saml_expired: {
    number: 90143,
    status: 403,
    text: "The identity provider's message is expired or not yet valid: {reason}.",
  },
  saml_replayed: {
    number: 90144,
    status: 403,
    text: 'This assertion was already used.',
  },
  saml_encrypted: {
    number: 90145,
    status: 400,
    text: "The identity provider's message is encrypted, which is not supported.",
  },
  saml_refused: {
    number: 90146,
    status: 403,
    text: 'The identity provider did not sign you in: its response was "{status}".',
  },
  saml_nameid_differs: {
    number: 90147,
    status: 403,
    text: 'The identity provider sent a NameID of the format "{format}"; expected is "{wanted}".',
  },
  saml_other_request: {
    number: 90148,
    status: 403,
    text: "The identity provider's response belongs to another sign-in than the one started in this browser.",
  },
  saml_method: { number: 90149, status: 405, text: 'Method not allowed for SAML messages.' },
  gateway_fault: { number: 90046, status: 500, text: 'The gateway failed to handle the request.' },
  circuit_open: {
    number: 3202,
    status: 503,
    text: 'The service behind {host} failed too often, so it gets no requests for a while.',
  },
  ip_policy_refused: { number: 3203, status: 403, text: 'No IP policy of {host} allows the address {ip}.' },
  websocket_required: { number: 3206, status: 400, text: '{host} accepts only WebSocket connections.' },
  user_agent_refused: {
    number: 3211,
    status: 403,
    text: 'This client (User-Agent) is blocked on {host}.',
  },
  module_unusable: { number: 90150, status: 503, text: 'The module {module} cannot be used: {reason}.' },
  request_returned: {
    number: 90048,
    status: 508,
    text: 'Loop detected: {host} forwards to the gateway itself.',
  },
  gateway_full: { number: 90047, status: 503, text: 'The gateway has reached its connection limit.' },

  // Errors for agents
  agent_token_malformed: {
    number: 105,
    status: 401,
    text: 'The authtoken "{shown}" is malformed. Copy it again; "adit config add-authtoken" stores it.',
  },
  agent_token_unknown: {
    number: 107,
    status: 401,
    text: 'The authtoken is unknown: it was mistyped, or its credential was deleted.',
  },
  agent_owner_inactive: {
    number: 90250,
    status: 403,
    text: 'The owner of this credential is not active, so no agent may use it. An admin can set "active" of the user to true.',
  },
  agent_address_refused: {
    number: 90050,
    status: 403,
    text: 'Agents may not connect from {ip}: an IP restriction of type "agent" forbids it. Allow this address in an IP policy of that restriction.',
  },
  agent_sessions_full: {
    number: 108,
    status: 403,
    text: 'The gateway accepts at most {limit} agent sessions.',
  },
  agent_not_signed_in: { number: 90051, status: 401, text: 'The agent must sign in first.' },
  address_taken: {
    number: 334,
    status: 400,
    text: 'The endpoint {url} is already online{where}. Stop that one, choose another name, or enable pooling on both.',
  },
  address_of_edge: {
    number: 90052,
    status: 400,
    text: 'The address {url} is served by an edge. Choose another one, remove it from the edge, or serve the edge with "adit tunnel --label".',
  },
  acl_refused: {
    number: 90053,
    status: 403,
    text: 'The credential may not bind {address}: its ACL allows only {allowed}.',
  },
  name_not_reserved: {
    number: 90054,
    status: 400,
    text: 'The name {name} is neither under {domain} nor reserved. Reserve it first: adit api reserved-domains create --domain {name}',
  },
  bind_name: { number: 90055, status: 400, text: '"{name}" cannot be the name of an endpoint: {reason}.' },
  bind_port: { number: 90056, status: 400, text: 'Port {port} cannot be used: {reason}.' },
  bind_protocol: {
    number: 90057,
    status: 400,
    text: '"{proto}" is not an endpoint protocol: use http, https, tcp or tls.',
  },
  bind_option: { number: 90058, status: 400, text: 'The option {option} cannot be used: {reason}.' },
  bind_labels: {
    number: 90059,
    status: 400,
    text: 'A labelled tunnel needs at least one label of the form name=value.',
  },
  address_of_other: {
    number: 90260,
    status: 403,
    text: 'The address {address} belongs to another user, who has it or a parent domain online or reserved. Choose another one, or ask that user to share it.',
  },
  name_held_back: {
    number: 90262,
    status: 403,
    text: 'The name {name} is restricted, because programs contact it automatically or people take it for a part of the server. Choose another one, or ask an admin to reserve it.',
  },
  usage_limit: {
    number: 90263,
    status: 403,
    text: '{who} may have at most {limit} {what} at once. Close some of them, or ask the operator to raise {setting}.',
  },
  port_share: {
    number: 90264,
    status: 403,
    text: 'A user may have at most {limit} TCP ports at once, half of the assignable ones. Close some of them, or ask the operator to widen ADIT_TCP_PORTS.',
  },
  reload_admin: { number: 90491, status: 403, text: 'Only admins may reload the settings of the server.' },
  reload_invalid: {
    number: 90492,
    status: 400,
    text: 'No setting was changed, because one is invalid: {reason}. Correct it and reload again.',
  },
  pool_options: {
    number: 90261,
    status: 400,
    text: 'The endpoints of the pool at {url} have other options than this one. Open it with the same options, or stop the others first.',
  },
  bind_limit: { number: 90060, status: 400, text: 'A session may have at most {limit} tunnels.' },
  ports_exhausted: { number: 90061, status: 503, text: 'No free TCP port between {first} and {last}.' },
  listener_off: {
    number: 90062,
    status: 400,
    text: 'The gateway does not serve {scheme}: that listener is off.',
  },

  // Errors for users of ssh -R
  ssh_command: {
    number: 90070,
    status: 400,
    text: 'The command after the host name is invalid: {reason}. Run ssh without -R to see the supported commands.',
  },
  ssh_certificate_forwarding: {
    number: 90071,
    status: 403,
    text: 'Your certificate does not allow tunnels: it needs the extension permit-port-forwarding.',
  },
  ssh_forward_taken: {
    number: 90072,
    status: 400,
    text: 'This connection already forwards {bind}. Use another port or name for each -R.',
  },
  ssh_forward_limit: {
    number: 90073,
    status: 400,
    text: 'One ssh connection opens at most {limit} tunnels.',
  },
  ssh_bind_address: {
    number: 90074,
    status: 400,
    text: 'The bind address of -R is too long or has invalid characters.',
  },

  // OAuth sign-in
  oauth_email_unverified: {
    number: 3104,
    status: 403,
    text: 'Your e-mail address is not verified at {provider}. Verify it there, then sign in again.',
  },
  oauth_not_allowed: {
    number: 3105,
    status: 403,
    text: 'Your {provider} account, {account}, is not allowed here.',
  },
  oauth_email_missing: {
    number: 3109,
    status: 403,
    text: '{provider} sent no e-mail address for your account, and one is required here.',
  },
  oauth_email_withheld: {
    number: 3110,
    status: 403,
    text: 'You did not allow {provider} to share your e-mail address, and it is required here.',
  },
  oauth_scopes_missing: {
    number: 3111,
    status: 403,
    text: 'A required permission was not granted at {provider}: {scopes} is missing.',
  },
  oauth_denied: { number: 90130, status: 403, text: 'You are not signed in at {provider}: {reason}.' },
  oauth_exchange: {
    number: 90131,
    status: 502,
    text: '{provider} refused to complete the sign-in: {reason}.',
  },
  oauth_provider: { number: 90132, status: 502, text: 'The request to {provider} failed: {reason}.' },
  oauth_session_over: {
    number: 90133,
    status: 403,
    text: 'Your session at {provider} has ended. Sign in again.',
  },
  oauth_application: {
    number: 90134,
    status: 503,
    text: 'There is no managed application for {provider}: set {setting}, or supply a client_id and a client_secret.',
  },
  oauth_open: {
    number: 90135,
    status: 503,
    text: 'The managed application for {provider} needs a list of allowed e-mail addresses or domains.',
  },

  // Errors of the agent itself
  agent_server_address: {
    number: 90080,
    status: 400,
    text: '"{value}" is not the address of a gateway: write host:port, such as 127.0.0.1:4443.',
  },
  agent_file: { number: 90081, status: 400, text: 'The file {path} cannot be read: {reason}.' },
  agent_unreachable: {
    number: 90082,
    status: 502,
    text: 'The gateway {server} cannot be reached: {reason}.',
  },
  agent_untrusted: {
    number: 90083,
    status: 502,
    text: 'The certificate of {server} is not trusted: {reason}.',
  },
  agent_certificate_expired: {
    number: 90300,
    status: 502,
    text: 'The certificate of {server} expired on {end}. Renew it on the gateway, or correct the clock of this machine (now {now}).',
  },
  agent_certificate_early: {
    number: 90301,
    status: 502,
    text: 'The certificate of {server} is not valid before {start}. Correct the clock of this machine (now {now}).',
  },
  agent_certificate_name: {
    number: 90302,
    status: 502,
    text: 'The certificate of {server} is for {names}, not for {host}. Use one of these names with --server, or check where {host} points.',
  },
  agent_not_tls: {
    number: 90303,
    status: 502,
    text: '{server} does not use TLS: it is probably a plain HTTP port. Use the agent port of the gateway (agent_addr), by default 4443.',
  },
  agent_wrong_port: {
    number: 90304,
    status: 502,
    text: '{server} is an HTTPS port that rejects the agent protocol: of another web server, or of one in front of the gateway. Use the address set as agent_addr, by default port 4443.',
  },
  agent_proxy: { number: 90305, status: 502, text: 'The proxy {proxy} {reason}.' },
  agent_connection_lost: {
    number: 90084,
    status: 502,
    text: 'The connection to {server} was lost: {reason}.',
  },
  ip_invalid: {
    number: 90430,
    status: 400,
    text: '"{value}" is not an IPv4 or IPv6 address, such as 203.0.113.7 or 2001:db8::7.',
  },
  domain_checks_busy: {
    number: 90432,
    status: 429,
    text: 'Too many domains are being checked. Try again in a few seconds.',
  },
  gateway_silent: {
    number: 90431,
    status: 503,
    text: 'No gateway process responds. They restart within seconds; see the server log if this stays.',
  },
  cluster_unavailable: {
    number: 90525,
    status: 503,
    text: 'The gateway cannot reach its database, so it assigns no new addresses. Existing ones work. Try again in a moment.',
  },
  first_process_unavailable: {
    number: 90529,
    status: 503,
    text: 'The process that assigns addresses and records sign-ins has ended and is being started again. Existing addresses work. Try again in a moment.',
  },
  tunnel_superseded: {
    number: 90527,
    status: 409,
    text: 'Another agent got {url} while the gateway of this one could not reach its database. Request another address, or stop the other agent.',
  },
  node_alone: {
    number: 90528,
    status: 409,
    text: 'This server is not in a cluster, so no other node could take over its agents. Stop it with SIGTERM.',
  },
  node_not_live: {
    number: 90526,
    status: 404,
    text: 'There is no live node {id}. List the nodes with adit cluster.',
  },
  agent_closed: { number: 90085, status: 400, text: 'The agent was closed.' },
  agent_answer: {
    number: 90086,
    status: 502,
    text: 'The gateway {server} sent an invalid response: {reason}. Check that this is its agent port (agent_addr, by default 4443) and that no proxy in between changes the traffic.',
  },
  agent_target: {
    number: 90087,
    status: 400,
    text: '"{value}" is not an address to forward to: write a port from 1 to 65535, host:port, a URL without a path, unix:/path, or file:///folder.',
  },
  agent_endpoint: { number: 90088, status: 400, text: 'The endpoint cannot be opened: {reason}.' },
} as const satisfies Record<string, CatalogEntry>
