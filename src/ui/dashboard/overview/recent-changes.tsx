import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { ChangeLine } from '#ui/dashboard/events/change-line.tsx'
import { ChangedResource } from '#ui/dashboard/events/changed-resource.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'

const MAX_CHANGES = 8

/** The last changes with their author; for admins, who alone may read the audit log. */
export function RecentChanges(): JSX.Element | null {
  return isAdmin.value ? <Changes /> : null
}

function Changes(): JSX.Element {
  const loaded = useLoaded('changes', () => api.audit_events.list({ limit: MAX_CHANGES }), { on: () => true })
  return (
    <section class="card" aria-label="Recent changes">
      <div class="page-head">
        <h2>Recent changes</h2>
        <a href={href(['audit_events'])}>Audit log</a>
      </div>
      <Shown of={loaded}>
        {({ items }) => (
          <ul class="changes">
            {items.map(event => (
              <ChangeLine key={event.id} event={event}>
                <ChangedResource event={event} />
              </ChangeLine>
            ))}
          </ul>
        )}
      </Shown>
    </section>
  )
}
