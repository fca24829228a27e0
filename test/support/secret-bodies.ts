import { oauthProviders } from '#contract/modules/oauth.ts'
import type { Shape } from '#contract/shape.ts'
import { findSecret, secretText } from './secrets.ts'

/** The fields for secrets that are set in a body. Those that the server sets by itself are where their module is. */
export function seededIn(shape: Shape, body: unknown, path: readonly string[]): string[] {
  if (typeof body !== 'object' || body === null) return []
  const values = new Map<string, unknown>(Object.entries(body))
  return Object.entries(shape).flatMap(([name, field]) => {
    const value = values.get(field.as ?? name)
    const isSet = field.create === 'never' || findSecret(JSON.stringify(value ?? '')) !== undefined
    return [
      ...(field.secret !== undefined && isSet ? [[...path, name].join('.')] : []),
      ...(field.shape ? seededIn(field.shape, value, [...path, name]) : []),
    ]
  })
}

/** Places of events with a secret, one of each kind; nothing listens there. */
export const targets = (): Record<string, object> => {
  const creds = () => ({ creds: { aws_access_key_id: 'AKIA', aws_secret_access_key: secretText('aws') } })
  const arn = (service: string) => `arn:aws:${service}:us-east-1:123456789012`
  return {
    firehose: { auth: creds(), delivery_stream_arn: `${arn('firehose')}:deliverystream/a` },
    kinesis: { auth: creds(), stream_arn: `${arn('kinesis')}:stream/a` },
    cloudwatch_logs: { auth: creds(), log_group_arn: `${arn('logs')}:log-group:a` },
    datadog: { api_key: secretText('datadog'), ddsite: 'datadoghq.com' },
    azure_logs_ingestion: {
      tenant_id: 'tenant',
      client_id: 'client',
      client_secret: secretText('azure'),
      logs_ingestion_uri: 'https://logs.example.com',
      data_collection_rule_id: 'dcr-1',
      data_collection_stream_name: 'Custom-Adit',
    },
    webhook: { url: 'http://127.0.0.1:9/hook', secret: secretText('webhook destination') },
    otlp: { endpoint: 'http://127.0.0.1:9/v1/logs', headers: { authorization: secretText('otlp') } },
  }
}

/** The fields of targets that have a URL: of it, events show the origin only. */
export const targetUrls: ReadonlySet<string> = new Set(['endpoint', 'logs_ingestion_uri', 'url'])

/** Modules with secrets, under the names that routes have for them: each is set on a route of its own. */
export const modules = (): Record<string, object>[] => [
  ...Object.keys(oauthProviders).map(name => ({
    oauth: { provider: { [name]: { client_id: 'own', client_secret: secretText(`oauth ${name}`) } } },
  })),
  { oidc: { issuer: 'https://id.example.com', client_id: 'own', client_secret: secretText('oidc') } },
  { webhook_verification: { provider: 'github', secret: secretText('webhook') } },
]
