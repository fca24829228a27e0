import type { ApiRequest } from '#api/api-request.ts'
import { plainAddress } from '#base/addresses.ts'
import type { TrustedProxies } from '#base/trusted-proxies.ts'

/** The address of the client, as the gateway or a trusted proxy in front of the API states it. */
export function clientAddress(request: ApiRequest, proxies: TrustedProxies | undefined): string {
  const { peer } = request
  // The gateway removes what clients state.
  if (request.isViaGateway) return plainAddress(request.proxyFields?.['x-forwarded-for'] ?? '')
  return proxies?.has(peer) ? proxies.clientOf(peer, request.proxyFields ?? {}) : peer
}

/** The base URL under which the client reaches the API, without a trailing slash. */
export function baseUrl({ host, isViaGateway }: ApiRequest, publicUrl: string | undefined): string {
  return isViaGateway ? `https://${host}` : (publicUrl ?? `http://${host || 'localhost'}`)
}
