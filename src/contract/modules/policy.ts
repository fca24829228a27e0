import { module } from '#contract/kind.ts'
import { anything, line, listOf, object, partly, text } from '#contract/schema.ts'
import { input, sensitive } from '#contract/shape.ts'

const action = object({ type: line({ maxBytes: 255 }), config: partly(anything()) })
const rules = listOf(
  object({
    name: partly(line({ maxBytes: 255 })),
    expressions: partly(listOf(text({ maxBytes: 4096 }), { maxItems: 100 })),
    actions: partly(listOf(action, { maxItems: 100 })),
  }),
  { maxItems: 100 },
)

/** The older form of a traffic policy, stored as given. */
export const policy = module({
  name: 'policy',
  doc: 'A traffic policy as lists of rules.',
  fields: {
    inbound: sensitive(input(rules, 'Rules for requests.'), 'value'),
    outbound: sensitive(input(rules, 'Rules for responses.'), 'value'),
  },
})

export const trafficPolicy = module({
  name: 'traffic_policy',
  doc: 'A traffic policy as JSON or YAML text.',
  fields: {
    value: sensitive(
      input(text({ maxBytes: 65_536, refusals: { maxBytes: 'policy_text' } }), 'The policy.'),
      'value',
    ),
  },
})
