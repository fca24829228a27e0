import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'
import { goRegex } from '#base/go-regex.ts'
import { userAgentBudget } from '#contract/modules/user-agent-filter.ts'

export const checkUserAgentFilter: ModuleRule = module => {
  const budget = userAgentBudget()
  for (const field of ['allow', 'deny']) {
    for (const value of module[field] as string[]) {
      const made = goRegex(value, budget)
      if (!('reason' in made)) continue
      if (made.isTooLarge) fail('patterns_large', { field, reason: made.reason })
      fail('regex_bad', { field, value, reason: made.reason })
    }
  }
}
