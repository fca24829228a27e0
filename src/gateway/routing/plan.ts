import type { ErrorName } from '#base/errors.ts'
import type { EdgePart } from '#base/hints/hint.ts'
import type { Preview } from '#gateway/modules/preview.ts'
import type { Endpoint } from '#http/exchange.ts'
import type { RouteInfo } from '#http/request-context.ts'

/** What an endpoint does with a request, as far as it is known without one. */
export interface EndpointPlan {
  readonly route?: RouteInfo
  /** In the order in which they run. */
  readonly modules?: readonly { readonly name: string; readonly preview: Preview | undefined }[]
  readonly backendId?: string | undefined
  /** No route matches, or nothing responds after the modules. */
  readonly lacks?: EdgePart
  /** It always responds with this error. */
  readonly error?: { readonly code: ErrorName; readonly values?: Readonly<Record<string, string>> }
  /** It redirects to HTTPS. */
  readonly redirects?: true
}

const plans = new WeakMap<Endpoint, EndpointPlan>()

/** Describes an endpoint for explanations; requests do not need it. */
export function planned(endpoint: Endpoint, plan: EndpointPlan): Endpoint {
  plans.set(endpoint, plan)
  return endpoint
}

export const planOf = (endpoint: Endpoint): EndpointPlan => plans.get(endpoint) ?? {}
