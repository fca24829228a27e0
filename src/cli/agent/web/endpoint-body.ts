import type { NamedPlan } from '#cli/agent/tunnel-plan.ts'
import type { TunnelKind } from '#tunnel/tunnel-option.ts'
import { isPlainObject } from '#base/plain-object.ts'
import { invalid, nameOf, plan } from '#cli/agent/web/tunnel-body.ts'

const known = new Set([
  'agent_tls_termination',
  'bindings',
  'description',
  'inspect',
  'metadata',
  'name',
  'pooling_enabled',
  'traffic_policy',
  'traffic_policy_file',
  'uri',
  'upstream',
  'url',
])

const BARE_SCHEME = /^(https?|tcp|tls):\/\/$/i
const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i

/** Reads the body of `POST /api/endpoints` and of `PUT`, where the path names the endpoint. */
export function readEndpointBody(body: unknown, name?: string): NamedPlan {
  if (!isPlainObject(body)) return invalid('the body must be a JSON object')
  const unknown = Object.keys(body).find(key => !known.has(key))
  if (unknown !== undefined)
    return invalid(`field ${unknown.slice(0, 100)} not found in type config.EndpointConfig`)
  const own = nameOf(name ?? body['name'])
  const { kind, options } = addressOf(body['url'])
  const { target, more } = upstreamOf(body['upstream'], kind)
  const { metadata, pooling_enabled, inspect, traffic_policy } = body
  const shared = { metadata, pooling_enabled, inspect, traffic_policy, ...termination(body) }
  checkBinding(body['bindings'])
  if (body['traffic_policy_file'] !== undefined)
    invalid('traffic_policy_file: Traffic Policy is not supported')
  const given = Object.entries({ ...shared, ...options, ...more }).filter(([, value]) => value !== undefined)
  return { name: own, plan: plan(kind, target, Object.fromEntries(given)) }
}

interface Address {
  readonly kind: TunnelKind
  readonly options: Readonly<Record<string, unknown>>
}

function addressOf(url: unknown): Address {
  if (url === undefined || url === null || url === '') return { kind: 'http', options: {} }
  if (typeof url !== 'string') return invalid('url: must be text, such as https://name.example.com')
  const scheme = SCHEME.exec(url)?.[1]?.toLowerCase()
  if (scheme === undefined) return { kind: 'http', options: { domain: url } }
  if (!['http', 'https', 'tcp', 'tls'].includes(scheme))
    return invalid('url: the protocol name must be one of https, http, tcp, tls')
  const kind = scheme === 'https' ? 'http' : (scheme as TunnelKind)
  if (!BARE_SCHEME.test(url)) return { kind, options: { url } }
  return { kind, options: kind === 'http' ? { schemes: [scheme] } : {} }
}

interface Upstream {
  readonly target: string
  readonly more: Readonly<Record<string, unknown>>
}

function upstreamOf(upstream: unknown, kind: TunnelKind): Upstream {
  if (!isPlainObject(upstream)) return invalid('upstream: must be an object with the field "url"')
  const { url, protocol, proxy_protocol } = upstream
  const text = typeof url === 'number' ? String(url) : url
  if (typeof text !== 'string' || text === '')
    return invalid('upstream.url: must be a port, host:port or a URL, such as http://localhost:8080')
  const unknown = Object.keys(upstream).find(key => !['url', 'protocol', 'proxy_protocol'].includes(key))
  if (unknown !== undefined) return invalid(`field upstream.${unknown.slice(0, 100)} not found`)
  const more = { upstream_protocol: protocol ?? undefined, proxy_proto: proxy_protocol ?? undefined }
  return { target: completed(text, kind), more }
}

/** A scheme alone means this machine; a host alone means port 80. */
function completed(url: string, kind: TunnelKind): string {
  if (BARE_SCHEME.test(url)) return `${url}localhost`
  const isHost = kind === 'http' && !SCHEME.test(url) && /^[^:/]+$/.test(url) && !/^\d+$/.test(url)
  return isHost ? `http://${url}` : url
}

function termination({ agent_tls_termination: given }: Readonly<Record<string, unknown>>) {
  if (given === undefined || given === null) return {}
  if (!isPlainObject(given)) return invalid('agent_tls_termination: must be an object')
  const { server_certificate, server_private_key, mutual_tls_certificate_authorities: cas } = given
  return {
    crt: server_certificate,
    key: server_private_key,
    mutual_tls_cas: Array.isArray(cas) ? cas.join('\n') : cas,
  }
}

function checkBinding(bindings: unknown): void {
  const given = [bindings ?? []].flat()
  if (given.some(each => each !== 'public')) invalid('bindings: only "public" is supported')
}
