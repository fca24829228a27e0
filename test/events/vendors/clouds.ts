import { gunzipSync } from 'node:zlib'
import { secretText } from '../../support/secrets.ts'
import { json, service, type Answer } from '../destinations/support.ts'
import { contentOf, readEvent, refused, type ReceivedEvent, type Stage, type Vendor } from './vendor.ts'

export async function startDatadog({ stack, endpoints }: Stage): Promise<Vendor> {
  const events: ReceivedEvent[] = []
  const key = secretText('datadog')
  const intake: Answer = (seen, response) => {
    const { 'dd-api-key': given, 'content-encoding': encoding } = seen.headers
    if (given !== key || seen.path !== '/api/v2/logs') return json(response, 403, { errors: [given] })
    const text = (encoding === 'gzip' ? gunzipSync(seen.body) : seen.body).toString()
    events.push(...(JSON.parse(text) as { message: string }[]).map(({ message }) => readEvent(message)))
    json(response, 202, {})
  }
  endpoints.set('datadog', stack.use(await service(intake)).url)
  const rest = { ddtags: 'env:test', service: 'gate', ddsite: 'datadoghq.eu' }
  return {
    name: 'datadog',
    target: { api_key: key, ...rest },
    shown: { api_key: '', ...rest },
    wrong: {
      target: { api_key: secretText('wrong datadog'), ...rest },
      refusal: refused(/Datadog responded with 403\.$/),
    },
    arrived: () => events,
  }
}

export async function startAzure({ stack, endpoints }: Stage): Promise<Vendor> {
  const events: ReceivedEvent[] = []
  const [secret, token] = [secretText('azure'), secretText('azure token')]
  const login: Answer = (seen, response) => {
    const form = new URLSearchParams(seen.body.toString())
    const isKnown = form.get('client_id') === 'client-1' && form.get('client_secret') === secret
    if (!isKnown || seen.path !== '/tenant-1/oauth2/v2.0/token')
      return json(response, 401, { error: 'invalid_client', error_description: form.get('client_secret') })
    json(response, 200, { token_type: 'Bearer', access_token: token, expires_in: 3600 })
  }
  const ingestion: Answer = (seen, response) => {
    if (seen.headers.authorization !== `Bearer ${token}`) return json(response, 401, {})
    if (!seen.path.startsWith('/dataCollectionRules/dcr-1/streams/Custom-Events_CL?'))
      return json(response, 404, {})
    const rows = contentOf(seen) as (ReceivedEvent & { readonly TimeGenerated: string })[]
    for (const { TimeGenerated: time, ...event } of rows) {
      if (time !== event.event_timestamp) return json(response, 400, {})
      events.push(event)
    }
    response.writeHead(204).end()
  }
  endpoints.set('azure_login', stack.use(await service(login)).url)
  const rest = {
    tenant_id: 'tenant-1',
    client_id: 'client-1',
    logs_ingestion_uri: stack.use(await service(ingestion)).url,
    data_collection_rule_id: 'dcr-1',
    data_collection_stream_name: 'Custom-Events_CL',
  }
  return {
    name: 'azure_logs_ingestion',
    target: { client_secret: secret, ...rest },
    shown: { client_secret: '', ...rest },
    wrong: {
      target: { client_secret: secretText('wrong azure'), ...rest },
      refusal: refused(/Azure sign-in responded with 401 \(invalid_client\)\.$/),
    },
    arrived: () => events,
  }
}
