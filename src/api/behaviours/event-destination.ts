import type { ResourceHooks } from '#api/resource-hooks.ts'
import { fail } from '#base/errors.ts'
import { parseHostPort } from '#base/hosts.ts'
import { eventDestination as kind } from '#contract/kinds/events.ts'
import { eventTarget } from '#contract/kinds/event-target.ts'
import type { Stored } from '#contract/shape.ts'

type DestinationTarget = Stored<typeof eventTarget>
type Auth = NonNullable<DestinationTarget['kinesis']>['auth']

/** The given target type. */
function kindOf(target: DestinationTarget): keyof DestinationTarget {
  const given = Object.entries(target).flatMap(([name, value]) => (value === null ? [] : [name]))
  const [first, second] = given
  const field = 'target'
  if (first === undefined)
    return fail('target_none', { field, supported: Object.keys(eventTarget).join(', ') })
  if (second !== undefined) fail('target_several', { field, given: given.join(', ') })
  return first as keyof DestinationTarget
}

function checkAuth(field: string, auth: Auth): void {
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

const checks: { [Name in keyof DestinationTarget]: (target: NonNullable<DestinationTarget[Name]>) => void } =
  {
    firehose: target => {
      checkAuth('target.firehose.auth', target.auth)
      checkArn(
        'target.firehose.delivery_stream_arn',
        target.delivery_stream_arn,
        'firehose',
        'deliverystream/',
      )
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

export const eventDestination: ResourceHooks = {
  prepare(draft) {
    const { target } = draft.as(kind)
    const now = kindOf(target)
    if (draft.before) {
      const was = kindOf(draft.before['target'] as DestinationTarget)
      if (was !== now) fail('target_type_fixed', { field: 'target', was, now })
    }
    const check = checks[now] as (target: unknown) => void
    check(target[now])
  },
  commands: { test: ({ row }, call) => call.live.command(row.id, 'test') },
}
