import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'

export const checkTlsTermination: ModuleRule = module => {
  if (module['min_version'] !== null && module['terminate_at'] !== 'edge') {
    fail('min_version_upstream', { field: 'min_version' })
  }
}
