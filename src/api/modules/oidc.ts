import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'
import type { oidc } from '#contract/modules/oidc.ts'
import type { Stored } from '#contract/shape.ts'

export const checkOidc: ModuleRule = module => {
  const { issuer } = module as Stored<typeof oidc.shape>
  const url = URL.parse(issuer)
  const web = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!web || url.username !== '' || url.search !== '' || url.hash !== '')
    fail('oidc_issuer', { field: 'issuer' })
}
