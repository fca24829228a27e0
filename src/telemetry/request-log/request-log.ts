import type { Log } from '#base/log.ts'
import type { Observer } from '#http/exchange.ts'
import type { GatewayMetrics } from '#telemetry/metrics.ts'
import { newest, type Page } from '#base/newest.ts'
import { RequestRing } from '#telemetry/request-log/ring.ts'
import { shownRequest } from '#telemetry/request-log/shown.ts'
import type { Traffic } from '#telemetry/traffic.ts'

type Body = Record<string, unknown>

/** Writes the lines of the access log; it must limit its buffer. */
export type WriteLine = (line: string) => void

export interface RequestLogOptions {
  readonly metrics: GatewayMetrics
  readonly log: Log
  /** How many requests are kept for look-up. */
  readonly size: number
  /** Undefined: there is no access log. */
  readonly write: WriteLine | undefined
  /** Also notified of requests; unused when absent. */
  readonly traffic?: Traffic | undefined
}

/** Records every response: in the metrics, among the last requests, and in the access log. */
export class RequestLog implements Observer {
  readonly #options: RequestLogOptions
  readonly #ring: RequestRing
  readonly #traffic: Traffic | undefined

  constructor(options: RequestLogOptions) {
    this.#options = options
    this.#ring = new RequestRing(options.size)
    this.#traffic = options.traffic
  }

  readonly replied: Observer['replied'] = (client, head, reply, trace) => {
    trace.answered = performance.now()
    const { metrics } = this.#options
    metrics.answered(trace.way?.endpoint ?? 'none', client.scheme, reply.head.status)
    if (reply.refusal !== undefined) metrics.rejected(reply.refusal)
    // Only a service has a connection that can be reused.
    else if (trace.reused !== undefined && trace.asked !== 0)
      metrics.upstreamDuration.observe((trace.answered - trace.asked) / 1000)
    // After an upgrade there is no response to measure.
    if (reply.upgraded !== undefined) metrics.requestDuration.observe((trace.answered - trace.begun) / 1000)
    else if (head?.method !== 'HEAD') trace.answer = reply.body
    this.#ring.put(client, head, reply, trace)
    const traffic = this.#traffic
    if (traffic?.wantsRequests === true)
      trace.tell = ended => traffic.request({ client, head, reply, trace, ended })
  }

  readonly ended: Observer['ended'] = (trace, whole) => {
    const now = performance.now()
    if (trace.answered !== 0 && trace.upgraded === undefined)
      this.#options.metrics.requestDuration.observe((now - trace.begun) / 1000)
    this.#ring.end(trace, whole, now)
    trace.tell?.(now)
    const { write } = this.#options
    const kept = write && this.#ring.of(trace)
    if (kept !== undefined) write?.(`${JSON.stringify(shownRequest(kept))}\n`)
  }

  /** Internal errors are logged. */
  readonly failed: Observer['failed'] = ({ host }, error) =>
    this.#options.log.error({ error, host }, 'a request could not be handled')

  find(id: string): Body | undefined {
    const found = this.#ring.find(id)
    return found && shownRequest(found)
  }

  list(page: Page): Body[] {
    return newest(this.#ring.newest(), ({ id }) => id, page).map(shownRequest)
  }
}
