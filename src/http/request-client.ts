import type { TrustedProxies } from '#base/trusted-proxies.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'

/** The client of a request: that of the connection, or the one for which a trusted proxy sends it. */
export function requestClient(
  connection: HttpClientConnection,
  { proxyFields = {} }: RequestHead,
  proxies: TrustedProxies | undefined,
): HttpClientConnection {
  if (proxies === undefined) return connection
  const ip = proxies.clientOf(connection.ip, proxyFields)
  // Proxies do not pass on the port.
  return ip === connection.ip ? connection : { ...connection, ip, port: 0 }
}
