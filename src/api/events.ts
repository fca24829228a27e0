import type { Call } from '#api/call.ts'
import { show } from '#api/showing.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { Body } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { auditEvent, type Happening } from '#contract/events/index.ts'
import type { Write } from '#store/store.ts'

/** The outbox entry that tells of a change; none for kinds that have no events. */
export async function eventOf(kind: Kind, body: Body, what: Happening, call: Call): Promise<Write[]> {
  const type = auditEvent(kind, what)
  if (type === undefined) return []
  const { principal } = call
  const id = newId('ev', call.now())
  const at = timestamp(call.now())
  const envelope = {
    event_id: id,
    event_type: type,
    event_timestamp: at,
    account_id: call.facts.accountId,
    principal: {
      id: principal.id,
      subject: principal.subject,
      source: 'API',
      ip: call.ip === '' ? null : call.ip,
      // What the server does by itself needs no key.
      credential:
        principal.keyId === ''
          ? null
          : { id: principal.keyId, uri: `${call.base}/api_keys/${principal.keyId}` },
    },
    object: await show(kind, { ...body }, call, 'mask'),
  }
  return [{ op: 'event', event: { id, type, at, body: JSON.stringify(envelope) } }]
}
