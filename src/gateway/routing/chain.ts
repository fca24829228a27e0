import type { Endpoint, Handler } from '#http/exchange.ts'

/** Runs handlers first to last and ends at the backend. A handler that does not call `next` responds itself. */
export function chain(handlers: readonly Handler[], backend: Endpoint): Endpoint {
  const first = handlers.reduceRight<Endpoint>((rest, handler, at) => {
    const next: Endpoint = exchange => {
      const { context } = exchange
      context.routing.modulesPassed = at + 1
      context.moduleTimes?.push(performance.now())
      return rest(exchange)
    }
    return exchange => handler(exchange, next)
  }, backend)
  if (handlers.length === 0) return backend
  return exchange => {
    exchange.context.routing.moduleTimes = [performance.now()]
    return first(exchange)
  }
}
