import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'

export type Happening = 'created' | 'updated' | 'deleted'
const happenings: readonly Happening[] = ['created', 'updated', 'deleted']

const typeOf = (name: string, what: Happening): string => `${name}_${what}.v0`

/** The event that a change of this kind of resource gives; undefined for kinds without events. */
export function auditEvent(kind: Kind, what: Happening): string | undefined {
  return kind.event === false || kind.live ? undefined : typeOf(kind.event ?? kind.name, what)
}

/** What the gateway tells of traffic and sessions. */
const gatewayEvents = [
  'agent_session_start.v0',
  'agent_session_stop.v0',
  'http_request_complete.v0',
  'tcp_connection_closed.v0',
] as const

/** Types of the public catalogue whose resources Adit does not have: they may be subscribed to, and never come. */
const foreignEvents = ['secret', 'vault'].flatMap(name => happenings.map(what => typeOf(name, what)))

/** Every event type that a subscription may name. */
export const eventTypes: ReadonlySet<string> = new Set([
  ...Object.values(kinds).flatMap(kind => happenings.flatMap(what => auditEvent(kind, what) ?? [])),
  ...gatewayEvents,
  ...foreignEvents,
])
