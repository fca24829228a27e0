import { module } from '#contract/kind.ts'
import { also, oneOf } from '#contract/schema.ts'
import { computed, input, optional } from '#contract/shape.ts'

const minVersion = optional(
  also(oneOf('1.0', '1.1', '1.2', '1.3'), { refusal: 'min_version' }),
  'The oldest TLS version accepted; 1.2 when absent. TLS 1.0 and 1.1 are never spoken: with them it is 1.2, too.',
)

/** For TLS edges, where TLS can also end behind the edge. */
export const tlsTermination = module({
  name: 'tls_termination',
  doc: 'Where TLS ends.',
  fields: {
    terminate_at: input(
      also(oneOf('edge', 'agent', 'upstream'), { default: 'edge', refusal: 'terminate_at' }),
      'Where TLS ends: at the edge, at the agent, or at the upstream service.',
    ),
    min_version: minVersion,
  },
})

/** For HTTPS edges, which always end TLS themselves. */
export const tlsTerminationAtEdge = module({
  name: 'tls_termination_at_edge',
  doc: 'How TLS ends at the edge.',
  fields: { terminate_at: { ...computed(oneOf('edge')), fallback: 'edge' }, min_version: minVersion },
})
