import type { JSX } from 'preact'
import { objectHref, objectId, objectName, type AuditEvent } from '#ui/dashboard/events/audit-text.ts'

/** The changed resource by its name, as a link while it exists. */
export function ChangedResource({ event }: { event: AuditEvent }): JSX.Element {
  const to = objectHref(event)
  const shared = { title: objectId(event), dir: 'auto' as const }
  return to === undefined ? (
    <span {...shared}>{objectName(event)}</span>
  ) : (
    <a href={to} {...shared}>
      {objectName(event)}
    </a>
  )
}
