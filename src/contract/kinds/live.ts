import { kind } from '#contract/kind.ts'
import { agentLink } from '#contract/kinds/agent-link.ts'
import { line, mapOf, moment, nullable, oneOf } from '#contract/schema.ts'
import { readSchema } from '#contract/shape-schema.ts'
import { computed, shownRef, shownRefs } from '#contract/shape.ts'

const readOnly = ['get', 'list'] as const
const protocol = oneOf('http', 'https', 'tcp', 'tls')

/** The names of the kinds below: online for a while, never stored. */
export const onlineKinds = ['tunnel_session', 'tunnel', 'endpoint'] as const

export const isOnlineKind = (name: string): boolean => (onlineKinds as readonly string[]).includes(name)

export const tunnelSession = kind({
  name: 'tunnel_session',
  doc: 'A connected agent.',
  prefix: 'ts',
  path: '/tunnel_sessions',
  listKey: 'tunnel_sessions',
  verbs: readOnly,
  live: true,
  event: false,
  without: ['created_at'],
  actions: {
    link: {
      method: 'GET',
      path: '/link',
      doc: 'Read the architecture of the agent, its connections and their round trip time.',
      output: readSchema(agentLink),
    },
    restart: { method: 'POST', path: '/restart', doc: 'Restarts the agent process.' },
    stop: { method: 'POST', path: '/stop', doc: 'Stops the agent.' },
    update: {
      method: 'POST',
      path: '/update',
      doc: 'Updates the agent, never to a new major version.',
    },
  },
  fields: {
    agent_version: computed(line()),
    credential: shownRef('The credential the session was started with.'),
    ip: computed(line(), 'Where the agent connects from.'),
    metadata: computed(line(), "From the agent's configuration."),
    os: computed(line()),
    region: computed(line()),
    started_at: computed(moment()),
    transport: computed(line(), 'adit/v2 or ssh.'),
  },
})

export const tunnel = kind({
  name: 'tunnel',
  doc: 'An online tunnel.',
  prefix: 'tn',
  path: '/tunnels',
  listKey: 'tunnels',
  verbs: readOnly,
  live: true,
  event: false,
  without: ['uri', 'created_at'],
  fields: {
    public_url: computed(line(), 'URL of its ephemeral endpoint.'),
    started_at: computed(moment()),
    metadata: computed(line()),
    proto: computed(nullable(protocol)),
    region: computed(line()),
    tunnel_session: shownRef(),
    endpoint: shownRef(),
    labels: computed(mapOf(line())),
    backends: shownRefs('The tunnel-group backends it serves.'),
    forwards_to: computed(line(), 'The upstream that the agent forwards to.'),
  },
})

export const endpoint = kind({
  name: 'endpoint',
  doc: 'An online public URL.',
  prefix: 'ep',
  path: '/endpoints',
  listKey: 'endpoints',
  verbs: readOnly,
  live: true,
  event: false,
  fields: {
    region: computed(line()),
    updated_at: computed(moment()),
    public_url: computed(line()),
    proto: computed(protocol),
    hostport: computed(line()),
    type: computed(oneOf('ephemeral', 'edge')),
    metadata: computed(line()),
    domain: shownRef(),
    tcp_addr: shownRef(),
    tunnel: shownRef(),
    edge: shownRef(),
  },
})
