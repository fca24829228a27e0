import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import type { Secret } from '#base/secrets.ts'
import type { Endpoint, Observer } from '#http/exchange.ts'
import type { Facts } from '#registry/facts.ts'
import type { GatewayMetrics } from '#telemetry/metrics.ts'
import { withHead } from '#http/changed.ts'
import { RequestSpan } from '#telemetry/tracing/request-span.ts'
import { Sampler } from '#telemetry/tracing/sampler.ts'
import { SpanExporter } from '#telemetry/tracing/span-exporter.ts'
import { fieldsWithin, parentIn } from '#telemetry/tracing/trace-context.ts'

/** What the operator has set for traces. */
export interface TracingSetup {
  /** Where the collector takes spans. */
  readonly url: string
  readonly headers: ReadonlyMap<string, Secret>
  /** Of requests that are part of no trace, the share that is traced. */
  readonly share: number
  /** As which service we are shown. */
  readonly service: string
}

export interface TracingOptions {
  readonly setup: TracingSetup
  /** Reaches private networks too: the operator has chosen the address. */
  readonly egress: Egress
  readonly facts: Pick<Facts, 'version' | 'node'>
  readonly metrics: Pick<GatewayMetrics, 'traces' | 'spans'>
  readonly log: Log
}

/** Traces of requests for OpenTelemetry. It stands around what answers, so that without it nothing costs anything. */
export class Tracing {
  readonly #sampler: Sampler
  readonly #exporter: SpanExporter

  constructor({ setup, egress, facts, metrics, log }: TracingOptions) {
    const { url, headers, share, service: name } = setup
    this.#sampler = new Sampler({ share, ...metrics.traces })
    const service = { name, version: facts.version, node: facts.node }
    this.#exporter = new SpanExporter({ url, headers, egress, service, log, ...metrics.spans })
  }

  /** Follows the requests that are traced; what they are passed on with names the span here. */
  around(answer: Endpoint): Endpoint {
    const { put } = this.#exporter
    return exchange => {
      const { fields } = exchange.head
      const parent = parentIn(fields)
      if (!this.#sampler.takes(parent)) return answer(exchange)
      const span = new RequestSpan(exchange, parent, put)
      exchange.trace.span = span
      return answer(withHead(exchange, { fields: fieldsWithin(fields, span.onward, parent) }))
    }
  }

  observing(observer: Observer): Observer {
    return {
      replied(visitor, head, reply, trace) {
        observer.replied(visitor, head, reply, trace)
        trace.span?.replied(reply.head.status, reply.refusal)
      },
      ended(trace, whole) {
        observer.ended(trace, whole)
        trace.span?.ended(performance.now(), whole)
      },
      failed: (head, error) => observer.failed(head, error),
    }
  }

  /** Lets what waits leave, for a moment. */
  close(): Promise<void> {
    return this.#exporter.close()
  }
}
