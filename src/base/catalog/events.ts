import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Event sources, subscriptions and destinations. */
export const eventErrors = {
  event_format: { number: 235, status: 400, text: '"format" must be "json".' },
  event_type: {
    number: 238,
    status: 400,
    text: '"{field}": "{value}" is not an event type. They have the form ip_policy_created.v0; see docs/reference/events.md.',
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
} as const satisfies Record<string, CatalogEntry>
