import { auditEvents, REPLAYED } from '#contract/events/index.ts'
import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { tunnelSession } from '#contract/kinds/live.ts'
import { request } from '#contract/kinds/request.ts'

/** A user or bot whose permissions are checked. */
export interface Actor {
  readonly id: string
  readonly role: 'admin' | 'member'
}

/** `use`: refer to the resource from another one. `secrets`: read the secrets that the API returns. */
export type Right = 'read' | 'secrets' | 'use' | 'change'

/**
 * The only access rule, for requests, references and event delivery. Members are colleagues: they read each other's
 * resources, but neither change them nor read their secrets. An empty `owner` means that all members share the
 * resource.
 */
export function allows(actor: Actor, right: Right, kind: Kind, owner: string): boolean {
  if (actor.role === 'admin') return true
  if (kind.adminOnly) return false
  if (owner === actor.id) return true
  if (kind.owned) return false
  switch (right) {
    case 'read':
      return true
    case 'use':
      return owner === '' || kind.commonUse === true
    case 'change':
      return owner === ''
    case 'secrets':
      return false
  }
}

/** The owner of a stored resource; empty for one that all members share. */
export function ownerIn(body: Readonly<Record<string, unknown>>): string {
  const owner = body['owner_id']
  return typeof owner === 'string' ? owner : ''
}

/** The kind that an event is about: reading the kind is required to receive the event. */
const kindsByEvent: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...Object.values(kinds).flatMap((kind: Kind) =>
    auditEvents(kind).map((type): [string, Kind] => [type, kind]),
  ),
  ['agent_session_start.v0', tunnelSession],
  ['agent_session_stop.v0', tunnelSession],
  ['http_request_complete.v0', request],
  [REPLAYED, request],
  ['tcp_connection_closed.v0', request],
])

/** Whether the actor may get events of this type, at least for its own resources. */
export function allowsType(actor: Actor, type: string): boolean {
  const kind = kindsByEvent.get(type)
  return kind === undefined ? true : allows(actor, 'read', kind, actor.id)
}

/** Whether the actor may get this event. `object` is the resource in it. */
export function allowsEvent(actor: Actor, type: string, object: () => unknown): boolean {
  const kind = kindsByEvent.get(type)
  if (kind === undefined) return true
  if (actor.role === 'admin' || !kind.owned) return allows(actor, 'read', kind, '')
  return allows(actor, 'read', kind, ownerIn((object() ?? {}) as Record<string, unknown>))
}
