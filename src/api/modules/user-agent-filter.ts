import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'

export const checkUserAgentFilter: ModuleRule = module => {
  for (const field of ['allow', 'deny']) {
    for (const value of module[field] as string[]) checkPattern(field, value)
  }
}

function checkPattern(field: string, value: string): void {
  try {
    RegExp(value, 'u')
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*: /, '') : 'unknown'
    fail('regex_bad', { field, value, reason })
  }
}
