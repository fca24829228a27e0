import { module } from '#contract/kind.ts'
import { line, listOf } from '#contract/schema.ts'
import { input } from '#contract/shape.ts'

const patterns = listOf(line({ maxBytes: 1024 }), { maxItems: 100 })

export const userAgentFilter = module({
  name: 'user_agent_filter',
  doc: 'Decides by the User-Agent header.',
  fields: {
    allow: input(patterns, 'Regular expressions; a match is let through.'),
    deny: input(patterns, 'Regular expressions; a match that nothing allows is refused.'),
  },
})
