import { titleOf } from '#contract/names.ts'
import type { api } from '#ui/dashboard/api.ts'
import { hrefOfId, kindOfId, nameOf, text } from '#ui/dashboard/kinds/resource.ts'
import { href } from '#ui/dashboard/router.ts'

export type AuditEvent = Awaited<ReturnType<typeof api.audit_events.get>>

/** `ip_policy_created.v0` becomes "IP policy created". */
export const changeTitle = (type: string): string => titleOf(type.replace(/\.v\d+$/, ''))

export const authorOf = ({ principal }: AuditEvent): string => principal?.subject ?? 'the server'

export const objectId = ({ object }: AuditEvent): string => text(object['id'])

/** What the changed resource was called after the change; its id if it has no name. */
export function objectName(event: AuditEvent): string {
  const id = objectId(event)
  const kind = kindOfId(id)
  return kind ? nameOf(kind, event.object) : id
}

const isDeletion = ({ type }: AuditEvent): boolean => /_deleted\.v\d+$/.test(type)

/** Whether the resource was there before, and still is. */
export const isUpdate = ({ type }: AuditEvent): boolean => /_updated\.v\d+$/.test(type)

/** The page of the changed resource, unless it is deleted. */
export function objectHref(event: AuditEvent): string | undefined {
  if (isDeletion(event)) return undefined
  const [id, edge] = [objectId(event), text(event.object['edge_id'])]
  return edge === '' ? hrefOfId(id) : href(['https_edge_routes', id], { parent: edge })
}

/** The traffic that the changed resource handles, if it does. */
export function trafficHref(event: AuditEvent): string | undefined {
  const id = objectId(event)
  if (isDeletion(event)) return undefined
  if (event.type.startsWith('https_edge_route_')) return href(['requests'], { filter: `route_id:${id}` })
  return /^(https|tls|tcp)_edge_/.test(event.type)
    ? href(['requests'], { filter: `edge_id:${id}` })
    : undefined
}
