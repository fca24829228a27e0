import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'
import { goRegex } from '#base/go-regex.ts'

export const checkUserAgentFilter: ModuleRule = module => {
  for (const field of ['allow', 'deny']) {
    for (const value of module[field] as string[]) {
      const made = goRegex(value)
      if ('reason' in made) fail('regex_bad', { field, value, reason: made.reason })
    }
  }
}
