import type { Log } from '#base/log.ts'
import type { Exchange, Observer, Reply } from '#gateway/exchange.ts'
import type { GatewayMetrics } from '#gateway/metrics.ts'
import type { ClosableEndpoint } from '#gateway/plan/compiled.ts'

/** Counts every answer, and why it was a refusal where it was one. A fault of our own is told in the log. */
export const counting = (metrics: GatewayMetrics, log: Log): Observer => ({
  replied({ scheme }, reply, begun) {
    metrics.requestDone(scheme, reply.head.status, (performance.now() - begun) / 1000)
    if (reply.refusal !== undefined) metrics.rejected(reply.refusal)
  },
  failed: ({ host }, error) => log.error({ error, host }, 'a request could not be handled'),
})

/** Shows each request to whoever watches the tunnel. */
export function shown(backend: ClosableEndpoint, show: (line: string) => void): ClosableEndpoint {
  const answer = async (exchange: Exchange): Promise<Reply> => {
    const begun = performance.now()
    const reply = await backend(exchange)
    const spent = (performance.now() - begun).toFixed(1)
    show(`${exchange.head.method} ${exchange.head.path} ${reply.head.status} ${spent} ms`)
    return reply
  }
  return Object.assign(answer, { close: () => backend.close() })
}
