import { fail } from '#base/errors.ts'
import { parseHostPort } from '#base/hosts.ts'
import { flag, integer, line, mapOf } from '#contract/schema.ts'
import { input, optional, required, secret, sensitive, type Stored } from '#contract/shape.ts'
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

type Targets = Stored<typeof eventTarget>

function checkAuth(field: string, auth: Stored<typeof awsAuth>): void {
  if (!auth.role && !auth.creds) fail('target_auth_empty', { field })
  if (auth.role && auth.creds) fail('target_auth_several', { field })
  if (auth.role && !/^arn:aws[\w-]*:iam::\d{12}:role\/.+$/.test(auth.role.role_arn)) {
    fail('target_role_arn', { field: `${field}.role.role_arn` })
  }
}

function checkArn(field: string, value: string, service: string, resource: string): void {
  const form = new RegExp(`^arn:aws[\\w-]*:${service}:[a-z0-9-]+:\\d{12}:${resource}.+$`)
  if (!form.test(value)) {
    fail('target_arn', { field, example: `arn:aws:${service}:us-east-1:123456789012:${resource}name` })
  }
}

function checkUrl(field: string, value: string): void {
  const url = URL.parse(value)
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    fail('target_url', { field, example: 'https://events.example.com/adit' })
  }
}

/** What the schema of each type cannot express. */
export const targetChecks: {
  readonly [Name in keyof Targets]: (target: NonNullable<Targets[Name]>) => void
} = {
  firehose: target => {
    checkAuth('target.firehose.auth', target.auth)
    checkArn('target.firehose.delivery_stream_arn', target.delivery_stream_arn, 'firehose', 'deliverystream/')
  },
  kinesis: target => {
    checkAuth('target.kinesis.auth', target.auth)
    checkArn('target.kinesis.stream_arn', target.stream_arn, 'kinesis', 'stream/')
  },
  cloudwatch_logs: target => {
    checkAuth('target.cloudwatch_logs.auth', target.auth)
    checkArn('target.cloudwatch_logs.log_group_arn', target.log_group_arn, 'logs', 'log-group:')
  },
  datadog: target => {
    if (target.api_key === '') fail('target_datadog_key', { field: 'target.datadog.api_key' })
  },
  azure_logs_ingestion: target => {
    for (const [name, value] of Object.entries(target)) {
      if (value === '') fail('target_azure', { field: `target.azure_logs_ingestion.${name}` })
    }
    checkUrl('target.azure_logs_ingestion.logs_ingestion_uri', target.logs_ingestion_uri)
  },
  webhook: target => checkUrl('target.webhook.url', target.url),
  otlp: target => checkUrl('target.otlp.endpoint', target.endpoint),
  syslog: target => {
    if (!parseHostPort(target.address)) {
      fail('target_url', { field: 'target.syslog.address', example: 'logs.example.com:6514' })
    }
  },
  file: target => {
    const parts = target.path.split(/[/\\]/)
    if (
      target.path === '' ||
      target.path.startsWith('/') ||
      parts.some(part => part === '..' || part === '')
    ) {
      fail('target_path', { field: 'target.file.path' })
    }
  },
  debug: () => undefined,
}
