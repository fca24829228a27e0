import type { circuitBreaker } from '#contract/modules/circuit-breaker.ts'
import type { Stored } from '#contract/shape.ts'
import { fail } from '#base/errors.ts'
import { Circuit, type CircuitConfig, type CircuitPermit } from '#gateway/modules/circuit.ts'
import type { Endpoint, Exchange, Handler, Reply } from '#http/exchange.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import { readModule } from '#base/read-module.ts'
import { errorReply } from '#http/pages.ts'
import { type FieldReader, MessageError, object } from '#base/json-fields.ts'

const OPTION = 'CircuitBreaker'
const FAILED = 500
/** What agents cannot set has the API's defaults. */
const agentConfig = { trippedMs: 10_000, windowMs: 10_000, buckets: 10, volume: 20 }

const number: FieldReader<number> = (value, name) => {
  if (value === undefined || value === null) return 0
  if (typeof value !== 'number') throw new MessageError(`${name} must be a number.`)
  return value
}
const options = object({ error_threshold: number })

/** Stops requests to a service that fails too often, and retries from time to time. */
export function circuitBreakerHandler(config: CircuitConfig, now?: () => number): Handler {
  const circuit = new Circuit(config, now)
  return (exchange, next) => {
    const permit = circuit.admit()
    if (permit === undefined) return Promise.resolve(refusal(exchange, circuit.waitMs))
    if (permit.isProbe) return probe(circuit, permit, exchange, next)
    return next(exchange).then(reply => {
      // A failure after the client disconnected is no evidence against the service.
      if (!exchange.clientAbort.aborted) circuit.answered(permit, reply.head.status >= FAILED)
      return reply
    })
  }
}

async function probe(
  circuit: Circuit,
  permit: CircuitPermit,
  exchange: Exchange,
  next: Endpoint,
): Promise<Reply> {
  exchange.context.note('circuit_breaker: allow_while_open')
  exchange.context.modules.whileOpen = true
  // Other requests must not wait for one whose client has gone.
  exchange.clientAbort.onAbort(() => circuit.forget(permit))
  try {
    const reply = await next(exchange)
    circuit.answered(permit, reply.head.status >= FAILED)
    return reply
  } finally {
    circuit.forget(permit)
  }
}

const refusal = ({ head }: Exchange, waitMs: number): Reply =>
  errorReply('circuit_open', head, { retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) })

export const circuitBreakerModule: HttpModule = {
  name: 'circuit_breaker',
  remembers: true,
  fromRecord(given) {
    const kept = given as Stored<typeof circuitBreaker.shape>
    return circuitBreakerHandler({
      trippedMs: kept.tripped_duration * 1000,
      windowMs: kept.rolling_window * 1000,
      buckets: kept.num_buckets,
      volume: kept.volume_threshold,
      share: kept.error_threshold_percentage,
    })
  },
  fromAgent: {
    options: [OPTION],
    build({ CircuitBreaker }) {
      const { error_threshold: share } = readModule(OPTION, options, CircuitBreaker ?? {})
      if (!(share >= 0 && share <= 1))
        fail('bind_option', { option: OPTION, reason: 'error_threshold must be between 0 and 1' })
      return circuitBreakerHandler({ ...agentConfig, share })
    },
  },
}
