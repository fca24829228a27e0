import { printable } from '#cli/printable.ts'
import { problemAreas, type ServerStatus, type StatusProblem } from '#contract/status.ts'

export interface StatusLine {
  readonly level: ServerStatus['status']
  readonly item: string
  readonly text: string
}

const databases = { sqlite: 'SQLite', postgresql: 'PostgreSQL' } as const

const units: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
]

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** In the largest unit that fits. */
function duration(seconds: number): string {
  const [size, name] = units.find(([each]) => seconds >= each) ?? [1, 'second']
  return counted(Math.floor(seconds / size), name)
}

/** What works in an area without problems. */
function healthy(status: ServerStatus): Record<(typeof problemAreas)[number], string> {
  const { database, workers, limits } = status
  return {
    database: databases[database.kind],
    workers: workers.length === 1 ? '1 gateway process' : `${workers.length} gateway processes`,
    certificates: 'no certificate expires soon, no order fails',
    dns: 'no domain is known to point elsewhere',
    events: 'no delivery fails',
    background: 'no task has failed',
    limits: limits.map(({ name, used, limit }) => `${name.replaceAll('_', ' ')} ${used}/${limit}`).join(', '),
  }
}

const problemLine = ({ level, area, name, message }: StatusProblem): StatusLine => ({
  level,
  item: area,
  text: name === null ? message : `${name}: ${message}`,
})

/** A line for each item, and one for each problem. */
export function statusLines(status: ServerStatus): StatusLine[] {
  const { version, runtime, uptime_seconds: uptime, domain, listeners, online, problems } = status
  const fine = healthy(status)
  const lines: StatusLine[] = [
    { level: 'ok', item: 'server', text: `${version}, ${runtime}, up for ${duration(uptime)}, ${domain}` },
    ...listeners.map(({ name, address, public_address: open }): StatusLine => {
      return { level: 'ok', item: 'listener', text: `${name}: ${[address, open].filter(Boolean).join(', ')}` }
    }),
    {
      level: 'ok',
      item: 'online',
      text: [
        counted(online.agents, 'agent'),
        counted(online.tunnels, 'tunnel'),
        counted(online.endpoints, 'endpoint'),
      ].join(', '),
    },
    ...problemAreas.flatMap(area => {
      const found = problems.filter(problem => problem.area === area)
      return found.length > 0
        ? found.map(problemLine)
        : [{ level: 'ok' as const, item: area, text: fine[area] }]
    }),
  ]
  const left = status.problem_count - problems.length
  if (left > 0) lines.push({ level: 'attention', item: 'more', text: counted(left, 'further problem') })
  return lines.map(line => ({ ...line, text: printable(line.text) }))
}
