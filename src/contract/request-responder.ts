import type { EdgePart } from '#base/hints/hint.ts'
import { hasPrefixOf } from '#contract/kind.ts'
import { httpResponseBackend } from '#contract/kinds/backends.ts'
import type { request } from '#contract/kinds/request.ts'
import type { View } from '#contract/shape.ts'

export type EndedRequest = View<typeof request.shape>

/** The module that responded instead of the backend. */
export const answeringModule = ({ modules }: Pick<EndedRequest, 'modules'>): string | undefined =>
  modules.find(({ verdict }) => verdict === 'answered')?.name

/** Whether a backend is a response that the gateway sends, without a service. */
export const isFixedResponse = (backend: string | null): boolean =>
  backend !== null && hasPrefixOf(httpResponseBackend, backend)

/** What sent the response, besides a module. */
export function responderOf(request: EndedRequest): 'gateway' | 'backend' | 'service' {
  if (request.error_code !== null) return 'gateway'
  return isFixedResponse(request.backend_id) ? 'backend' : 'service'
}

/** What the edge of a request lacks, so that nothing could respond; undefined for a request that has a backend. */
export function lackOf({
  failed,
  edge_id: edge,
  route_id: route,
  backend_id: backend,
}: EndedRequest): EdgePart | undefined {
  if (failed !== 'tunnel' || edge === null || backend !== null) return undefined
  return route === null ? 'route' : 'backend'
}
