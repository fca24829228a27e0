import type { CatalogEntry } from '#base/catalog/entry.ts'
import { catalog } from '#base/catalog.ts'
import { baseId } from '#registry/agent-connections.ts'
import { responsibleParty } from '#telemetry/request-log/blame.ts'
import type { KeptRequest } from '#telemetry/request-log/ring.ts'

type ResourceBody = Record<string, unknown>

/** A request in the form of the management API, and of an access log line. */
export function shownRequest(request: KeptRequest, captured: boolean): ResourceBody {
  const { route, refusal, status } = request
  const entry: CatalogEntry | undefined = refusal && catalog[refusal]
  return {
    id: request.id,
    started_at: new Date(request.at).toISOString(),
    ip: request.ip,
    method: request.method,
    scheme: request.scheme,
    http_version: request.httpVersion ?? null,
    tls_version: request.tlsVersion ?? null,
    host: request.host,
    path: request.path,
    status,
    error_code: entry?.number === undefined ? null : `ERR_ADIT_${entry.number}`,
    failed: responsibleParty(status, refusal) ?? null,
    edge_id: route?.edgeId ?? null,
    route_id: route?.routeId ?? null,
    modules: (route?.modules ?? []).map((name, at) => ({
      name,
      verdict: verdict(request, at),
      microseconds: microseconds(request, at),
    })),
    notes: request.notes,
    backend_id: request.backendId ?? null,
    tunnel_id: request.tunnelId === undefined ? null : baseId(request.tunnelId),
    complete: request.whole,
    replay_of: request.replayOf ?? null,
    captured,
    request_bytes: request.received ?? null,
    response_bytes: request.sent ?? null,
    ...timesOf(request),
  }
}

/**
 * A module that allowed a request may still have changed it or its response; those after the deciding one did not run.
 */
function verdict({ passed }: KeptRequest, at: number): string {
  if (at < passed) return 'passed'
  return at === passed ? 'answered' : 'not_reached'
}

/** From getting the request to passing it on, or to the response of the module. */
function microseconds({ passed, moduleTimes, answered }: KeptRequest, at: number): number | null {
  const from = moduleTimes[at]
  if (from === undefined || at > passed) return null
  return Math.max(
    0,
    Math.round(((at === passed ? answered : (moduleTimes[at + 1] ?? answered)) - from) * 1000),
  )
}

const timesOf = ({ tlsMs, dialMs, asked, answered, ended }: KeptRequest): ResourceBody => ({
  tls_ms: nullable(tlsMs),
  dial_ms: nullable(dialMs),
  modules_ms: rounded(asked ?? answered),
  backend_ms: asked === undefined ? null : rounded(answered - asked),
  content_ms: ended === undefined ? null : rounded(ended - answered),
})

const nullable = (ms: number | undefined): number | null => (ms === undefined ? null : rounded(ms))

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000
