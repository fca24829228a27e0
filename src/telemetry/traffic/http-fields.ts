import { type HttpField, trafficFields } from '#contract/events/traffic-fields.ts'
import type { Reply, HttpClientConnection } from '#http/exchange.ts'
import type { Framing } from '#http/body.ts'
import type { RequestHead } from '#http/head.ts'
import type { Trace } from '#http/trace.ts'
import { wallTime } from '#telemetry/traffic/moments.ts'
import { type Getters, type Write, writerOf } from '#telemetry/traffic/writer.ts'

/** A finished request. */
export interface SeenRequest {
  readonly client: HttpClientConnection
  /** Undefined when it could not be parsed. */
  readonly head: RequestHead | undefined
  readonly reply: Reply
  readonly trace: Trace
  /** When the last byte of the response was sent, by `performance.now`. */
  readonly ended: number
}

const table = trafficFields['http_request_complete.v0']

const getters: Getters<typeof table, SeenRequest> = {
  'conn.client_ip': ({ client }) => client.ip,
  'conn.server_ip': ({ client }) => client.localIp,
  'conn.server_name': ({ client, head }) => client.serverName ?? head?.host ?? '',
  'conn.server_port': ({ client }) => client.localPort,
  'conn.start_ts': ({ client: { since } }) => (since === undefined ? undefined : wallTime(since)),
  'ip_policy.decision': ({ reply, trace }) =>
    reply.refusal === 'visitor_refused' ? 'block' : decision(trace, 'ip_restriction'),
  ja4_fingerprint: ({ client }) => client.ja4,
  // Traffic policies are not supported, so this is empty.
  'traffic_policy.logs': () => [],
  'backend.connection_reused': ({ trace }) => trace.reused,
  'basic_auth.decision': ({ trace }) => decision(trace, 'basic_auth'),
  'basic_auth.username': ({ trace }) => trace.username,
  'circuit_breaker.decision': ({ trace }) =>
    trace.whileOpen ? 'allow_while_open' : decision(trace, 'circuit_breaker'),
  'compression.algorithm': ({ trace }) =>
    decision(trace, 'compression') && (trace.compressed?.coding ?? 'none'),
  'compression.bytes_saved': ({ trace }) => decision(trace, 'compression') && (trace.compressed?.saved ?? 0),
  'http.request.body_length': ({ head, trace }) => head && lengthOf(head.framing, trace.content?.counted),
  'http.request.first_byte_ts': ({ trace }) => wallTime(trace.begun),
  'http.request.headers': ({ head }) => head?.fields,
  'http.request.last_byte_ts': ({ trace }) => lastByteOf(trace),
  'http.request.method': ({ head }) => head?.method,
  'http.request.url.host': ({ head }) => head?.host,
  'http.request.url.path': ({ head }) => head?.path,
  'http.request.url.query': ({ head }) => head?.target.slice(head.path.length + 1),
  'http.request.url.raw': ({ client, head }) => head && `${client.scheme}://${head.authority}${head.target}`,
  'http.request.url.scheme': ({ client }) => client.scheme,
  'http.request.user_agent': ({ head }) => head?.fields.get('user-agent'),
  'http.request.version': ({ head }) => head && `HTTP/${head.version}`,
  'http.response.body_length': ({ head, reply }) =>
    head?.method === 'HEAD' ? 0 : lengthOf(reply.head.framing, reply.body.counted),
  'http.response.first_byte_ts': ({ trace }) => wallTime(trace.answered),
  'http.response.headers': ({ reply }) => reply.head.fields,
  'http.response.last_byte_ts': ({ ended }) => wallTime(ended),
  'http.response.status_code': ({ reply }) => reply.head.status,
  'oauth.app_client_id': ({ trace }) => trace.appClientId,
  'oauth.decision': ({ trace }) =>
    decision(trace, 'oauth') ?? decision(trace, 'oidc') ?? decision(trace, 'saml'),
  'oauth.user.id': ({ trace }) => trace.identity?.id,
  'oauth.user.name': ({ trace }) => trace.identity?.name,
  'tls.cipher_suite': ({ client }) => client.tls?.cipher,
  'tls.client_cert.serial_number': ({ client }) => client.certificate?.serialNumber,
  'tls.client_cert.subject.cn': ({ client }) => client.certificate?.commonName,
  'tls.version': ({ client }) => client.tls?.version,
  'webhook_verification.decision': ({ trace }) => decision(trace, 'webhook_verification'),
}

/** The declared length, or the received one. */
const lengthOf = (framing: Framing, counted: number | undefined): number | undefined =>
  framing.kind === 'length' ? framing.length : framing.kind === 'none' ? 0 : counted

/** Undefined while the body is incomplete, as when the response came before its end. */
function lastByteOf({ begun, content, contentEnded }: Trace): number | undefined {
  if (content === undefined) return wallTime(begun)
  return contentEnded === 0 ? undefined : wallTime(contentEnded)
}

/** Undefined when the module did not run. It may occur several times: from the record and from the agent. */
function decision({ way, passed }: Trace, name: string): 'allow' | 'block' | undefined {
  const modules = way?.modules
  if (modules === undefined || modules.length === 0) return undefined
  if (modules[passed] === name) return 'block'
  const at = modules.indexOf(name)
  return at >= 0 && at < passed ? 'allow' : undefined
}

export const httpWriter = (wanted: readonly HttpField[]): Write<SeenRequest> =>
  writerOf(table, getters, wanted, ({ client }) => client)
