import type { Socket } from 'node:net'
import { EgressError } from '#base/egress.ts'
import { fail, type ErrorName } from '#base/errors.ts'
import { parseHostPort } from '#base/hosts.ts'
import type { staticBackend as contract } from '#contract/kinds/backends.ts'
import type { Stored } from '#contract/shape.ts'
import type { BackendParts, BuildBackend } from '#gateway/backends/backend.ts'
import { StaticDialer } from '#gateway/backends/static-dialer.ts'
import { StreamPool } from '#gateway/backends/stream-pool.ts'
import { type HttpUpstream, UpstreamCall } from '#gateway/backends/upstream-call.ts'
import { serializeRequestHead } from '#gateway/backends/upstream-request.ts'
import { DialError } from '#registry/agent-dialer.ts'
import { timeoutChecker } from '#http/timeout-checker.ts'
import { fromDuplex } from '#tunnel/from-duplex.ts'

const CONNECT_MS = 5000
const ANSWER_MS = 300_000
const IDLE_MS = 30_000
const MAX_IDLE = 128
// A service that neither sends nor closes after we closed is reset.
const LINGER_MS = 30_000

/** Forwards to a fixed address. */
export const staticBackend: BuildBackend = ({ id, body }, parts) => {
  const { address, tls } = body as Stored<typeof contract.shape>
  const dialer = dialerTo(id, address, tls.enabled, parts)
  const upstream = upstreamOf(dialer)
  return {
    answer: exchange => {
      exchange.context.upstream.backendId = id
      exchange.context.upstream.tunnel = undefined
      return new Promise((resolve, reject) => {
        new UpstreamCall(upstream, exchange, resolve, reject).start()
      })
    },
    dial: async (_visitor, first) => {
      const stream = fromDuplex(await dialer.dial())
      stream.write(first)
      return stream
    },
    close: () => upstream.pool.close(),
  }
}

function dialerTo(id: string, address: string, secure: boolean, parts: BackendParts): StaticDialer {
  const { egress, edge, log } = parts
  const target = parseHostPort(address)
  if (target === undefined) fail('static_address')
  const tls = { serverName: target.host, ...(edge === 'https' && { alpn: ['http/1.1'] }) }
  const wanted = { ...target, ...(secure && { tls }), timeoutMs: CONNECT_MS }
  const connect = async (): Promise<Socket> => {
    try {
      return (await egress.connect(wanted)).setKeepAlive(true, 60_000)
    } catch (error) {
      throw error instanceof EgressError ? new DialError('offline', error.message, error) : error
    }
  }
  const changed = (failure: DialError | undefined): void => {
    if (failure === undefined) log.info({ backend: id }, 'static backend reachable again')
    else log.warn({ backend: id, reason: failure.message }, 'static backend unreachable')
  }
  return new StaticDialer({ connect, changed })
}

const upstreamOf = (dialer: StaticDialer): HttpUpstream => ({
  pool: new StreamPool({ timeouts: timeoutChecker, maxIdle: MAX_IDLE, idleMs: IDLE_MS }),
  viaAgent: false,
  reusable: true,
  answerTimeoutMs: ANSWER_MS,
  now: () => timeoutChecker.now,
  text: exchange => serializeRequestHead(exchange, undefined),
  async dial(_exchange, first) {
    const socket = await dialer.dial()
    const finish = (): void => {
      socket.end()
      socket.setTimeout(LINGER_MS, () => socket.destroy())
    }
    const stream = fromDuplex(socket, { finish })
    stream.write(first)
    return stream
  },
  notDialled,
})

function notDialled(error: unknown): ErrorName | undefined {
  if (!(error instanceof DialError)) return undefined
  if (error.code === 'busy') return 'static_busy'
  switch (error.cause instanceof EgressError ? error.cause.code : 'unreachable') {
    case 'forbidden':
      return 'static_forbidden'
    case 'untrusted':
      return 'static_untrusted'
    case 'timeout':
      return 'static_timeout'
    default:
      return 'static_unreachable'
  }
}
