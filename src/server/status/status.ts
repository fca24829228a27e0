import { ownerOf } from '#api/authority.ts'
import type { Call } from '#api/call.ts'
import type { Degraded } from '#api/pages.ts'
import { oauthSetup } from '#auth/providers/setup.ts'
import { timestamp } from '#base/ids.ts'
import type { Settings } from '#base/settings.ts'
import type { GatewayHandle } from '#cluster/gateway-handle.ts'
import { type NodeStatus, processReport } from '#cluster/process-status.ts'
import { eventDelivery } from '#contract/kinds/events.ts'
import type { ServerStatus, StatusProblem } from '#contract/status.ts'
import { domainProblems, type OwnedProblem } from '#domains/domain-problems.ts'
import { limitProblems, limitsOf } from '#server/status/limits.ts'
import { listenersOf, type Bound } from '#server/status/listeners.ts'
import { failedTasksOf, taskProblems } from '#server/status/tasks.ts'

interface StatusOptions {
  readonly settings: Settings
  readonly version: string
  readonly gateway: Pick<GatewayHandle, 'bound' | 'records' | 'live' | 'processes'>
  readonly ready: () => Promise<readonly Degraded[]>
  /** Listeners other than those of the gateway; they are open when the API responds. */
  readonly bound: () => Bound
}

const MAX_PROBLEMS = 100
const MAX_DELIVERIES = 1000
const MAX_CAPTURED = 100

/** The state of the server, as far as the caller may see it. */
export async function statusFor(call: Call, options: StatusOptions): Promise<ServerStatus> {
  const { settings, gateway, version } = options
  const isAdmin = call.principal.role === 'admin'
  const [database, nodes, deliveries] = await Promise.all([
    databaseStatus(options),
    isAdmin ? gateway.processes() : [],
    deliveryProblems(call),
  ])
  const { agents, tunnels, endpoints } = gateway.live.online(isAdmin ? undefined : call.principal.id)
  const reports = [processReport(), ...nodes.flatMap(({ report }) => report ?? [])]
  const tasks = isAdmin ? failedTasksOf(reports) : []
  const limits = limitsOf(call.principal, options, reports)
  const problems = [
    ...database.problems.filter(({ level }) => isAdmin || level === 'failing'),
    ...nodes.flatMap(workerProblem),
    ...visible(domainProblems(gateway.records, call.now()), call),
    ...deliveries,
    ...taskProblems(tasks),
    ...limitProblems(limits),
  ]
  const [{ startedAt }] = reports as [(typeof reports)[number]]
  return {
    status: worst(problems),
    version,
    runtime: `Node ${process.version}`,
    started_at: timestamp(startedAt),
    uptime_seconds: Math.floor((call.now() - startedAt) / 1000),
    domain: settings.domain,
    region: settings.region,
    database: { kind: settings.database_url === undefined ? 'sqlite' : 'postgresql', state: database.state },
    listeners: listenersOf(settings, { ...gateway.bound, ...options.bound() }, isAdmin),
    workers: nodes.map(shownNode),
    online: { agents, tunnels, endpoints },
    limits,
    sign_in_applications: [...oauthSetup(settings).applications.keys()],
    captured: capturedFor(call, options),
    problems: problems.toSorted((one, other) => rank(one) - rank(other)).slice(0, MAX_PROBLEMS),
    problem_count: problems.length,
    background: tasks,
  }
}

/** What is captured all the time, as far as the caller may read it. */
function capturedFor({ principal }: Call, { settings, gateway }: StatusOptions): ServerStatus['captured'] {
  const flagged = [...gateway.live.alwaysCaptured()]
    .filter(({ ownerId }) => principal.role === 'admin' || ownerId === principal.id)
    .map(({ by, id, edgeId, name }) => ({ by, id, edge_id: edgeId, name }))
  const setting = { by: 'setting' as const, id: null, edge_id: null, name: null }
  const all = settings.traffic_full_capture ? [setting] : []
  return [...all, ...flagged].slice(0, MAX_CAPTURED)
}

const rank = ({ level }: StatusProblem): number => (level === 'failing' ? 0 : 1)

function worst(problems: readonly StatusProblem[]): ServerStatus['status'] {
  if (problems.some(({ level }) => level === 'failing')) return 'failing'
  return problems.length > 0 ? 'attention' : 'ok'
}

const ofServer = { name: null, resource_id: null } as const

const databaseStates: Readonly<Record<Degraded['code'], ServerStatus['database']['state'] | undefined>> = {
  storage_full: 'full',
  storage_read_only: 'read_only',
  uncaught_error: undefined,
}

async function databaseStatus({ ready }: StatusOptions): Promise<{
  readonly state: ServerStatus['database']['state']
  readonly problems: readonly StatusProblem[]
}> {
  try {
    const reasons = await ready()
    const problems = reasons.map(({ code, message }): StatusProblem =>
      code === 'uncaught_error'
        ? { ...ofServer, area: 'background', level: 'attention', message }
        : { ...ofServer, area: 'database', level: 'failing', message },
    )
    return { state: reasons.map(({ code }) => databaseStates[code]).find(Boolean) ?? 'ok', problems }
  } catch (error) {
    const message = error instanceof Error ? error.message : 'The database does not respond.'
    return { state: 'unavailable', problems: [{ ...ofServer, area: 'database', level: 'failing', message }] }
  }
}

const shownNode = ({ node, state, report }: NodeStatus): ServerStatus['workers'][number] => ({
  node,
  state,
  process_id: report?.processId ?? null,
  started_at: report === undefined ? null : timestamp(report.startedAt),
})

function workerProblem({ node, state }: NodeStatus): StatusProblem[] {
  if (state === 'running') return []
  const message =
    state === 'stopped'
      ? 'The gateway process has stopped and is restarted. If this stays, see the server log.'
      : 'The gateway process does not respond. See the server log and its CPU load.'
  return [{ area: 'workers', level: 'failing', name: node, resource_id: null, message }]
}

function visible(problems: Iterable<OwnedProblem>, { principal }: Call): StatusProblem[] {
  return [...problems].flatMap(({ ownerId, ...problem }) =>
    principal.role === 'admin' || ownerId === principal.id ? [problem] : [],
  )
}

/** Its description; the id without one, or while the database is unavailable. */
async function destinationName(id: string, { store }: Call): Promise<string> {
  const row = await store.get(id).catch(() => undefined)
  const { description } = row ? (JSON.parse(row.body) as { description?: unknown }) : {}
  return typeof description === 'string' && description !== '' ? description : id
}

/** Destinations that do not accept events now. */
async function deliveryProblems(call: Call): Promise<StatusProblem[]> {
  const found: StatusProblem[] = []
  for (const body of await call.live.list('event_delivery', { limit: MAX_DELIVERIES })) {
    const { id, destination, failing_since: since, last_error: error } = body
    if (typeof since !== 'string') continue
    const isAdmin = call.principal.role === 'admin'
    if (!isAdmin && (await ownerOf(eventDelivery, body, call)) !== call.principal.id) continue
    found.push({
      area: 'events',
      level: 'attention',
      name: await destinationName(String(destination), call),
      resource_id: String(id),
      message: `The destination rejects events since ${since}: ${typeof error === 'string' ? error : 'unknown reason'}`,
    })
  }
  return found
}
