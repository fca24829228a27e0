import { printable } from '#cli/printable.ts'
import type { request, parties } from '#contract/kinds/request.ts'
import type { View } from '#contract/shape.ts'

export type RequestView = View<typeof request.shape>

/** What to do, by where a request failed. */
const advice: Readonly<Record<(typeof parties)[number], string>> = {
  visitor: 'The client has to send another request: the gateway or the service rejected this one.',
  edge: 'The gateway could not serve it. Check the edge, its modules and the backend.',
  tunnel: 'No agent is online for it. Start the agent, or check the labels of the tunnel group.',
  agent: 'The connection with the agent was lost, or the agent was busy. Check the agent.',
  upstream: 'The service failed, or cannot be reached from the agent or the gateway. Check the service.',
}

const milliseconds = (ms: number | null): string =>
  ms === null ? '-' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`

const totalMs = ({ modules_ms, backend_ms, content_ms }: RequestView): number =>
  modules_ms + (backend_ms ?? 0) + (content_ms ?? 0)

/** The module that responded instead of the backend. */
const answering = ({ modules }: RequestView): string | undefined =>
  modules.find(({ verdict }) => verdict === 'answered')?.name

/** One line for people who follow the traffic. */
export function requestLine(request: RequestView): string {
  const { started_at: at, status, method, host, path, ip, error_code: code, failed } = request
  const reasons = [code, failed !== null && answering(request), failed]
  const parts = [
    new Date(at).toTimeString().slice(0, 8),
    String(status),
    method.padEnd(4),
    `${host}${path}`,
    milliseconds(totalMs(request)),
    ip,
    ...reasons.filter(Boolean),
  ]
  return printable(parts.join('  '))
}

/** Why a request got its response, from the client to the service. */
export function explanation(request: RequestView): string {
  const { id, method, scheme, host, path, ip, started_at: at, status, error_code: code } = request
  const { failed, notes, modules, complete } = request
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
    ...(notes.length > 0 ? ['', ...notes] : []),
    '',
    failed === null
      ? 'It did not fail.'
      : `It failed at: ${failed === 'visitor' ? 'client' : failed}. ${advice[failed]}`,
  ]
  return printable(`${lines.join('\n')}\n`)
}
