import { integer, line, nullable, number } from '#contract/schema.ts'
import { named } from '#contract/shape-schema.ts'
import { computed } from '#contract/shape.ts'

/** What a gateway knows of the link of an agent, besides what the agent's session shows. */
export const agentLink = named('agent_link', {
  arch: computed(
    nullable(line()),
    'The processor architecture that the agent reports; null if it reports none.',
  ),
  connections: computed(
    integer(1, 4),
    'Its connections: an Adit agent has one to each of two gateway processes if there are several.',
  ),
  round_trip_ms: computed(
    nullable(number(0, 1e12)),
    'Time for a heartbeat to the agent and back, measured every 5 seconds; null before the first, and for SSH.',
  ),
})
