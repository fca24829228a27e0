import { isReservedPath } from '#auth/sign-in/paths.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint } from '#http/exchange.ts'
import { errorReply } from '#http/pages.ts'

/** Records when a request was sent to its backend; the gateway's own paths never are, sign-in handles them before. */
export const atBackend =
  (backend: Endpoint): Endpoint =>
  exchange => {
    if (isReservedPath(exchange.head.path)) return Promise.resolve(errorReply('reserved_path', exchange.head))
    exchange.context.upstream.upstreamStartedAt = performance.now()
    return backend(exchange)
  }

/** Records the tunnel of a request. */
export const throughTunnel =
  (tunnel: TunnelRecord, endpoint: Endpoint): Endpoint =>
  exchange => {
    exchange.context.upstream.tunnel = tunnel
    return endpoint(exchange)
  }
