import type { ErrorName } from '#base/errors.ts'
import { StreamPool } from '#gateway/backends/stream-pool.ts'
import { type HttpUpstream, UpstreamCall } from '#gateway/backends/upstream-call.ts'
import {
  proxyHeaderOf,
  proxyProtocolOf,
  serializeRequestHead,
  rewrittenHost,
} from '#gateway/backends/upstream-request.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint, Exchange, Reply } from '#http/exchange.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import { http2Backend } from '#gateway/backends/http2-upstream.ts'
import { timeoutChecker as sharedSweeper, type TimeoutChecker } from '#http/timeout-checker.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { TunnelError } from '#tunnel/frame.ts'

export interface TunnelBackendOptions {
  readonly dialer: AgentDialer
  readonly tunnel: TunnelRecord
  /** How long a service may take until the first byte of its response. */
  readonly answerTimeoutMs?: number
  /** How many idle upstream connections are kept, and for how long. */
  readonly maxIdle?: number
  readonly idleMs?: number
  readonly timeouts?: TimeoutChecker
}

type TunnelBackend = Endpoint & {
  /** The tunnel is closed: idle connections are closed, busy ones after their request. */
  close(): void
}

const EMPTY = Buffer.alloc(0)

/** Sends requests to the service behind a tunnel. */
export function tunnelBackend(options: TunnelBackendOptions): TunnelBackend {
  const { dialer, tunnel } = options
  if (tunnel.forwardsProto === 'http2') {
    const dial = async (client: Exchange['client']): Promise<ByteStream> =>
      dialer.dial(tunnel, proxyHeaderOf(tunnel, client), proxyProtocolOf(tunnel, client) ?? EMPTY)
    return http2Backend({ dial, tunnel })
  }
  const upstream = http1Upstream(options)
  const answer = (exchange: Exchange): Promise<Reply> =>
    new Promise((resolve, reject) => {
      new UpstreamCall(upstream, exchange, resolve, reject).start()
    })
  return Object.assign(answer, { close: () => upstream.pool.close() })
}

function http1Upstream({
  dialer,
  tunnel,
  answerTimeoutMs = 300_000,
  maxIdle = 256,
  idleMs = 60_000,
  timeouts = sharedSweeper,
}: TunnelBackendOptions): HttpUpstream {
  const host = rewrittenHost(tunnel)
  const { ProxyProto } = tunnel.options
  return {
    pool: new StreamPool({ timeouts, maxIdle, idleMs }),
    viaAgent: true,
    // The PROXY header of a connection names one client.
    reusable: ProxyProto !== 1 && ProxyProto !== 2,
    answerTimeoutMs,
    now: () => timeouts.now,
    text: exchange => serializeRequestHead(exchange, host),
    dial: async ({ client }, first) => {
      const prefix = proxyProtocolOf(tunnel, client)
      const bytes = prefix === undefined ? first : Buffer.concat([prefix, first])
      return dialer.dial(tunnel, proxyHeaderOf(tunnel, client), bytes)
    },
    notDialled,
  }
}

function notDialled(error: unknown): ErrorName | undefined {
  if (error instanceof DialError) return error.code === 'busy' ? 'agent_busy' : 'agent_gone'
  return error instanceof TunnelError ? 'agent_gone' : undefined
}
