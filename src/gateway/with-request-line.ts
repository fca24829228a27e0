import type { Exchange, Reply } from '#http/exchange.ts'
import type { ClosableEndpoint } from '#gateway/backends/backend.ts'

/** Reports each request to the tunnel's observer. */
export function withRequestLine(backend: ClosableEndpoint, show: (line: string) => void): ClosableEndpoint {
  const answer = async (exchange: Exchange): Promise<Reply> => {
    const begun = performance.now()
    const reply = await backend(exchange)
    const spent = (performance.now() - begun).toFixed(1)
    show(`${exchange.head.method} ${exchange.head.path} ${reply.head.status} ${spent} ms`)
    return reply
  }
  return Object.assign(answer, { close: () => backend.close() })
}
