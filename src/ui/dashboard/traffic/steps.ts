import { titleOf } from '#contract/names.ts'
import { answeringModule, isFixedResponse, lackOf, type EndedRequest } from '#contract/request-responder.ts'
import { hrefOfId } from '#ui/dashboard/kinds/resource.ts'
import { href } from '#ui/dashboard/router.ts'
import type { ResourceNames } from '#ui/dashboard/traffic/resource-names.ts'
import { shortTime } from '#ui/dashboard/traffic/request-text.ts'

/** One step of the path of a request. */
export interface PathStep {
  readonly name: string
  readonly detail: string
  readonly state: 'passed' | 'answered' | 'failed' | 'not_reached'
  /** What it did with the request. */
  readonly verdict: string
  readonly href?: string
}

/** The step that failed. A `visitor` is rejected by a module, before any, or by what responds at the end. */
function failedStep(request: EndedRequest): string | undefined {
  if (request.failed === null) return undefined
  const module = answeringModule(request)
  if (module !== undefined) return titleOf(module)
  if (request.failed === 'visitor' && request.error_code === null) return undefined
  const lack = lackOf(request)
  if (lack !== undefined) return titleOf(lack)
  return { visitor: 'Gateway', edge: 'Backend', tunnel: 'Agent', agent: 'Agent', upstream: 'Service' }[
    request.failed
  ]
}

const routeHref = ({ route_id: id, edge_id: edge }: EndedRequest): string | undefined =>
  id === null || edge === null ? undefined : href(['https_edge_routes', id], { parent: edge })

const edgeCollection = (id: string): string =>
  id.startsWith('edgtls_') ? 'tls_edges' : id.startsWith('edgtcp_') ? 'tcp_edges' : 'https_edges'

type Step = Omit<PathStep, 'state' | 'verdict'>

function gatewayStep(request: EndedRequest, names: ResourceNames): Step {
  const { edge_id: edge } = request
  if (edge === null) return { name: 'Gateway', detail: request.host }
  return { name: 'Gateway', detail: names.get(edge) ?? edge, href: href([edgeCollection(edge), edge]) }
}

function routeStep(request: EndedRequest, names: ResourceNames): Step[] {
  const { route_id: route } = request
  if (route === null) return lackOf(request) === 'route' ? [{ name: 'Route', detail: 'none matches' }] : []
  const to = routeHref(request)
  return [{ name: 'Route', detail: names.get(route) ?? route, ...(to !== undefined && { href: to }) }]
}

/** What is behind the modules. A tunnel has no backend, and a fixed response no service. */
function serving(request: EndedRequest, names: ResourceNames): Step[] {
  const { backend_id: backend, tunnel_id: tunnel, edge_id: edge, failed } = request
  const lack = lackOf(request)
  const steps: Step[] = []
  if (edge !== null || failed === 'edge') {
    const to = backend === null ? undefined : hrefOfId(backend)
    const detail = backend === null ? (lack === 'backend' ? 'none' : '') : (names.get(backend) ?? backend)
    steps.push({ name: 'Backend', detail, ...(to !== undefined && { href: to }) })
  }
  if (tunnel !== null)
    steps.push({ name: 'Agent', detail: request.agent ?? tunnel, href: href(['tunnels', tunnel]) })
  else if (edge === null || (failed === 'tunnel' && lack === undefined) || failed === 'agent')
    steps.push({ name: 'Agent', detail: '' })
  if (!isFixedResponse(backend)) steps.push({ name: 'Service', detail: '' })
  return steps
}

const verdicts = { passed: 'passed', answered: 'responded', not_reached: 'not reached' } as const

/** A service that reports an error of its own has not been stopped. */
const failure = ({ failed, error_code, complete, status }: EndedRequest): string =>
  failed === 'upstream' && error_code === null && complete ? `responded with ${status}` : 'stopped here'

/** The way of a request from the client to the service, with the step that responded. */
export function stepsOf(request: EndedRequest, names: ResourceNames): PathStep[] {
  const all: Step[] = [
    { name: 'Client', detail: request.ip, href: href(['requests'], { filter: `ip:${request.ip}` }) },
    {
      name: request.tls_version === null ? 'No TLS' : 'TLS',
      detail: [request.tls_version, `HTTP/${request.http_version ?? '?'}`].filter(Boolean).join(', '),
    },
    gatewayStep(request, names),
    ...routeStep(request, names),
    ...request.modules.map(({ name, microseconds }) => ({
      name: titleOf(name),
      detail: microseconds === null ? '' : shortTime(microseconds),
    })),
    ...serving(request, names),
  ]
  const failed = failedStep(request)
  const module = answeringModule(request)
  const last = failed ?? (module === undefined ? all.at(-1)?.name : titleOf(module))
  const end = all.findIndex(({ name }) => name === last)
  return all.map((step, at) => {
    const state =
      at < end ? 'passed' : at > end ? 'not_reached' : failed === undefined ? 'answered' : 'failed'
    return { ...step, state, verdict: state === 'failed' ? failure(request) : verdicts[state] }
  })
}
