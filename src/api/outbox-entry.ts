import type { Call } from '#api/call.ts'
import { linker } from '#api/uris.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { ResourceBody } from '#contract/body.ts'
import { hasPrefixOf } from '#contract/kind.ts'
import type { PrincipalSource } from '#contract/kinds/audit-event.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'
import type { Write } from '#store/store.ts'

/** The outbox entry of an event. */
export function outboxEntry(type: string, object: ResourceBody, call: Call): Write {
  const id = newId('ev', call.now())
  const at = timestamp(call.now())
  const envelope = {
    event_id: id,
    event_type: type,
    event_timestamp: at,
    account_id: call.info.accountId,
    principal: principalOf(call),
    object,
  }
  return { op: 'event', event: { id, type, at, body: JSON.stringify(envelope) } }
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
