import type { Log } from '#base/log.ts'
import type { Endpoint, Exchange, Reply } from '#gateway/exchange.ts'
import type { GatewayMetrics } from '#gateway/metrics.ts'
import { errorReply } from '#gateway/pages.ts'
import type { ClosableEndpoint } from '#gateway/plan/compiled.ts'

/** Counts every answer, and why it was a refusal where it was one. A fault of our own is told in the log. */
export function counted(answer: Endpoint, metrics: GatewayMetrics, log: Log): Endpoint {
  const answered = async (exchange: Exchange): Promise<Reply> => {
    try {
      return await answer(exchange)
    } catch (error) {
      log.error({ error, host: exchange.head.host }, 'a request could not be handled')
      return errorReply('gateway_fault', exchange.head)
    }
  }
  return async exchange => {
    const begun = performance.now()
    const reply = await answered(exchange)
    metrics.requestDone(exchange.visitor.scheme, reply.head.status, (performance.now() - begun) / 1000)
    if (reply.refusal !== undefined) metrics.rejected(reply.refusal)
    return reply
  }
}

/** Measures how long the service behind a tunnel takes, and shows each request to whoever watches the tunnel. */
export function timed(
  backend: ClosableEndpoint,
  metrics: GatewayMetrics,
  show: ((line: string) => void) | undefined,
): ClosableEndpoint {
  const answer = async (exchange: Exchange): Promise<Reply> => {
    const begun = performance.now()
    const reply = await backend(exchange)
    const spent = performance.now() - begun
    metrics.upstreamDuration.observe(spent / 1000)
    show?.(`${exchange.head.method} ${exchange.head.path} ${reply.head.status} ${spent.toFixed(1)} ms`)
    return reply
  }
  return Object.assign(answer, { close: () => backend.close() })
}
