import { integer, line, listOf, mapOf, nullable, object, oneOf, also, type Static } from '#contract/schema.ts'
import { input, required } from '#contract/shape.ts'

/** A request that is explained and not sent. */
export const requestToExplain = {
  // Not url, which is an option of every command.
  request_url: required(input(line({ maxBytes: 8192 }), 'The whole URL, as a client would request it.')),
  method: input(line({ maxBytes: 32, default: 'GET', pattern: '^[A-Za-z-]+$' }), 'The HTTP method.'),
  headers: input(
    mapOf(line({ maxBytes: 4096 }), { maxProperties: 100 }),
    'Request headers, such as User-Agent, which modules decide by.',
  ),
  ip: input(line({ maxBytes: 64 }), 'The address of the client; by default that of the caller.'),
}

const id = nullable(line())

/** What would handle a request, and how. */
export const routeExplanation = object({
  listener: also(oneOf('http', 'https'), { description: 'The listener that accepts it.' }),
  host: line(),
  path: line(),
  ip: line(),
  matched_host: also(id, { description: 'The name that matches the host: the same, or a wildcard.' }),
  handled_by: also(oneOf('edge', 'tunnel', 'domain', 'sign_in', 'api', 'redirect', 'none'), {
    description:
      'What owns the name: an edge, a tunnel, or a reserved domain whose configuration has a backend; sign_in is the callback host, api the API and the dashboard of this server.',
  }),
  edge_id: id,
  route_id: id,
  match: id,
  match_type: also(nullable(oneOf('exact_path', 'path_prefix')), { description: 'Of the route.' }),
  tunnel_id: id,
  domain_id: id,
  modules: also(
    listOf(object({ name: line(), verdict: oneOf('passes', 'rejects', 'would_run', 'not_reached') })),
    { description: 'In the order in which they run; would_run: its decision is known only then.' },
  ),
  backend_id: id,
  captured_by: also(nullable(oneOf('route', 'configuration', 'agent')), {
    description: 'What captures all of its requests, besides captures of limited time.',
  }),
  status: also(nullable(integer(100, 599)), {
    description:
      'The status if the gateway itself would respond; null if it depends on a module or the service.',
  }),
  error_code: id,
  reason: line(),
})

export type RouteExplanation = Static<typeof routeExplanation>

/** A request to explain. Plain data, so that it can be sent to a worker. */
export interface RequestToExplain {
  readonly scheme: 'http' | 'https'
  readonly method: string
  /** Lower case, without port. */
  readonly host: string
  /** As a client writes it, without the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly ip: string
}

export interface ExplainedRequest {
  /** The owner of what handles it: empty if all members share it, undefined if there is none. */
  readonly ownerId: string | undefined
  readonly explanation: RouteExplanation
}

export type ExplainRequest = (request: RequestToExplain) => Promise<ExplainedRequest>
