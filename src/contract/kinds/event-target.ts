import { flag, integer, line, mapOf } from '#contract/schema.ts'
import { input, optional, required, secret, sensitive } from '#contract/shape.ts'
import { nullableObject, nested } from '#contract/shape-schema.ts'

const word = (doc?: string) => input(line({ maxBytes: 2048 }), doc)
const masked = () => secret(input(line({ maxBytes: 4096 })), 'masked')

const awsAuth = {
  role: nullableObject({ role_arn: required(word('Role to assume.')) }),
  creds: nullableObject({ aws_access_key_id: required(word()), aws_secret_access_key: required(masked()) }),
}

/** One key per destination type; exactly one is given. */
export const eventTarget = {
  firehose: nullableObject({ auth: nested(awsAuth), delivery_stream_arn: required(word()) }),
  kinesis: nullableObject({ auth: nested(awsAuth), stream_arn: required(word()) }),
  cloudwatch_logs: nullableObject({ auth: nested(awsAuth), log_group_arn: required(word()) }),
  datadog: nullableObject({
    api_key: masked(),
    ddtags: optional(line({ maxBytes: 2048 })),
    service: optional(line({ maxBytes: 2048 })),
    ddsite: optional(line({ maxBytes: 2048 })),
  }),
  azure_logs_ingestion: nullableObject({
    tenant_id: required(word()),
    client_id: required(word()),
    client_secret: required(masked()),
    logs_ingestion_uri: required(sensitive(word(), 'url')),
    data_collection_rule_id: required(word()),
    data_collection_stream_name: required(word()),
  }),
  webhook: nullableObject({
    url: required(sensitive(word('URL for POST requests.'), 'url')),
    secret: masked(),
    batch_size: input(
      integer(1, 1000, { default: 1 }),
      'Maximum number of events in a POST. With more than 1 the body is an array of events in order, of up to 1 MiB ' +
        'unless a single one is longer; webhook-id and signature are for the whole body, event_id identifies events.',
    ),
  }),
  otlp: nullableObject({
    endpoint: required(sensitive(word('OTLP logs over HTTP.'), 'url')),
    headers: secret(input(mapOf(line({ maxBytes: 4096 }), { maxProperties: 32 })), 'masked'),
  }),
  syslog: nullableObject({ address: required(word('host:port.')), tls: input(flag(true)) }),
  file: nullableObject({ path: required(word('In the folder "events" of the data folder.')) }),
  debug: nullableObject({}),
}
