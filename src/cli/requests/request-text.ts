import { printable } from '#cli/printable.ts'
import type { requestReason } from '#contract/kinds/request-reason.ts'
import { answeringModule, responderOf, type EndedRequest } from '#contract/request-responder.ts'
import type { View } from '#contract/shape.ts'

type Reason = View<typeof requestReason>

const milliseconds = (ms: number | null): string =>
  ms === null ? '-' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`

const totalMs = ({ modules_ms, backend_ms, content_ms }: EndedRequest): number =>
  modules_ms + (backend_ms ?? 0) + (content_ms ?? 0)

/** Why a request failed, and the id for `why`; nothing for others. */
function reasonsOf(request: EndedRequest): (string | null | undefined)[] {
  const { id, error_code: code, failed } = request
  if (failed === null) return []
  const module = answeringModule(request)
  const isOfService = failed === 'visitor' && code === null && module === undefined
  return [code, module, isOfService ? responderOf(request) : failed, id]
}

/** One line for people who follow the traffic. */
export function requestLine(request: EndedRequest): string {
  const { started_at: at, status, method, host, path, ip, agent } = request
  const parts = [
    new Date(at).toTimeString().slice(0, 8),
    String(status),
    method.padEnd(4),
    `${host}${path}`,
    milliseconds(totalMs(request)),
    ip,
    ...[agent, ...reasonsOf(request)].filter(Boolean),
  ]
  return printable(parts.join('  '))
}

/** Why a request got its response, from the client to the service. */
export function explanation(request: EndedRequest, reason: Reason): string {
  const { id, method, scheme, host, path, ip, started_at: at, status, error_code: code } = request
  const { notes, modules, complete } = request
  const { summary, error, advice, command } = reason
  const protocol = [`HTTP/${request.http_version ?? '?'}`, request.tls_version].filter(Boolean).join(', ')
  const opening = [
    ...(request.tls_ms === null ? [] : [`TLS handshake ${milliseconds(request.tls_ms)}`]),
    ...(request.dial_ms === null ? [] : [`connection to the backend ${milliseconds(request.dial_ms)}`]),
  ]
  const rows: [label: string, value: string | null][] = [
    ['client', `${ip}, ${protocol}, ${request.request_bytes ?? 0} bytes`],
    ...(request.replay_of === null ? [] : ([['replay of', request.replay_of]] satisfies [string, string][])),
    ['edge', request.edge_id],
    ['route', request.route_id],
    ...modules.map(({ name, verdict, microseconds }): [string, string] => [
      'module',
      `${name}: ${verdict.replace('_', ' ')}${microseconds === null ? '' : `, ${microseconds} µs`}`,
    ]),
    ['backend', request.backend_id],
    ['tunnel', request.tunnel_id],
    ...(request.agent === null ? [] : ([['agent', request.agent]] satisfies [string, string][])),
    ['response', `${status}, ${request.response_bytes ?? 0} bytes, ${complete ? 'complete' : 'incomplete'}`],
    [
      'time',
      `modules ${milliseconds(request.modules_ms)}, backend ${milliseconds(request.backend_ms)}, body ${milliseconds(request.content_ms)}`,
    ],
    ...(opening.length === 0 ? [] : ([['opening', opening.join(', ')]] satisfies [string, string][])),
  ]
  const lines = [
    `${id}  ${at}`,
    `${method} ${scheme}://${host}${path}`,
    [String(status), code, milliseconds(totalMs(request))].filter(Boolean).join('  '),
    '',
    ...rows.map(([label, value]) => `  ${label.padEnd(10)}${value ?? '-'}`),
    '',
    summary,
    ...(error === null ? [] : [error]),
    ...notes,
    advice === null ? 'It did not fail.' : `What to do: ${advice}`,
    ...(command === null ? [] : [`  ${command}`]),
  ]
  return printable(`${lines.join('\n')}\n`)
}
