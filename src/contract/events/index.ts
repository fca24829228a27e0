import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'

/** What people, or the server itself, do to a resource. */
type Change = 'created' | 'updated' | 'deleted'
/** What befalls a resource when time passes. */
type Turn = 'expiring' | 'expired'
export type Happening = Change | Turn

const verbs = { created: 'create', updated: 'update', deleted: 'delete' } as const
const changes = Object.keys(verbs) as readonly Change[]
const turns: Readonly<Record<string, readonly Turn[]>> = { tls_certificate: ['expiring', 'expired'] }

const typeOf = (name: string, what: Happening): string => `${name}_${what}.v0`

/** The event that tells of this for this kind of resource; undefined for kinds without events. */
export function auditEvent(kind: Kind, what: Happening): string | undefined {
  return kind.event === false || kind.live ? undefined : typeOf(kind.event ?? kind.name, what)
}

/** All event types that tell of this kind of resource; what callers cannot do to it is not told. */
export function auditEvents(kind: Kind): string[] {
  const possible = changes.filter(what => kind.verbs.includes(verbs[what]))
  return [...possible, ...(turns[kind.name] ?? [])].flatMap(what => auditEvent(kind, what) ?? [])
}

/** What the gateway tells of traffic and sessions; it is not written to the store. */
export const gatewayEvents: ReadonlySet<string> = new Set([
  'agent_session_start.v0',
  'agent_session_stop.v0',
  'http_request_complete.v0',
  'tcp_connection_closed.v0',
])

/** Types of the public catalogue whose resources Adit does not have: they may be subscribed to, and never come. */
const foreignEvents = ['secret', 'vault'].flatMap(name => changes.map(what => typeOf(name, what)))

/** Every event type that a subscription may name. */
export const eventTypes: ReadonlySet<string> = new Set([
  ...Object.values(kinds).flatMap(auditEvents),
  ...gatewayEvents,
  ...foreignEvents,
])
