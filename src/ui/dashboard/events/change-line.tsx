import type { ComponentChildren, JSX } from 'preact'
import { authorOf, changeTitle, type AuditEvent } from '#ui/dashboard/events/audit-text.ts'
import { href } from '#ui/dashboard/router.ts'
import { Time } from '#ui/dashboard/shell/parts.tsx'

/** One recorded change in a list. */
export const ChangeLine = (props: { event: AuditEvent; children?: ComponentChildren }): JSX.Element => {
  const { event } = props
  return (
    <li>
      <Time at={event.occurred_at} hasSeconds /> <span dir="auto">{authorOf(event)}</span>{' '}
      <a href={href(['audit_events', event.id])}>{changeTitle(event.type)}</a> {props.children}
    </li>
  )
}
