import type { Kind } from '#contract/kind.ts'
import type { Collection } from '#contract/kinds/index.ts'
import { isOnlineKind } from '#contract/kinds/live.ts'
import { call } from '#ui/dashboard/api.ts'
import { kindOf, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { useLoaded, type Reloading } from '#ui/dashboard/loaded.ts'

/** Of live kinds without changes, such as nodes. */
const LIVE_MS = 3000

/** Tunnels and the backends that they serve show each other. */
const shownBy: Readonly<Record<string, string>> = {
  tunnel: 'tunnel_group_backend',
  tunnel_group_backend: 'tunnel',
}

/** When a list of a kind, or one resource of it, is to be loaded again. */
export const reloading = (kind: Kind, id?: string): Reloading => ({
  on: change =>
    change.kind === shownBy[kind.name] || (id === undefined ? change.kind === kind.name : change.id === id),
  ...(kind.live && !isOnlineKind(kind.name) && { everyMs: LIVE_MS }),
})

export interface ResourceLocator {
  readonly collection: Collection
  readonly id: string
  readonly parent: string | undefined
}

/** The arguments that name a resource in its path. */
export const addressOf = ({ id, parent }: ResourceLocator): string[] =>
  parent === undefined ? [id] : [parent, id]

export function useResource(at: ResourceLocator) {
  const kind = kindOf(at.collection)
  return useLoaded(
    `${at.collection} ${at.parent ?? ''} ${at.id}`,
    async () => (await call(at.collection, 'get', ...addressOf(at))) as Resource,
    reloading(kind, at.id),
  )
}
