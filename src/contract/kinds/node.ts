import { kind } from '#contract/kind.ts'
import { integer, line, listOf, moment, nullable, oneOf } from '#contract/schema.ts'
import { computed } from '#contract/shape.ts'

const count = integer(0, Number.MAX_SAFE_INTEGER)

export const node = kind({
  name: 'node',
  doc: 'A server of the cluster. A server that is not in a cluster shows itself.',
  prefix: 'nd',
  path: '/nodes',
  listKey: 'nodes',
  verbs: ['get', 'list'],
  live: true,
  adminOnly: true,
  event: false,
  without: ['created_at'],
  actions: {
    drain: {
      method: 'POST',
      path: '/drain',
      doc: 'Stops a node without failed requests: it accepts no more clients and agents, waits until its agents are connected to other nodes and its requests are finished, and exits.',
    },
  },
  fields: {
    name: computed(line(), 'The name of the machine.'),
    state: computed(
      oneOf('live', 'draining', 'expired'),
      'An expired node has not renewed its lease; its addresses are free. It is listed for ten minutes.',
    ),
    version: computed(line()),
    region: computed(line()),
    started_at: computed(moment()),
    peer_address: computed(nullable(line()), 'Where the other nodes reach it.'),
    public_addresses: computed(listOf(line()), 'What DNS returns for it.'),
    lease_age_ms: computed(nullable(count), 'Time since its last renewal, on the clock of the database.'),
    agents: computed(count, 'Connections of agents.'),
    tunnels: computed(count, 'Tunnels through these connections.'),
    clients: computed(nullable(count), 'Open connections of clients; null with several gateway processes.'),
  },
})
