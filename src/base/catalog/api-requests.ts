import type { CatalogEntry } from '#base/catalog/entry.ts'

/** What every operation of the API may reject: body, query, references, storage. */
export const apiRequestErrors = {
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
  description_too_long: { number: 215, status: 400, text: '"{field}" may have at most 255 bytes.' },
  metadata_too_long: { number: 215, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  in_use: {
    number: 90023,
    status: 400,
    conflict: true,
    text: 'It is still in use by {by}. Change or delete that first.',
  },
  filter_text: { number: 90220, status: 400, text: '"{field}" must have 1 to 300 characters.' },
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
  reload_admin: { number: 90491, status: 403, text: 'Only admins may reload the settings of the server.' },
  reload_invalid: {
    number: 90492,
    status: 400,
    text: 'No setting was changed, because one is invalid: {reason}. Correct it and reload again.',
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
} as const satisfies Record<string, CatalogEntry>
