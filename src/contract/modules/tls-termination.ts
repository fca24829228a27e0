import { module } from '#contract/kind.ts'
import { also, oneOf } from '#contract/schema.ts'
import { computed, input, optional } from '#contract/shape.ts'

const minVersion = optional(
  also(oneOf('1.0', '1.1', '1.2', '1.3'), { refusal: 'min_version' }),
  'Minimum TLS version; default 1.2. TLS 1.0 and 1.1 are not supported: with them it is 1.2, too.',
)

/** For TLS edges, where TLS can also be terminated behind the edge. */
export const tlsTermination = module({
  name: 'tls_termination',
  doc: 'Where TLS is terminated.',
  fields: {
    terminate_at: input(
      also(oneOf('edge', 'agent', 'upstream'), { default: 'edge', refusal: 'terminate_at' }),
      'Where TLS is terminated: at the edge, at the agent, or at the upstream service.',
    ),
    min_version: minVersion,
  },
})

/** For HTTPS edges, which always terminate TLS themselves. */
export const tlsTerminationAtEdge = module({
  name: 'tls_termination_at_edge',
  doc: 'How the edge terminates TLS.',
  fields: { terminate_at: { ...computed(oneOf('edge')), fallback: 'edge' }, min_version: minVersion },
})
