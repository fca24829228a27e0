import type { JSX } from 'preact'
import { authorOf, changeTitle, type AuditEvent } from '#ui/dashboard/events/audit-text.ts'
import { ChangedResource } from '#ui/dashboard/events/changed-resource.tsx'
import { href } from '#ui/dashboard/router.ts'
import { Time } from '#ui/dashboard/shell/parts.tsx'
import { TableHead } from '#ui/dashboard/shell/table-head.tsx'

/** Recorded changes: what, by whom, when and from where. */
export const AuditTable = ({ items }: { items: readonly AuditEvent[] }): JSX.Element => (
  <div class="table-box" tabIndex={0} role="region" aria-label="Audit events">
    <table>
      <TableHead columns={['Change', 'By', 'Resource', 'Time', 'Address']} />
      <tbody>
        {items.map(event => (
          <tr key={event.id}>
            <th scope="row">
              <a href={href(['audit_events', event.id])}>{changeTitle(event.type)}</a>
            </th>
            <td dir="auto" data-title="By">
              {authorOf(event)}
            </td>
            <td data-title="Resource">
              <ChangedResource event={event} />
            </td>
            <td data-title="Time">
              <Time at={event.occurred_at} hasSeconds />
            </td>
            <td data-title="Address">{event.principal?.ip ?? '–'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
