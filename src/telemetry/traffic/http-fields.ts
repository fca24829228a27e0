import { type HttpField, trafficFields } from '#contract/events/traffic-fields.ts'
import type { Reply, HttpClientConnection } from '#http/exchange.ts'
import type { Framing } from '#http/body.ts'
import type { RequestHead } from '#http/head.ts'
import type { ConnectionSection, RequestContext, RoutingSection } from '#http/request-context.ts'
import { wallTime } from '#base/wall-time.ts'
import { type Getters, type WriteFields, writerOf } from '#telemetry/traffic/writer.ts'

/** A finished request. */
export interface SeenRequest {
  readonly client: HttpClientConnection
  /** Undefined when it could not be parsed. */
  readonly head: RequestHead | undefined
  readonly reply: Reply
  readonly context: RequestContext
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
  'ip_policy.decision': ({ reply, context }) =>
    reply.refusal === 'visitor_refused' ? 'block' : decision(context, 'ip_restriction'),
  ja4_fingerprint: ({ client }) => client.ja4,
  // Traffic policies are not supported, so this is empty.
  'traffic_policy.logs': () => [],
  'backend.connection_reused': ({ context }) => context.reused,
  'basic_auth.decision': ({ context }) => decision(context, 'basic_auth'),
  'basic_auth.username': ({ context }) => context.username,
  'circuit_breaker.decision': ({ context }) =>
    context.whileOpen ? 'allow_while_open' : decision(context, 'circuit_breaker'),
  'compression.algorithm': ({ context }) =>
    decision(context, 'compression') && (context.compressed?.coding ?? 'none'),
  'compression.bytes_saved': ({ context }) =>
    decision(context, 'compression') && (context.compressed?.saved ?? 0),
  'http.request.body_length': ({ head, context }) => head && lengthOf(head.framing, context.content?.counted),
  'http.request.first_byte_ts': ({ context }) => wallTime(context.begun),
  'http.request.headers': ({ head }) => head?.fields,
  'http.request.last_byte_ts': ({ context }) => lastByteOf(context),
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
  'http.response.first_byte_ts': ({ context }) => wallTime(context.respondedAt),
  'http.response.headers': ({ reply }) => reply.head.fields,
  'http.response.last_byte_ts': ({ ended }) => wallTime(ended),
  'http.response.status_code': ({ reply }) => reply.head.status,
  'oauth.app_client_id': ({ context }) => context.appClientId,
  'oauth.decision': ({ context }) =>
    decision(context, 'oauth') ?? decision(context, 'oidc') ?? decision(context, 'saml'),
  'oauth.user.id': ({ context }) => context.identity?.id,
  'oauth.user.name': ({ context }) => context.identity?.name,
  'tls.cipher_suite': ({ client }) => client.tls?.cipher,
  'tls.client_cert.serial_number': ({ client }) => client.certificate?.serialNumber,
  'tls.client_cert.subject.cn': ({ client }) => client.certificate?.commonName,
  'tls.version': ({ client }) => client.tls?.version,
  'webhook_verification.decision': ({ context }) => decision(context, 'webhook_verification'),
}

/** The declared length, or the received one. */
const lengthOf = (framing: Framing, counted: number | undefined): number | undefined =>
  framing.kind === 'length' ? framing.length : framing.kind === 'none' ? 0 : counted

/** Undefined while the body is incomplete, as when the response came before its end. */
function lastByteOf({
  begun,
  content,
  contentEnded,
}: Readonly<ConnectionSection> & Pick<RequestContext, 'begun'>): number | undefined {
  if (content === undefined) return wallTime(begun)
  return contentEnded === 0 ? undefined : wallTime(contentEnded)
}

/** Undefined when the module did not run. It may occur several times: from the record and from the agent. */
function decision(
  { route, modulesPassed: passed }: Readonly<RoutingSection>,
  name: string,
): 'allow' | 'block' | undefined {
  const modules = route?.modules
  if (modules === undefined || modules.length === 0) return undefined
  if (modules[passed] === name) return 'block'
  const at = modules.indexOf(name)
  return at >= 0 && at < passed ? 'allow' : undefined
}

export const httpWriter = (wanted: readonly HttpField[]): WriteFields<SeenRequest> =>
  writerOf(table, getters, wanted, ({ client }) => client)
