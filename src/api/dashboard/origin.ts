import type { ApiRequest } from '#api/api-request.ts'
import { fail } from '#base/errors.ts'

/** The origin under which the browser reaches the API. */
export function ownOrigin({ host, isViaGateway }: ApiRequest, publicUrl: string | undefined): string {
  if (isViaGateway) return `https://${host}`
  const known = publicUrl === undefined ? undefined : new URL(publicUrl)
  return known?.host === host ? known.origin : `http://${host}`
}

/** Whether the browser uses TLS: through the gateway, or a proxy that is known by its URL. */
export const isSecure = (request: ApiRequest, publicUrl: string | undefined): boolean =>
  ownOrigin(request, publicUrl).startsWith('https:')

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

export const isSafe = ({ method }: ApiRequest): boolean => SAFE_METHODS.has(method)

/** How sure it must be that no page of another origin has sent the request. */
type Proof = 'none' | 'origin'

/**
 * Rejects requests of pages of other origins. SameSite is not enough: the endpoints of the shared domain are other
 * origins of the same site. A TLS proxy that is not known by its URL changes the scheme, which Sec-Fetch-Site replaces.
 */
export function requireOwnOrigin(request: ApiRequest, publicUrl: string | undefined, proof: Proof): void {
  const { origin, 'sec-fetch-site': site } = request.headers
  const isForeign = (): never => fail('foreign_origin')
  if (site !== undefined && site !== 'same-origin' && !(site === 'none' && isSafe(request))) isForeign()
  if (origin === undefined) return site === undefined && proof === 'origin' ? isForeign() : undefined
  const isOwn = origin === ownOrigin(request, publicUrl)
  if (!isOwn && !(site === 'same-origin' && URL.parse(origin)?.host === request.host)) isForeign()
}
