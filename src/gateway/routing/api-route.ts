import type { Endpoint } from '#http/exchange.ts'
import type { RouteInfo } from '#http/request-context.ts'

const route: RouteInfo = { endpoint: 'api', edgeId: undefined, routeId: undefined, modules: [] }

/** The route of requests for the names of the server itself. */
export const apiRoute =
  (backend: Endpoint): Endpoint =>
  exchange => {
    exchange.context.routing.route = route
    return backend(exchange)
  }
