import { PatternBudget } from '#base/regex/pattern-budget.ts'
import { module } from '#contract/kind.ts'
import { line, listOf } from '#contract/schema.ts'
import { input } from '#contract/shape.ts'

/** For all patterns of a filter in total: a User-Agent of 1024 characters is matched in about 10 ms at worst. */
export const userAgentBudget = (): PatternBudget => new PatternBudget(1024)

const patterns = listOf(line({ maxBytes: 1024 }), { maxItems: 100 })

export const userAgentFilter = module({
  name: 'user_agent_filter',
  doc: 'Filters by the User-Agent header. All patterns may have about 1024 steps in total: a character or class is one step, a Unicode class such as \\p{L} 50 more, x{1,50} is 50 copies of x, and 8 characters of a pattern that is plain text are one step.',
  fields: {
    allow: input(patterns, 'Regular expressions; a match is allowed.'),
    deny: input(patterns, 'Regular expressions; a match is denied unless an allow pattern matches.'),
  },
})
