import type { Endpoint, Handler } from '#http/exchange.ts'

/** Runs handlers first to last and ends at the backend. A handler that does not call `next` responds itself. */
export function chain(handlers: readonly Handler[], backend: Endpoint): Endpoint {
  const first = handlers.reduceRight<Endpoint>((rest, handler, at) => {
    const next: Endpoint = exchange => {
      const { context } = exchange
      const { moduleTimes } = context
      context.routing.modulesPassed = at + 1
      if (moduleTimes !== undefined) moduleTimes[at + 1] = performance.now()
      return rest(exchange)
    }
    return exchange => handler(exchange, next)
  }, backend)
  if (handlers.length === 0) return backend
  // Copied whole: a list that grows would be allocated several times.
  const none = [Number.NaN, ...handlers.map(() => Number.NaN)]
  return exchange => {
    const moduleTimes = none.slice()
    moduleTimes[0] = performance.now()
    exchange.context.routing.moduleTimes = moduleTimes
    return first(exchange)
  }
}
