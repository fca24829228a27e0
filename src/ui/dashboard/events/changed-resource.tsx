import type { JSX } from 'preact'
import { objectHref, objectId, type AuditEvent } from '#ui/dashboard/events/audit-text.ts'

/** The changed resource, as a link while it exists. */
export function ChangedResource({ event }: { event: AuditEvent }): JSX.Element {
  const to = objectHref(event)
  return to === undefined ? <code>{objectId(event)}</code> : <a href={to}>{objectId(event)}</a>
}
