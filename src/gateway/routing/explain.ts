import { Problem, type ErrorName } from '#base/errors.ts'
import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import type { ExplainedRequest, RequestToExplain, RouteExplanation } from '#contract/route-explanation.ts'
import type { PreviewedRequest } from '#gateway/modules/preview.ts'
import { planOf, type EndpointPlan } from '#gateway/routing/plan.ts'
import type { NameOwner, Router } from '#gateway/routing/router.ts'
import { isReservedPath, isSignInPath } from '#auth/sign-in/paths.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { baseId } from '#registry/agent-connections.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'

type Facts = Omit<RouteExplanation, 'listener' | 'host' | 'path' | 'ip'>

const nothing: Facts = {
  matched_host: null,
  handled_by: 'none',
  edge_id: null,
  route_id: null,
  match: null,
  match_type: null,
  tunnel_id: null,
  domain_id: null,
  modules: [],
  backend_id: null,
  captured_by: null,
  status: null,
  error_code: null,
  reason: '',
}

/** What the router would do with a request. Nothing is sent, logged or counted. */
export async function explainRequest(
  router: Router,
  records: Records,
  request: RequestToExplain,
): Promise<ExplainedRequest> {
  const { scheme, host, path, ip } = request
  const head = headOf(request)
  const common = { listener: scheme, host, path, ip }
  if (router.isCallback(head)) {
    const reason = 'This is the host of the sign-in callback of all endpoints.'
    return { ownerId: undefined, explanation: { ...common, ...nothing, handled_by: 'sign_in', reason } }
  }
  const tls = scheme === 'https' ? router.ownerNamed('tls', host) : undefined
  if (tls) {
    const reason = 'TLS connections for this name are forwarded, so no HTTP route or module applies.'
    return { ownerId: ownerIdOf(tls), explanation: { ...common, ...nothing, ...ownerFacts(tls), reason } }
  }
  const plan = planOf(router.http(scheme, host, path))
  const owner = router.ownerNamed(plan.redirects ? 'https' : scheme, host)
  const isRefused = owner?.owner.kind !== 'api' && router.isRefused(ip)
  const refused = isRefused ? ('visitor_refused' as const) : undefined
  const decided = await decide(plan, request, { head, refused })
  const facts = { ...nothing, ...(owner && ownerFacts(owner)), ...routeFacts(plan, records) }
  const explanation = { ...common, ...facts, ...decided, reason: decided.reason ?? reasonFor(facts, path) }
  if (plan.redirects) Object.assign(explanation, { handled_by: 'redirect', status: 308, reason: REDIRECT })
  return { ownerId: owner && ownerIdOf(owner), explanation }
}

const REDIRECT = 'Only HTTPS has this name: requests are redirected to it.'

function headOf({ method, host, path, headers }: RequestToExplain): RequestHead {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return {
    method,
    target: path,
    path,
    host,
    authority: host,
    version: '1.1',
    keepAlive: true,
    upgrade: '',
    expectsContinue: false,
    framing: { kind: 'none' },
    fields: new Fields(lines.join('')),
  }
}

function ownerIdOf({ owner }: NameOwner): string | undefined {
  if (owner.kind === 'api') return undefined
  return owner.kind === 'tunnel' ? owner.tunnel.ownerId : textOf(owner.row, 'owner_id')
}

function ownerFacts({ name, owner }: NameOwner): Partial<Facts> {
  const common = { matched_host: name, handled_by: owner.kind }
  if (owner.kind === 'api') return common
  if (owner.kind === 'edge') return { ...common, edge_id: owner.id }
  if (owner.kind === 'domain') return { ...common, domain_id: owner.id }
  return { ...common, tunnel_id: baseId(owner.id), domain_id: owner.tunnel.domainId ?? null }
}

function routeFacts({ route, backendId }: EndpointPlan, records: Records): Partial<Facts> {
  const row = route?.routeId === undefined ? undefined : records.get(httpsEdgeRoute, route.routeId)
  return {
    backend_id: backendId ?? null,
    captured_by: route?.capturedBy ?? null,
    ...(row && { route_id: row.id, match: textOf(row, 'match'), match_type: row.body.match_type ?? null }),
  }
}

interface Given {
  readonly head: RequestHead
  /** The restriction of all endpoints rejects it. */
  readonly refused: ErrorName | undefined
}

/** The response of the gateway itself, if there is one, and the verdicts of the modules before it. */
async function decide(
  { modules = [], error, route, lacks }: EndpointPlan,
  { ip, path, host }: RequestToExplain,
  { head, refused }: Given,
): Promise<Pick<Facts, 'modules' | 'status' | 'error_code'> & { readonly reason?: string }> {
  const early = refused ?? error?.code
  const { verdicts, rejection } = await verdictsOf(modules, { ip, fields: head.fields }, early)
  const isOwnPath = route !== undefined && isReservedPath(path) && !isSignInPath(path)
  const late = isOwnPath ? 'reserved_path' : lacks === 'backend' ? 'endpoint_offline' : undefined
  const code = rejection ?? late
  if (code === undefined) return { modules: verdicts, status: null, error_code: null }
  const problem = new Problem(code, { host, ip, ...error?.values })
  // A module that decides only when it runs may respond first.
  const isCertain = verdicts.every(({ verdict }) => verdict !== 'would_run')
  return {
    modules: verdicts,
    status: isCertain ? problem.status : null,
    error_code: `ERR_ADIT_${problem.number ?? 0}`,
    reason: code === 'endpoint_offline' ? lackText(problem, lacks, route) : problem.message,
  }
}

/** Why an endpoint is offline: that of an edge needs no agent. */
function lackText({ message }: Problem, lacks: EndpointPlan['lacks'], route: EndpointPlan['route']): string {
  if (lacks === 'route') return 'No route of the edge matches the path.'
  return lacks === 'backend' && route?.routeId !== undefined ? 'The route has no backend.' : message
}

/** The decisions that can be made without the request; `early` is a rejection before all modules. */
async function verdictsOf(
  modules: NonNullable<EndpointPlan['modules']>,
  request: PreviewedRequest,
  early: ErrorName | undefined,
): Promise<{ readonly verdicts: Facts['modules']; readonly rejection: ErrorName | undefined }> {
  const verdicts: Facts['modules'] = []
  let rejection = early
  for (const { name, preview } of modules) {
    if (rejection !== undefined) verdicts.push({ name, verdict: 'not_reached' })
    else if (preview === undefined) verdicts.push({ name, verdict: 'would_run' })
    else {
      rejection = await preview(request)
      verdicts.push({ name, verdict: rejection === undefined ? 'passes' : 'rejects' })
    }
  }
  return { verdicts, rejection }
}

function reasonFor(
  { handled_by: by, match, match_type: type, matched_host: name }: Facts,
  path: string,
): string {
  if (by === 'api') return 'The API and the dashboard of this server have this name.'
  if (by === 'tunnel') return `A tunnel has the name ${name ?? ''}.`
  if (by === 'domain') return 'The endpoint configuration of the reserved domain has a backend.'
  if (isSignInPath(path)) return 'The route has sign-in, and this is one of the paths of sign-in.'
  return type === 'exact_path'
    ? `The path is that of the exact route ${match ?? ''}.`
    : `${match ?? ''} is the longest route prefix of the path, and no exact route matches.`
}
