import { kind } from '#contract/kind.ts'
import { flag, integer, line, listOf, moment, nullable, number, object, oneOf } from '#contract/schema.ts'
import { computed } from '#contract/shape.ts'

/** On whose side a request can fail. */
export const parties = ['visitor', 'edge', 'tunnel', 'agent', 'upstream'] as const

const milliseconds = number(0, 1e12)
const bytes = integer(0, Number.MAX_SAFE_INTEGER)

export const request = kind({
  name: 'request',
  doc: 'A request that was answered a while ago, and why it was answered so. The server keeps the last few thousand.',
  prefix: 'rq',
  path: '/requests',
  listKey: 'requests',
  verbs: ['get', 'list'],
  live: true,
  event: false,
  without: ['created_at'],
  fields: {
    started_at: computed(moment(), 'When its head had come.'),
    ip: computed(line(), 'Where it came from.'),
    method: computed(line()),
    scheme: computed(oneOf('http', 'https')),
    http_version: computed(nullable(line()), 'Null when its head could not be read.'),
    tls_version: computed(nullable(line()), 'Null without TLS.'),
    host: computed(line()),
    path: computed(line(), 'Without the query, which may hold secrets.'),
    status: computed(integer(100, 999)),
    error_code: computed(nullable(line()), 'Of an answer that the gateway itself gave.'),
    failed: computed(nullable(oneOf(...parties)), 'On whose side it failed; null when nothing did.'),
    edge_id: computed(nullable(line())),
    route_id: computed(nullable(line())),
    modules: computed(
      listOf(object({ name: line(), verdict: oneOf('passed', 'answered', 'not_reached') })),
      'What each module did with it, in the order in which it met them.',
    ),
    notes: computed(listOf(line()), 'What modules had to say beyond that.'),
    backend_id: computed(nullable(line())),
    tunnel_id: computed(nullable(line())),
    complete: computed(flag(false), 'Whether the answer left to its end.'),
    request_bytes: computed(
      nullable(bytes),
      'Of its content, or what came after a change of protocol; null before its end.',
    ),
    response_bytes: computed(nullable(bytes), 'The same of the answer.'),
    modules_ms: computed(milliseconds, 'Until the backend was asked, or a module answered.'),
    backend_ms: computed(nullable(milliseconds), 'From there to the head of the answer.'),
    content_ms: computed(nullable(milliseconds), 'From there to the end of the answer.'),
  },
})
