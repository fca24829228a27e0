import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint } from '#http/exchange.ts'

/** Records the tunnel of a request. */
export const throughTunnel =
  (tunnel: TunnelRecord, endpoint: Endpoint): Endpoint =>
  exchange => {
    exchange.context.upstream.tunnel = tunnel
    return endpoint(exchange)
  }
