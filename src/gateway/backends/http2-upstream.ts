import { canRetry, type FailedAttempt } from '#gateway/backends/retry.ts'
import { rewrittenHost } from '#gateway/backends/upstream-request.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint, Exchange, UpstreamFailure, Reply, HttpClientConnection } from '#http/exchange.ts'
import { DialError } from '#registry/agent-dialer.ts'
import { Http2Call, type Http2Outcome } from '#gateway/backends/http2-call.ts'
import { Http2Pool } from '#gateway/backends/http2-pool.ts'
import { errorReply } from '#http/pages.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'

const FIRST_ANSWER = 300_000
/** A closing connection refuses streams without processing them; the body may be on its way there. */
const REFUSED: FailedAttempt = {
  isSent: false,
  isBodyRead: true,
  hasResponse: false,
  mayResend: false,
  attemptsLeft: 1,
}

export interface Http2BackendOptions {
  readonly dial: (client: HttpClientConnection) => Promise<ByteStream>
  readonly tunnel: TunnelRecord
  /** Milliseconds to wait for a response head. */
  readonly patience?: number
}

export type Http2Backend = Endpoint & { close(): void }

/** An HTTP/2 upstream of a tunnel, with prior knowledge and without TLS (RFC 9113 §3.3). Close it with its tunnel. */
export function http2Backend({ dial, tunnel, patience = FIRST_ANSWER }: Http2BackendOptions): Http2Backend {
  const { ProxyProto } = tunnel.options
  // The PROXY header of a connection names one client.
  const pool = new Http2Pool(dial, ProxyProto !== 1 && ProxyProto !== 2)
  const authority = rewrittenHost(tunnel)

  const attempt = async (exchange: Exchange): Promise<Http2Outcome | Undialled> => {
    let link
    exchange.context.upstream.reused = undefined
    try {
      link = await pool.take(exchange.client)
    } catch (error) {
      return error instanceof DialError ? error.code : 'undialled'
    }
    exchange.context.upstream.reused = link.reused
    const outcome = await new Http2Call({ link, exchange, authority, patience }).start()
    return link.isLost && (outcome === 'closed' || outcome === 'unreachable') ? 'lost' : outcome
  }

  const answer: Endpoint = async exchange => {
    let outcome = await attempt(exchange)
    if (outcome === 'refused' && canRetry(exchange.head, REFUSED)) outcome = await attempt(exchange)
    if (typeof outcome !== 'string') return outcome
    const reply = replyTo(exchange, outcome, patience)
    // An abort because the client disconnected is no evidence against the service.
    const lost = exchange.clientAbort.aborted ? undefined : lostBy(outcome, exchange)
    return lost === undefined ? reply : { ...reply, failure: lost }
  }

  return Object.assign(answer, { close: () => pool.close() })
}

/** `failure`: it was sent, and the agent's connection was lost. */
type Undialled = DialError['code'] | 'undialled' | 'lost'
type Failure = Exclude<Http2Outcome, Reply> | Undialled

function lostBy(failure: Failure, { head }: Exchange): UpstreamFailure | undefined {
  switch (failure) {
    case 'offline':
    case 'busy':
    case 'undialled':
      return 'not-sent'
    case 'refused':
      return canRetry(head, REFUSED) ? 'not-sent' : 'no-response'
    case 'unreachable':
    case 'closed':
    case 'lost':
      return 'no-response'
    default:
      return undefined
  }
}

function replyTo({ head }: Exchange, failure: Failure, patience: number): Reply {
  switch (failure) {
    case 'offline':
    case 'lost':
      return errorReply('agent_gone', head)
    case 'busy':
      return errorReply('agent_busy', head)
    case 'undialled':
    case 'unreachable':
      return errorReply('upstream_unreachable', head)
    case 'invalid':
      return errorReply('upstream_invalid', head, { reason: 'it breaks the rules of HTTP/2' })
    case 'timeout':
      return errorReply('upstream_timeout', head, { seconds: Math.round(patience / 1000) })
    default:
      return errorReply('upstream_closed', head)
  }
}
