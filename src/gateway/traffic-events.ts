import { newId } from '#base/ids.ts'
import type { Reply, Visitor } from '#gateway/exchange.ts'
import type { Framing } from '#gateway/http/body.ts'
import type { RequestHead } from '#gateway/http/head.ts'
import type { Guest } from '#gateway/listeners/visitor.ts'
import type { Trace } from '#gateway/trace.ts'
import type { TrafficEvent } from '#gateway/traffic.ts'
import type { SpliceEnd } from '#tunnel/splice.ts'

/** A request and its answer, as they are known when the answer is there. */
export interface Seen {
  readonly visitor: Visitor
  readonly head: RequestHead | undefined
  readonly reply: Reply
}

const time = (milliseconds: number): string => new Date(milliseconds).toISOString()
const wall = (moment: number): string => time(performance.timeOrigin + moment)

const lengthOf = (framing: Framing | undefined): number | undefined =>
  framing?.kind === 'length' ? framing.length : framing?.kind === 'none' ? 0 : undefined

/** Allowed, blocked, or undefined where the module was not met. */
function decision({ way, passed }: Trace, ...names: readonly string[]): { decision: string } | undefined {
  const at = way?.modules.findIndex(module => names.includes(module)) ?? -1
  if (at < 0 || at > passed) return undefined
  return { decision: at < passed ? 'allow' : 'block' }
}

/** What is told of a request. Fields of the head and the query are left out: they hold secrets. */
export function httpEvent({ visitor, head, reply }: Seen, trace: Trace, ended: number): TrafficEvent {
  const { certificate, tls } = visitor
  const { identity } = trace
  const object = {
    conn: {
      client_ip: visitor.ip,
      server_ip: visitor.localIp,
      server_name: visitor.serverName ?? head?.host ?? '',
      server_port: visitor.localPort,
    },
    http: {
      request: {
        method: head?.method,
        version: head && `HTTP/${head.version}`,
        url: { scheme: visitor.scheme, host: head?.host, path: head?.path },
        user_agent: head?.fields.get('user-agent'),
        body_length: lengthOf(head?.framing),
        first_byte_ts: wall(trace.begun),
      },
      response: {
        status_code: reply.head.status,
        body_length: lengthOf(reply.head.framing),
        first_byte_ts: wall(trace.answered),
        last_byte_ts: wall(ended),
      },
    },
    basic_auth: decision(trace, 'basic_auth'),
    circuit_breaker: decision(trace, 'circuit_breaker'),
    compression: trace.way?.modules.includes('compression') ? { algorithm: codingOf(reply) } : undefined,
    ip_policy: decision(trace, 'ip_restriction', 'ip_policy'),
    oauth: signedIn(decision(trace, 'oauth', 'oidc', 'saml'), identity),
    webhook_verification: decision(trace, 'webhook_verification'),
    tls: tls && {
      version: tls.version,
      cipher_suite: tls.cipher,
      client_cert: certificate && {
        serial_number: certificate.serialNumber,
        subject: { cn: certificate.commonName },
      },
    },
  }
  // The id of the request is in the form of every id, so that the event can be found by it and the other way round.
  const id = `ev_${trace.id.slice(3)}`
  return { id, type: 'http_request_complete.v0', at: wall(ended), object: JSON.stringify(object) }
}

const codingOf = ({ head }: Reply): string => {
  const coding = head.fields.get('content-encoding')
  return coding === 'gzip' || coding === 'deflate' ? coding : 'none'
}

const signedIn = (decided: { decision: string } | undefined, identity: Trace['identity']) =>
  decided && { ...decided, user: identity && { id: identity.id, name: identity.name } }

/** What is told of a connection on which we do not speak HTTP. */
export function tcpEvent(visitor: Guest, begun: number, { received, sent }: SpliceEnd): TrafficEvent {
  const now = Date.now()
  const object = {
    conn: {
      client_ip: visitor.ip,
      server_ip: visitor.localIp,
      server_name: visitor.serverName ?? '',
      server_port: visitor.localPort,
      bytes_in: received,
      bytes_out: sent,
      start_ts: time(begun),
      end_ts: time(now),
    },
  }
  const at = time(now)
  return { id: newId('ev', now), type: 'tcp_connection_closed.v0', at, object: JSON.stringify(object) }
}
