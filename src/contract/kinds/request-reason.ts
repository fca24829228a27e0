import { line, nullable } from '#contract/schema.ts'
import { named } from '#contract/shape-schema.ts'
import { computed } from '#contract/shape.ts'

/** Why a request got its response, for people. */
export const requestReason = named('request_reason', {
  request_id: computed(line()),
  summary: computed(line(), 'What responded.'),
  error: computed(nullable(line()), 'The error that the gateway sent; null if it sent none.'),
  advice: computed(nullable(line()), 'What to do; null if the request did not fail.'),
  command: computed(nullable(line()), 'A command that does it.'),
})
