import { module } from '#contract/kind.ts'
import { number, uint32 } from '#contract/schema.ts'
import { input } from '#contract/shape.ts'

export const circuitBreaker = module({
  name: 'circuit_breaker',
  doc: 'Responds with 503 for a while when too many requests fail.',
  fields: {
    tripped_duration: input(
      uint32(10, { minimum: 1, refusal: 'breaker_tripped' }),
      'Seconds to wait after tripping before the upstream is tried again.',
    ),
    rolling_window: input(
      uint32(10, { minimum: 1, refusal: 'breaker_window' }),
      'Seconds of the window in which requests are counted.',
    ),
    num_buckets: input(
      uint32(10, { minimum: 1, maximum: 128, refusal: 'breaker_buckets' }),
      'Parts into which the window is divided, at most 128.',
    ),
    volume_threshold: input(uint32(20), 'Requests within the window before the circuit can trip.'),
    error_threshold_percentage: input(
      number(0, 1, { default: 0, refusal: 'breaker_threshold' }),
      'Fraction of failed requests that trips the circuit, between 0 and 1.0.',
    ),
  },
})
