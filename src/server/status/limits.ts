import type { Principal } from '#api/call.ts'
import type { Settings } from '#base/settings.ts'
import type { GatewayHandle } from '#cluster/gateway-handle.ts'
import { randomPorts } from '#cluster/ports.ts'
import type { ProcessReport } from '#cluster/process-status.ts'
import type { ServerStatus, StatusProblem } from '#contract/status.ts'

type Limit = ServerStatus['limits'][number]

interface LimitParts {
  readonly settings: Settings
  readonly gateway: Pick<GatewayHandle, 'live'>
}

/** From this share on, a limit needs attention before it is reached. */
const NEARLY = 0.9

/** What the caller uses of the limits of one user, and for admins what the server uses of its own. */
export function limitsOf(
  { id, role }: Principal,
  { settings, gateway }: LimitParts,
  reports: readonly ProcessReport[],
): Limit[] {
  const own = gateway.live.online(id)
  const ofUser: Limit[] = [
    { name: 'agent_sessions', used: own.agents, limit: settings.owner_sessions, setting: 'owner_sessions' },
    { name: 'tunnels', used: own.tunnels, limit: settings.owner_tunnels, setting: 'owner_tunnels' },
    {
      name: 'tunnel_tcp_ports',
      used: own.tcpPorts,
      limit: settings.owner_tcp_ports,
      setting: 'owner_tcp_ports',
    },
  ]
  if (role !== 'admin') return ofUser
  const { first, last } = randomPorts(settings)
  const all = gateway.live.online()
  return [
    ...ofUser,
    { name: 'assignable_tcp_ports', used: all.tcpPorts, limit: last - first + 1, setting: 'tcp_ports' },
    ...openFilesOf(reports),
  ]
}

/** Of the process that is nearest to its limit. */
function openFilesOf(reports: readonly ProcessReport[]): Limit[] {
  const files = reports.flatMap(report => report.files ?? []).filter(({ limit }) => Number.isFinite(limit))
  const [fullest] = files.toSorted((one, other) => other.used / other.limit - one.used / one.limit)
  return fullest === undefined ? [] : [{ name: 'open_files', ...fullest, setting: null }]
}

export const limitProblems = (limits: readonly Limit[]): StatusProblem[] =>
  limits
    .filter(({ used, limit }) => used >= limit * NEARLY)
    .map(({ name, used, limit, setting }) => ({
      area: 'limits',
      level: used >= limit ? 'failing' : 'attention',
      name,
      resource_id: null,
      message: `${used} of ${limit} are used. ${setting === null ? 'Raise the file limit of the service (LimitNOFILE, ulimit -n).' : `The setting ${setting} changes the limit.`}`,
    }))
