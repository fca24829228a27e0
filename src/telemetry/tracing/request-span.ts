import type { CatalogEntry } from '#base/catalog/entry.ts'
import { catalog } from '#base/catalog.ts'
import type { ErrorName } from '#base/errors.ts'
import { attribute, nanoseconds, type Attribute } from '#base/otlp.ts'
import { wallTime } from '#base/wall-time.ts'
import { staticBackend } from '#contract/kinds/backends.ts'
import type { Exchange } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import { baseId } from '#registry/agent-connections.ts'
import type { FollowedRequest, RequestContext, UpstreamSection } from '#http/request-context.ts'
import { flagsAfter, newSpanId, newTraceId, type TraceParent } from '#telemetry/tracing/trace-context.ts'

/** A span in OTLP JSON. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly flags: number
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code: number }
}

const [SERVER, CLIENT] = [2, 3] as const
const [UNSET, ERROR] = [0, 2] as const
/** Bits beyond the W3C flags: whether the parent is known to be remote, and it is. */
const [KNOWN, REMOTE] = [0x100, 0x200] as const
const MAX_TEXT = 1024
const SWITCHING = 101
/** Other methods could have any name, and span names would be unbounded. */
const methods = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '))
const defaultPorts = { http: 80, https: 443 } as const
const STATIC = `${staticBackend.prefix}_`

type SpanAttributes = readonly (readonly [key: string, value: string | number | undefined])[]

/** Follows one traced request, and creates its spans at the end. */
export class RequestSpan implements FollowedRequest {
  /** The trace context for the service. */
  readonly onward: TraceParent
  readonly #spanId = newSpanId()
  readonly #parent: TraceParent | undefined
  readonly #exchange: Exchange
  readonly #put: (span: Span) => void
  /** 0 without a response. */
  #status = 0
  #refusal: ErrorName | undefined
  #isOver = false

  constructor(exchange: Exchange, parent: TraceParent | undefined, put: (span: Span) => void) {
    const traceId = parent?.traceId ?? newTraceId()
    this.onward = { traceId, spanId: newSpanId(), flags: flagsAfter(parent) }
    this.#parent = parent
    this.#exchange = exchange
    this.#put = put
  }

  replied(status: number, refusal: ErrorName | undefined): void {
    this.#status = status
    this.#refusal = refusal
  }

  ended(moment: number, whole: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    // The end of an upgraded connection is neither early nor late.
    const isCut = !whole && this.#status !== SWITCHING
    this.#put(this.#server(moment, isCut))
    if (hasUsedUpstream(this.#exchange.context)) this.#put(this.#client(moment))
  }

  #server(moment: number, isCut: boolean): Span {
    const { head, context } = this.#exchange
    const route = context.route?.match
    const failure = this.#failure(500) ?? (isCut ? 'incomplete' : undefined)
    const method = methods.has(head.method) ? head.method : 'HTTP'
    const parent = this.#parent
    return {
      traceId: this.onward.traceId,
      spanId: this.#spanId,
      ...(parent && { parentSpanId: parent.spanId }),
      flags: this.onward.flags | KNOWN | (parent ? REMOTE : 0),
      name: route === undefined ? method : `${method} ${route}`,
      kind: SERVER,
      startTimeUnixNano: wall(context.begun),
      endTimeUnixNano: wall(moment),
      attributes: attributes([
        ...requestAttributes(this.#exchange),
        ['http.route', route],
        ...this.#responseAttributes(failure),
        ...routeAttributes(context, this.#status),
        ['adit.error_code', errorCode(this.#refusal)],
      ]),
      status: { code: failure === undefined ? UNSET : ERROR },
    }
  }

  /** From forwarding the request to the response head. */
  #client(moment: number): Span {
    const { head, context } = this.#exchange
    const { traceId, spanId, flags } = this.onward
    const failure = this.#failure(400)
    const method = methods.has(head.method) ? head.method : 'HTTP'
    return {
      traceId,
      spanId,
      parentSpanId: this.#spanId,
      flags: flags | KNOWN,
      name: method,
      kind: CLIENT,
      startTimeUnixNano: wall(context.upstreamStartedAt),
      endTimeUnixNano: wall(this.#status === 0 ? moment : context.respondedAt),
      attributes: attributes([
        ...methodAttributes(head),
        ...this.#responseAttributes(failure),
        ['adit.request_id', context.id],
        ['adit.backend_id', context.backendId],
        ['adit.tunnel_id', context.tunnel && baseId(context.tunnel.id)],
      ]),
      status: { code: failure === undefined ? UNSET : ERROR },
    }
  }

  /** The error type; statuses from `worst` on are failures. */
  #failure(worst: number): string | undefined {
    if (this.#status === 0) return 'unanswered'
    return this.#status < worst ? undefined : (this.#refusal ?? String(this.#status))
  }

  #responseAttributes(failure: string | undefined): SpanAttributes {
    return [
      ['http.response.status_code', this.#status === 0 ? undefined : this.#status],
      ['error.type', failure],
    ]
  }
}

const wall = (moment: number): string => nanoseconds(wallTime(moment))

/** Whether an upstream was involved: some backends respond themselves, and some have no target. */
const hasUsedUpstream = ({ upstreamStartedAt, tunnel, backendId }: Readonly<UpstreamSection>): boolean =>
  upstreamStartedAt > 0 && (tunnel !== undefined || backendId?.startsWith(STATIC) === true)

const attributes = (facts: SpanAttributes): Attribute[] =>
  facts.flatMap(([key, value]) =>
    value === undefined ? [] : attribute(key, typeof value === 'string' ? value.slice(0, MAX_TEXT) : value),
  )

const methodAttributes = ({ method }: RequestHead): SpanAttributes => [
  ['http.request.method', methods.has(method) ? method : '_OTHER'],
  ['http.request.method_original', methods.has(method) ? undefined : method],
]

/** The query and all headers but the user agent are omitted: they contain secrets. */
function requestAttributes({ head, client }: Exchange): SpanAttributes {
  return [
    ...methodAttributes(head),
    ['url.scheme', client.scheme],
    ['url.path', head.path],
    ['server.address', head.host],
    ['server.port', Number(/:(\d{1,5})$/.exec(head.authority)?.[1] ?? defaultPorts[client.scheme])],
    ['client.address', client.ip],
    ['network.protocol.version', head.version],
    ['user_agent.original', head.fields.get('user-agent')],
  ]
}

function routeAttributes(
  { id, route, modulesPassed: passed, backendId, tunnel }: RequestContext,
  status: number,
): SpanAttributes {
  return [
    ['adit.request_id', id],
    ['adit.edge_id', route?.edgeId],
    ['adit.route_id', route?.routeId],
    ['adit.backend_id', backendId],
    ['adit.tunnel_id', tunnel && baseId(tunnel.id)],
    // The module that responded in place of the service.
    ['adit.module', status === 0 ? undefined : route?.modules[passed]],
  ]
}

function errorCode(refusal: ErrorName | undefined): string | undefined {
  const entry: CatalogEntry | undefined = refusal && catalog[refusal]
  return entry?.number === undefined ? undefined : `ERR_ADIT_${entry.number}`
}
