import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'

/** Actions of users or of the server on a resource. */
type Change = 'created' | 'updated' | 'deleted'
/** Changes of a resource over time. */
type LifecycleEvent = 'expiring' | 'expired' | 'rejected'
export type EventAction = Change | LifecycleEvent

const verbs = { created: 'create', updated: 'update', deleted: 'delete' } as const
const changes = Object.keys(verbs) as readonly Change[]
/** What happens to resources without an operation of the API on them. */
const lifecycleEvents: Readonly<Record<string, readonly EventAction[]>> = {
  // Sign-ins, and rejected ones.
  dashboard_session: ['created', 'rejected'],
  passkey: ['created'],
  tls_certificate: ['expiring', 'expired'],
}

const typeOf = (name: string, what: EventAction): string => `${name}_${what}.v0`

/** The event for this action on this kind of resource; undefined for kinds without events. */
export function auditEvent(kind: Kind, what: EventAction): string | undefined {
  return kind.event === false || kind.live ? undefined : typeOf(kind.event ?? kind.name, what)
}

/** All event types of this kind of resource; actions that callers cannot take have none. */
export function auditEvents(kind: Kind): string[] {
  const possible = changes.filter(what => kind.verbs.includes(verbs[what]))
  return [...possible, ...(lifecycleEvents[kind.name] ?? [])].flatMap(what => auditEvent(kind, what) ?? [])
}

/** Events of the gateway about traffic and sessions; they are not written to the store. */
export const gatewayEvents: ReadonlySet<string> = new Set([
  'agent_session_start.v0',
  'agent_session_stop.v0',
  'http_request_complete.v0',
  'tcp_connection_closed.v0',
])

/**
 * Types of the public catalogue whose resources Adit does not have: subscriptions may name them, but they never occur.
 */
const foreignEvents = ['secret', 'vault'].flatMap(name => changes.map(what => typeOf(name, what)))

/** A captured request was sent again. It is recorded like a change, but nothing stored changes. */
export const REPLAYED = 'request_replayed.v0'

/** Every event type that a subscription may name. */
export const eventTypes: ReadonlySet<string> = new Set([
  ...Object.values(kinds).flatMap(auditEvents),
  REPLAYED,
  ...gatewayEvents,
  ...foreignEvents,
])
