import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint } from '#http/exchange.ts'

/** Records when a request was sent to its backend. */
export const timed =
  (endpoint: Endpoint): Endpoint =>
  exchange => {
    exchange.context.upstream.upstreamStartedAt = performance.now()
    return endpoint(exchange)
  }

/** Records the tunnel of a request. */
export const throughTunnel =
  (tunnel: TunnelRecord, endpoint: Endpoint): Endpoint =>
  exchange => {
    exchange.context.upstream.tunnel = tunnel
    return endpoint(exchange)
  }
