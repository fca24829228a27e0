import { watchBackground } from '#base/background.ts'
import { type Counter, type Family, type Gauge, type Histogram, Registry } from '#base/metrics.ts'
import type { ErrorName } from '#base/errors.ts'
import { type LoopDelay, watchLoop, watchProcess } from '#base/process-metrics.ts'

/** In seconds; OpenTelemetry's recommendation for requests. */
const REQUEST_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const HANDSHAKE_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

const CODE_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const
/** The target of a request; none: nothing is there, or it was rejected early. */
type EndpointType = 'edge' | 'domain' | 'ephemeral' | 'api' | 'none'
type Proto = 'http' | 'https'
/** One for each class of status. */
type ByProto = Readonly<Record<Proto, readonly Counter[]>>
type ConnectionKind = 'http' | 'https' | 'tls' | 'tcp' | 'agent' | 'ssh'

/**
 * All metrics of the gateway, declared once. No label contains a host, a path or a user: their number is unbounded.
 * With several processes, sessions and tunnels are those of this process, so that sums are right.
 */
export class GatewayMetrics implements Disposable {
  readonly registry = new Registry()
  readonly requestDuration: Histogram
  readonly upstreamDuration: Histogram
  readonly tlsHandshake: Histogram
  readonly connections: Readonly<Record<ConnectionKind, Gauge>>
  /** `in` is from clients, `out` to clients, of any protocol. */
  readonly bytes: { readonly in: Counter; readonly out: Counter }
  readonly agentSessions: Gauge
  readonly tunnels: Gauge
  readonly tunnelStreams: Gauge
  readonly captureBytes: Gauge
  readonly capturesUnsaved: Counter
  /** All processes serve the same certificates, so these are not summed. */
  readonly certificates: { readonly earliestEnd: Gauge; readonly expiring: Gauge; readonly expired: Gauge }
  /** Sampled requests: those that are traced, and those over the limit. */
  readonly traces: { readonly recorded: Counter; readonly limited: Counter }
  readonly spans: { readonly sent: Counter; readonly dropped: Counter }
  /** Connections rejected at the limit. */
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
      'From the request head to the end of the response.',
      REQUEST_BOUNDS,
    )
    this.upstreamDuration = registry.histogram(
      'adit_upstream_request_duration_seconds',
      'From forwarding a request to the response head of its service.',
      REQUEST_BOUNDS,
    )
    this.tlsHandshake = registry.histogram(
      'adit_tls_handshake_seconds',
      'TLS handshakes with clients and agents.',
      HANDSHAKE_BOUNDS,
    )
    const connections = registry.gauges('adit_connections', 'Open connections.', ['kind'])
    const kind = (name: ConnectionKind) => connections.with(name)
    this.connections = {
      http: kind('http'),
      https: kind('https'),
      tls: kind('tls'),
      tcp: kind('tcp'),
      agent: kind('agent'),
      ssh: kind('ssh'),
    }
    const bytes = registry.counters('adit_bytes_total', 'Bytes from and to clients.', ['dir'])
    this.bytes = { in: bytes.with('in'), out: bytes.with('out') }
    this.agentSessions = registry.gauge('adit_agent_sessions', 'Connected agents.')
    this.tunnels = registry.gauge('adit_tunnels', 'Online tunnels.')
    this.tunnelStreams = registry.gauge('adit_tunnel_streams', 'Open connections through tunnels.')
    this.captureBytes = registry.gauge('adit_capture_bytes', 'Memory of captured headers and bodies.')
    this.capturesUnsaved = registry.counter(
      'adit_captures_unsaved_total',
      'Captures that could not be saved for a restart.',
    )
    this.certificates = certificateGauges(registry)
    const traces = registry.counters('adit_traces_total', 'Sampled requests, by outcome.', ['outcome'])
    this.traces = { recorded: traces.with('recorded'), limited: traces.with('limited') }
    const spans = registry.counters('adit_trace_spans_total', 'Request spans, by outcome.', ['outcome'])
    this.spans = { sent: spans.with('sent'), dropped: spans.with('dropped') }
    this.#rejected = registry.counters(
      'adit_rejected_total',
      'Rejected requests and connections, by reason.',
      ['reason'],
    )
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

  /** The reasons are catalogue names, so their number is bounded. */
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
  const family = registry.counters('adit_http_requests_total', 'Client requests with a response.', [
    'endpoint_type',
    'proto',
    'code_class',
  ])
  const of = (endpoint: EndpointType): ByProto => ({
    http: CODE_CLASSES.map(each => family.with(endpoint, 'http', each)),
    https: CODE_CLASSES.map(each => family.with(endpoint, 'https', each)),
  })
  return {
    edge: of('edge'),
    domain: of('domain'),
    ephemeral: of('ephemeral'),
    api: of('api'),
    none: of('none'),
  }
}

function certificateGauges(registry: Registry): GatewayMetrics['certificates'] {
  return {
    earliestEnd: registry.gauge(
      'adit_cert_expiry_timestamp_seconds',
      'Earliest expiry of all served certificates, since 1970.',
      'max',
    ),
    expiring: registry.gauge('adit_certs_expiring', 'Served certificates that expire soon.', 'max'),
    expired: registry.gauge('adit_certs_expired', 'Served certificates that have expired.', 'max'),
  }
}
