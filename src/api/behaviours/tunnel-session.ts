import type { ResourceHooks } from '#api/resource-hooks.ts'
import { fail } from '#base/errors.ts'
import { isId } from '#base/ids.ts'

export const tunnelSession: ResourceHooks = {
  liveQueries: {
    link: async ({ id }, { live }) => (isId(id) ? await live.agentLink(id) : undefined) ?? fail('not_found'),
  },
}
