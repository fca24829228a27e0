import { titleOf } from '#contract/names.ts'
import { api, call } from '#ui/dashboard/api.ts'
import { collectionOfId, kindOf, nameOf, type Resource } from '#ui/dashboard/kinds/resource.ts'
import type { EndedRequest } from '#contract/request-responder.ts'

/** The names of the resources that served a request, by id, without those that were deleted meanwhile. */
export type ResourceNames = ReadonlyMap<string, string>

/** The name of a resource; the kind of one without a name. */
async function nameById(id: string): Promise<[string, string][]> {
  const collection = collectionOfId(id)
  if (collection === undefined) return []
  const kind = kindOf(collection)
  const name = nameOf(kind, (await call(collection, 'get', id)) as Resource)
  return [[id, name === id ? titleOf(kind.name) : name]]
}

async function routeById(edge: string, id: string): Promise<[string, string][]> {
  return [[id, (await api.https_edge_routes.get(edge, id)).match]]
}

export async function resourceNames({
  edge_id: edge,
  route_id: route,
  backend_id: backend,
}: EndedRequest): Promise<ResourceNames> {
  const found = await Promise.allSettled([
    ...[edge, backend].flatMap(id => (id === null ? [] : nameById(id))),
    ...(edge === null || route === null ? [] : [routeById(edge, route)]),
  ])
  return new Map(found.flatMap(each => (each.status === 'fulfilled' ? each.value : [])))
}
