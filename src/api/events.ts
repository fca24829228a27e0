import type { Call } from '#api/call.ts'
import { outboxEntry } from '#api/outbox-entry.ts'
import { showMasked } from '#api/showing.ts'
import type { ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { auditEvent, type EventAction } from '#contract/events/index.ts'
import type { Write } from '#store/store.ts'

/** The outbox entry of a change; none for kinds without events. */
export async function eventOf(
  kind: Kind,
  body: ResourceBody,
  what: EventAction,
  call: Call,
): Promise<Write[]> {
  const type = auditEvent(kind, what)
  if (type === undefined) return []
  return [outboxEntry(type, await showMasked(kind, { ...body }, call), call)]
}
