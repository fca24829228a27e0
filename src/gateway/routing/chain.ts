import type { Endpoint, Handler } from '#http/exchange.ts'

/** Runs handlers first to last and ends at the backend. A handler that does not call `next` responds itself. */
export const chain = (handlers: readonly Handler[], backend: Endpoint): Endpoint =>
  handlers.reduceRight<Endpoint>((rest, handler, at) => {
    const next: Endpoint = exchange => {
      exchange.context.routing.modulesPassed = at + 1
      return rest(exchange)
    }
    return exchange => handler(exchange, next)
  }, backend)
