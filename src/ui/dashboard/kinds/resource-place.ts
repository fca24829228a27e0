import type { Collection } from '#contract/kinds/index.ts'
import { call } from '#ui/dashboard/api.ts'
import { kindOf, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'

const LIVE_MS = 3000

export interface ResourcePlace {
  readonly collection: Collection
  readonly id: string
  readonly parent: string | undefined
}

/** The arguments that name a resource in its path. */
export const addressOf = ({ id, parent }: ResourcePlace): string[] =>
  parent === undefined ? [id] : [parent, id]

export function useResource(at: ResourcePlace) {
  const kind = kindOf(at.collection)
  return useLoaded(
    `${at.collection} ${at.parent ?? ''} ${at.id}`,
    async () => (await call(at.collection, 'get', ...addressOf(at))) as Resource,
    { on: ({ id }) => id === at.id, ...(kind.live && { everyMs: LIVE_MS }) },
  )
}
