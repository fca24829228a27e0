import { kind } from '#contract/kind.ts'
import { line, mapOf, moment, nullable, oneOf } from '#contract/schema.ts'
import { computed, shownRef, shownRefs } from '#contract/shape.ts'

const readOnly = ['get', 'list'] as const
const protocol = oneOf('http', 'https', 'tcp', 'tls')

export const tunnelSession = kind({
  name: 'tunnel_session',
  doc: 'An agent that is connected now.',
  prefix: 'ts',
  path: '/tunnel_sessions',
  listKey: 'tunnel_sessions',
  verbs: readOnly,
  live: true,
  event: false,
  without: ['created_at'],
  actions: {
    restart: { method: 'POST', path: '/restart', doc: 'Tells the agent to replace its process.' },
    stop: { method: 'POST', path: '/stop', doc: 'Tells the agent to exit.' },
    update: {
      method: 'POST',
      path: '/update',
      doc: 'Tells the agent to update itself, never to a new major version.',
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
  doc: 'A tunnel that is online now.',
  prefix: 'tn',
  path: '/tunnels',
  listKey: 'tunnels',
  verbs: readOnly,
  live: true,
  event: false,
  without: ['uri', 'created_at'],
  fields: {
    public_url: computed(line(), 'Address of its ephemeral endpoint.'),
    started_at: computed(moment()),
    metadata: computed(line()),
    proto: computed(nullable(protocol)),
    region: computed(line()),
    tunnel_session: shownRef(),
    endpoint: shownRef(),
    labels: computed(mapOf(line())),
    backends: shownRefs('The tunnel-group backends it serves.'),
    forwards_to: computed(line(), 'What the agent forwards to.'),
  },
})

export const endpoint = kind({
  name: 'endpoint',
  doc: 'An address that answers now.',
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
