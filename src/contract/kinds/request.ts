import { kind } from '#contract/kind.ts'
import { replayEdits, replayResult, requestCapture } from '#contract/kinds/request-capture.ts'
import { requestReason } from '#contract/kinds/request-reason.ts'
import { requestToExplain, routeExplanation } from '#contract/route-explanation.ts'
import { flag, integer, line, listOf, moment, nullable, number, object, oneOf } from '#contract/schema.ts'
import { readSchema } from '#contract/shape-schema.ts'
import { computed } from '#contract/shape.ts'

/** Where a request can fail. */
export const parties = ['visitor', 'edge', 'tunnel', 'agent', 'upstream'] as const

const milliseconds = number(0, 1e12)
const bytes = integer(0, Number.MAX_SAFE_INTEGER)

export const request = kind({
  name: 'request',
  doc: 'A recent request, and the reason for its response. The server keeps the last few thousand.',
  prefix: 'rq',
  path: '/requests',
  listKey: 'requests',
  verbs: ['get', 'list'],
  live: true,
  event: false,
  without: ['created_at'],
  actions: {
    explain: {
      method: 'POST',
      path: '/explain',
      onCollection: true,
      doc: 'Explains which edge, route and modules would handle a request; nothing is sent. Members: only at their own endpoints.',
      input: requestToExplain,
      output: routeExplanation,
    },
    reason: {
      method: 'GET',
      path: '/reason',
      doc: 'Explain why a request got its response, and what to do.',
      output: readSchema(requestReason),
    },
    capture: {
      method: 'GET',
      path: '/capture',
      doc: 'Read the captured headers and bodies of a request.',
      output: readSchema(requestCapture),
    },
    replay: {
      method: 'POST',
      path: '/replay',
      doc: 'Send a captured request again, with changes, and wait for its response.',
      input: replayEdits,
      output: readSchema(replayResult),
    },
  },
  filters: {
    host: { doc: 'Only requests for this host name.' },
    path: { doc: 'Only requests whose path begins with this.' },
    method: { doc: 'Only requests with this method.' },
    status: {
      doc: 'Only responses with this status, such as 404, or of this class, such as 5xx.',
      values: { pattern: '[1-9]\\d\\d|[1-9]xx', example: '404 or 5xx' },
    },
    failed: {
      doc: `Only requests that failed there: ${parties.join(', ')}; any for all that failed.`,
      values: { pattern: ['any', ...parties].join('|'), example: ['any', ...parties].join(', ') },
    },
    tunnel_id: { doc: 'Only requests through this tunnel.' },
    edge_id: { doc: 'Only requests at this edge.' },
    route_id: { doc: 'Only requests at this route.' },
    ip: { doc: 'Only requests from this address or network, such as 192.0.2.0/24.', network: true },
    since: { doc: 'Only requests at this time or later.', moment: true },
  },
  fields: {
    started_at: computed(moment(), 'When its head was received.'),
    ip: computed(line(), 'Address of the client.'),
    method: computed(line()),
    scheme: computed(oneOf('http', 'https')),
    http_version: computed(nullable(line()), 'Null when its head could not be read.'),
    tls_version: computed(nullable(line()), 'Null without TLS.'),
    host: computed(line()),
    path: computed(line(), 'Without the query, which may contain secrets.'),
    status: computed(integer(100, 999)),
    error_code: computed(nullable(line()), 'Error code of a response by the gateway itself.'),
    failed: computed(
      nullable(oneOf(...parties)),
      'Where it failed; null if it did not fail. visitor is the client.',
    ),
    edge_id: computed(nullable(line())),
    route_id: computed(nullable(line())),
    modules: computed(
      listOf(
        object({
          name: line(),
          verdict: oneOf('passed', 'answered', 'not_reached'),
          microseconds: nullable(number(0, 1e15)),
        }),
      ),
      'The decision of each module, in order, and how long it took; null if it was not reached.',
    ),
    notes: computed(listOf(line()), 'Details from modules.'),
    backend_id: computed(nullable(line())),
    tunnel_id: computed(nullable(line())),
    agent: computed(
      nullable(line()),
      'The metadata of the agent of its tunnel, or the address it connects from; null when it is not online.',
    ),
    complete: computed(flag(false), 'Whether the response was sent completely.'),
    replay_of: computed(nullable(line()), 'The request that it repeats; null if a client sent it.'),
    captured: computed(
      flag(false),
      'Whether its headers and bodies are kept, for GET /requests/{id}/capture.',
    ),
    request_bytes: computed(
      nullable(bytes),
      'Bytes of the request body, or of the upgraded connection; null until its end.',
    ),
    response_bytes: computed(
      nullable(bytes),
      'Bytes of the response body, or of the upgraded connection; null until its end.',
    ),
    tls_ms: computed(
      nullable(milliseconds),
      'The TLS handshake of its connection, which later requests on the connection share; null without TLS.',
    ),
    dial_ms: computed(
      nullable(milliseconds),
      'Opening a connection to the backend, or through the agent; null if one was open. Part of backend_ms.',
    ),
    modules_ms: computed(milliseconds, 'Until the request was sent to the backend, or a module responded.'),
    backend_ms: computed(nullable(milliseconds), 'From there to the response head.'),
    content_ms: computed(nullable(milliseconds), 'From there to the end of the response.'),
  },
})
