import { watchBackground } from '#base/background.ts'
import { type Counter, type Family, type Gauge, type Histogram, Registry } from '#base/metrics.ts'
import type { ErrorName } from '#base/errors.ts'
import { type LoopDelay, watchLoop, watchProcess } from '#base/process-metrics.ts'

/** In seconds; the advice of OpenTelemetry for requests. */
const REQUEST_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const HANDSHAKE_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

const CODE_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const
/** What a request was for; none: nothing answers there, or it was refused before anybody looked. */
export type EndpointType = 'edge' | 'domain' | 'ephemeral' | 'none'
type Proto = 'http' | 'https'
/** One for each class of status. */
type ByProto = Readonly<Record<Proto, readonly Counter[]>>
export type ConnectionKind = 'http' | 'https' | 'tls' | 'tcp' | 'agent' | 'ssh'

/**
 * Everything the gateway counts, declared once. No label names a host, a path or a person: their number has no bound.
 * In a process of several, sessions and tunnels are those it holds itself, so that sums over processes are right.
 */
export class GatewayMetrics implements Disposable {
  readonly registry = new Registry()
  readonly requestDuration: Histogram
  readonly upstreamDuration: Histogram
  readonly tlsHandshake: Histogram
  readonly connections: Readonly<Record<ConnectionKind, Gauge>>
  /** `in` is what visitors sent, `out` what they were sent, whatever they speak. */
  readonly bytes: { readonly in: Counter; readonly out: Counter }
  readonly agentSessions: Gauge
  readonly tunnels: Gauge
  readonly tunnelStreams: Gauge
  /** All processes serve the same certificates, so these are not added up. */
  readonly certificates: { readonly earliestEnd: Gauge; readonly expiring: Gauge; readonly expired: Gauge }
  /** Requests that were to be traced: those that are, and those that came when too many were. */
  readonly traces: { readonly recorded: Counter; readonly limited: Counter }
  readonly spans: { readonly sent: Counter; readonly dropped: Counter }
  /** Connections for which there was no room. */
  readonly refusedConnections: Counter
  readonly #requests: Readonly<Record<EndpointType, ByProto>>
  readonly #rejected: Family<Counter>
  readonly #rejectedFor = new Map<ErrorName, Counter>()
  readonly #loop: LoopDelay

  constructor(version: string) {
    const { registry } = this
    this.#requests = requestCounters(registry)
    this.requestDuration = registry.histogram(
      'adit_http_request_duration_seconds',
      'From the head of a request to the end of its answer.',
      REQUEST_BOUNDS,
    )
    this.upstreamDuration = registry.histogram(
      'adit_upstream_request_duration_seconds',
      'From passing a request on to the head of the answer of its service.',
      REQUEST_BOUNDS,
    )
    this.tlsHandshake = registry.histogram(
      'adit_tls_handshake_seconds',
      'TLS handshakes with visitors and agents.',
      HANDSHAKE_BOUNDS,
    )
    const connections = registry.gauges('adit_connections', 'Connections that are open.', ['kind'])
    const kind = (name: ConnectionKind) => connections.with(name)
    this.connections = {
      http: kind('http'),
      https: kind('https'),
      tls: kind('tls'),
      tcp: kind('tcp'),
      agent: kind('agent'),
      ssh: kind('ssh'),
    }
    const bytes = registry.counters('adit_bytes_total', 'Bytes from and to visitors.', ['dir'])
    this.bytes = { in: bytes.with('in'), out: bytes.with('out') }
    this.agentSessions = registry.gauge('adit_agent_sessions', 'Agents that are connected.')
    this.tunnels = registry.gauge('adit_tunnels', 'Tunnels that are online.')
    this.tunnelStreams = registry.gauge('adit_tunnel_streams', 'Connections open through tunnels.')
    this.certificates = certificateGauges(registry)
    const traces = registry.counters('adit_traces_total', 'Requests that were to be traced.', ['outcome'])
    this.traces = { recorded: traces.with('recorded'), limited: traces.with('limited') }
    const spans = registry.counters('adit_trace_spans_total', 'Spans of requests, by what became of them.', [
      'outcome',
    ])
    this.spans = { sent: spans.with('sent'), dropped: spans.with('dropped') }
    this.#rejected = registry.counters('adit_rejected_total', 'What was refused, by reason.', ['reason'])
    this.refusedConnections = this.#rejected.with('gateway_full')
    registry
      .gauges('adit_build_info', 'Always 1.', ['version', 'runtime'], 'max')
      .with(version, process.version)
      .set(1)
    this.#loop = watchLoop(registry)
    watchProcess(registry)
    watchBackground(registry)
  }

  answered(endpoint: EndpointType, proto: Proto, status: number): void {
    this.#requests[endpoint][proto][Math.floor(status / 100) - 1]?.add()
  }

  /** The reasons are names of the catalogue, so their number is bounded. */
  rejected(reason: ErrorName): void {
    let counter = this.#rejectedFor.get(reason)
    if (counter === undefined) this.#rejectedFor.set(reason, (counter = this.#rejected.with(reason)))
    counter.add()
  }

  [Symbol.dispose](): void {
    this.#loop[Symbol.dispose]()
  }
}

function requestCounters(registry: Registry): Readonly<Record<EndpointType, ByProto>> {
  const family = registry.counters('adit_http_requests_total', 'Requests of visitors that were answered.', [
    'endpoint_type',
    'proto',
    'code_class',
  ])
  const of = (endpoint: EndpointType): ByProto => ({
    http: CODE_CLASSES.map(each => family.with(endpoint, 'http', each)),
    https: CODE_CLASSES.map(each => family.with(endpoint, 'https', each)),
  })
  return { edge: of('edge'), domain: of('domain'), ephemeral: of('ephemeral'), none: of('none') }
}

function certificateGauges(registry: Registry): GatewayMetrics['certificates'] {
  return {
    earliestEnd: registry.gauge(
      'adit_cert_expiry_timestamp_seconds',
      'When the first of the certificates ends that are served, since 1970.',
      'max',
    ),
    expiring: registry.gauge('adit_certs_expiring', 'Certificates served that end soon.', 'max'),
    expired: registry.gauge('adit_certs_expired', 'Certificates served that have ended.', 'max'),
  }
}
