import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import type { Secret } from '#base/secrets.ts'
import type { Endpoint, Observer } from '#http/exchange.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { GatewayMetrics } from '#telemetry/metrics.ts'
import { withHead } from '#http/changed.ts'
import { RequestSpan } from '#telemetry/tracing/request-span.ts'
import { Sampler } from '#telemetry/tracing/sampler.ts'
import { SpanExporter } from '#telemetry/tracing/span-exporter.ts'
import { fieldsWithin, parentIn } from '#telemetry/tracing/trace-context.ts'

/** The operator's trace settings. */
export interface TracingSetup {
  /** The collector's URL for spans. */
  readonly url: string
  readonly headers: ReadonlyMap<string, Secret>
  /** Fraction of requests without a trace that are traced. */
  readonly share: number
  /** Our service name. */
  readonly service: string
}

export interface TracingOptions {
  readonly setup: TracingSetup
  /** May reach private networks: the operator has chosen the address. */
  readonly egress: Egress
  readonly info: Pick<GatewayInfo, 'version' | 'node'>
  readonly metrics: Pick<GatewayMetrics, 'traces' | 'spans'>
  readonly log: Log
}

/** OpenTelemetry traces. It wraps the handler, so that it costs nothing when it is off. */
export class Tracing {
  readonly #sampler: Sampler
  readonly #exporter: SpanExporter

  constructor({ setup, egress, info, metrics, log }: TracingOptions) {
    const { url, headers, share, service: name } = setup
    this.#sampler = new Sampler({ share, ...metrics.traces })
    const service = { name, version: info.version, node: info.node }
    this.#exporter = new SpanExporter({ url, headers, egress, service, log, ...metrics.spans })
  }

  /** Follows traced requests; forwarded ones carry the span id. */
  around(answer: Endpoint): Endpoint {
    const { put } = this.#exporter
    return exchange => {
      const { fields } = exchange.head
      const parent = parentIn(fields)
      if (!this.#sampler.takes(parent)) return answer(exchange)
      const span = new RequestSpan(exchange, parent, put)
      exchange.context.telemetry.span = span
      return answer(withHead(exchange, { fields: fieldsWithin(fields, span.onward, parent) }))
    }
  }

  observing(observer: Observer): Observer {
    return {
      replied(client, head, reply, context) {
        context.span?.replied(reply.head.status, reply.refusal)
        return observer.replied(client, head, reply, context)
      },
      ended(context, whole) {
        observer.ended(context, whole)
        context.span?.ended(performance.now(), whole)
      },
      failed: (head, error) => observer.failed(head, error),
    }
  }

  /** Sends what is buffered, for a moment. */
  close(): Promise<void> {
    return this.#exporter.close()
  }
}
