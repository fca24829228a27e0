import type { Log } from '#base/log.ts'
import type { Observer } from '#http/exchange.ts'
import type { Captures } from '#telemetry/capture/captures.ts'
import type { GatewayMetrics } from '#telemetry/metrics.ts'
import { pageByIdDesc } from '#base/page-by-id.ts'
import type { RequestPage, RequestWatcher } from '#contract/request-history.ts'
import { isFailure } from '#telemetry/request-log/blame.ts'
import { requestFilter } from '#telemetry/request-log/request-filter.ts'
import { RequestRing, type KeptRequest } from '#telemetry/request-log/ring.ts'
import { shownRequest } from '#telemetry/request-log/shown.ts'
import type { TrafficEvents } from '#telemetry/traffic-events.ts'
import type { UsageCounter } from '#telemetry/usage/usage-counter.ts'

type ResourceBody = Record<string, unknown>

/** Writes the lines of the access log; it must limit its buffer. */
export type WriteLine = (line: string) => void

interface RequestLogOptions {
  readonly metrics: GatewayMetrics
  readonly log: Log
  /** How many requests are kept for look-up. */
  readonly size: number
  /** Undefined: there is no access log. */
  readonly write: WriteLine | undefined
  /** Records headers and bodies; unused when absent. */
  readonly captures?: Pick<Captures, 'has' | 'get' | 'records' | 'replied' | 'ended'> | undefined
  /** Also notified of requests; unused when absent. */
  readonly traffic?: TrafficEvents | undefined
  /** Counts requests; unused when absent. */
  readonly usage?: UsageCounter | undefined
}

interface Watching {
  readonly passes: (request: KeptRequest) => boolean
  readonly watcher: RequestWatcher
}

/** Records every response: in the metrics, among the last requests, and in the access log. */
export class RequestLog implements Observer {
  readonly #options: RequestLogOptions
  readonly #ring: RequestRing
  readonly #traffic: TrafficEvents | undefined
  readonly #watching = new Set<Watching>()

  constructor(options: RequestLogOptions) {
    this.#options = options
    this.#ring = new RequestRing(options.size)
    this.#traffic = options.traffic
  }

  readonly replied: Observer['replied'] = (client, head, given, context) => {
    context.telemetry.respondedAt = performance.now()
    const { captures } = this.#options
    const reply =
      context.captured === undefined || captures === undefined ? given : captures.replied(context, given)
    context.telemetry.failed = isFailure(reply.head.status, reply.refusal)
    const { metrics } = this.#options
    metrics.answered(context.route?.endpoint ?? 'none', client.scheme, reply.head.status)
    if (reply.refusal !== undefined) metrics.rejected(reply.refusal)
    // Only a service has a connection that can be reused.
    else if (context.reused !== undefined && context.upstreamStartedAt !== 0)
      metrics.upstreamDuration.observe((context.respondedAt - context.upstreamStartedAt) / 1000)
    // After an upgrade there is no response to measure.
    if (reply.upgraded !== undefined)
      metrics.requestDuration.observe((context.respondedAt - context.begun) / 1000)
    else if (head?.method !== 'HEAD') context.telemetry.answer = reply.body
    // The dashboard follows the request log: its own requests would fill it.
    if (context.route?.endpoint === 'api') return reply
    this.#ring.put(client, head, reply, context)
    const traffic = this.#traffic
    if (traffic?.wantsRequests === true)
      context.telemetry.onComplete = ended => traffic.request({ client, head, reply, context, ended })
    return reply
  }

  readonly ended: Observer['ended'] = (context, whole) => {
    const now = performance.now()
    if (context.respondedAt !== 0 && context.upgraded === undefined)
      this.#options.metrics.requestDuration.observe((now - context.begun) / 1000)
    this.#ring.end(context, whole, now)
    this.#options.usage?.request(context, now)
    if (context.captured !== undefined)
      this.#options.captures?.ended(context, whole, () => this.#ring.of(context))
    context.onComplete?.(now)
    const { write } = this.#options
    if (write === undefined && this.#watching.size === 0) return
    const kept = this.#ring.of(context)
    if (kept === undefined) return
    write?.(`${JSON.stringify(this.#shown(kept))}\n`)
    for (const { passes, watcher } of this.#watching) if (passes(kept)) watcher.seen(this.#shown(kept))
  }

  /** Reports each request that has ended and passes the filters; returns how to stop. */
  watch(filters: NonNullable<RequestPage['filters']>, watcher: RequestWatcher): () => void {
    const watching = { passes: requestFilter(filters), watcher }
    this.#watching.add(watching)
    return () => {
      this.#watching.delete(watching)
    }
  }

  /** Internal errors are logged. */
  readonly failed: Observer['failed'] = ({ host }, error) =>
    this.#options.log.error({ error, host }, 'a request could not be handled')

  find(id: string): ResourceBody | undefined {
    const found = this.#ring.find(id) ?? this.#options.captures?.get(id)?.record
    return found && this.#shown(found)
  }

  list(page: RequestPage): ResourceBody[] {
    const matching = this.#all().filter(requestFilter(page.filters))
    return pageByIdDesc(matching, ({ id }) => id, page).map(kept => this.#shown(kept))
  }

  /** The last requests, and those whose captures are saved: a capture may be older, or of an earlier process. */
  #all(): KeptRequest[] {
    const last = [...this.#ring.newest()]
    const saved = [...(this.#options.captures?.records() ?? [])]
    if (saved.length === 0) return last
    const ids = new Set(last.map(({ id }) => id))
    return [...last, ...saved.filter(({ id }) => !ids.has(id))]
  }

  #shown(request: KeptRequest): ResourceBody {
    return shownRequest(request, this.#options.captures?.has(request.id) === true)
  }
}
