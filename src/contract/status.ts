import {
  integer,
  line,
  listOf,
  moment,
  nullable,
  object,
  oneOf,
  also,
  type Static,
} from '#contract/schema.ts'

/** `attention`: it works, and will not for long, or only for some. `failing`: clients or the API notice it. */
const healthLevels = ['ok', 'attention', 'failing'] as const

/** The parts of a server that can need attention. */
export const problemAreas = [
  'database',
  'workers',
  'certificates',
  'dns',
  'events',
  'background',
  'limits',
] as const

export const listenerNames = ['api', 'http', 'https', 'agent', 'ssh', 'dns'] as const

const count = integer(0, Number.MAX_SAFE_INTEGER)

const problem = object({
  area: oneOf(...problemAreas),
  level: oneOf('attention', 'failing'),
  name: also(nullable(line()), { description: 'Such as a host name; null for the server itself.' }),
  resource_id: nullable(line()),
  message: also(line(), { description: 'What is wrong, and what to do.' }),
})

const listener = object({
  name: oneOf(...listenerNames),
  address: also(nullable(line()), { description: 'Where it listens; null for members.' }),
  public_address: also(line(), { description: 'The URL, or host and port, for clients.' }),
})

const worker = object({
  node: line(),
  state: also(oneOf('running', 'unresponsive', 'stopped'), {
    description: 'A stopped process is restarted within seconds.',
  }),
  process_id: nullable(integer(1, 2 ** 31)),
  started_at: nullable(moment()),
})

const limit = object({
  name: oneOf('agent_sessions', 'tunnels', 'tunnel_tcp_ports', 'assignable_tcp_ports', 'open_files'),
  used: count,
  limit: count,
  setting: also(nullable(line()), { description: 'The setting that changes the limit.' }),
})

const failedTask = object({
  task: line(),
  failures: count,
  last_message: line(),
  last_error: also(nullable(line()), { description: 'The code of the last error; its text is in the log.' }),
  last_at: moment(),
})

const captured = object({
  by: oneOf('setting', 'route', 'configuration', 'agent'),
  id: also(nullable(line()), {
    description: 'Of the route, the endpoint configuration or the tunnel; null for the setting.',
  }),
  edge_id: also(nullable(line()), { description: 'Of the edge of a route; null for the others.' }),
  name: also(nullable(line()), {
    description: 'For people: host and match of a route, a description, or a URL; null if there is none.',
  }),
})

/** The state of a server, for people. */
export const serverStatus = object({
  status: also(oneOf(...healthLevels), { description: 'The worst level of all problems.' }),
  version: line(),
  runtime: line(),
  started_at: moment(),
  uptime_seconds: count,
  domain: line(),
  region: line(),
  database: object({
    kind: oneOf('sqlite', 'postgresql'),
    state: oneOf('ok', 'full', 'read_only', 'unavailable'),
  }),
  listeners: listOf(listener),
  workers: also(listOf(worker), { description: 'The gateway processes; empty for members.' }),
  online: also(object({ agents: count, tunnels: count, endpoints: count }), {
    description: 'Members see the number of their own.',
  }),
  limits: also(listOf(limit), {
    description:
      'What the caller uses of the limits of one user; for admins also those of the server. The lists of members contain nothing of others.',
  }),
  sign_in_applications: also(listOf(line()), {
    description:
      'The OAuth providers at which the server has an application, for endpoints without their own.',
  }),
  captured: also(listOf(captured, { maxItems: 100 }), {
    description:
      'What has its headers and bodies captured all the time, at most 100; besides captures of limited time. Members see their own.',
  }),
  problems: also(listOf(problem, { maxItems: 100 }), { description: 'The worst first, at most 100.' }),
  problem_count: count,
  background: also(listOf(failedTask), {
    description: 'Background tasks that have failed since the start; empty for members.',
  }),
})

export type ServerStatus = Static<typeof serverStatus>
export type StatusProblem = ServerStatus['problems'][number]
