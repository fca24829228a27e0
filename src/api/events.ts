import type { Call } from '#api/call.ts'
import { showMasked } from '#api/showing.ts'
import { linker } from '#api/uris.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { ResourceBody } from '#contract/body.ts'
import { hasPrefixOf, type Kind } from '#contract/kind.ts'
import { auditEvent, type Happening } from '#contract/events/index.ts'
import type { PrincipalSource } from '#contract/kinds/audit-event.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'
import type { Write } from '#store/store.ts'

/** The outbox entry of a change; none for kinds without events. */
export async function eventOf(kind: Kind, body: ResourceBody, what: Happening, call: Call): Promise<Write[]> {
  const type = auditEvent(kind, what)
  if (type === undefined) return []
  const id = newId('ev', call.now())
  const at = timestamp(call.now())
  const envelope = {
    event_id: id,
    event_type: type,
    event_timestamp: at,
    account_id: call.info.accountId,
    principal: principalOf(call),
    object: await showMasked(kind, { ...body }, call),
  }
  return [{ op: 'event', event: { id, type, at, body: JSON.stringify(envelope) } }]
}

/** The actor of a change, in event form. The server itself has no key. */
function principalOf({ principal, ip, base }: Call) {
  const { id, subject, keyId } = principal
  const isOwn = keyId === ''
  const source: PrincipalSource = isOwn
    ? 'System'
    : hasPrefixOf(dashboardSession, keyId)
      ? 'Dashboard'
      : 'API'
  return {
    id,
    subject,
    source,
    ip: ip === '' ? null : ip,
    credential: isOwn ? null : linker(base)(keyId),
  }
}
