import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { authorOf, changeTitle } from '#ui/dashboard/events/audit-text.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { Time } from '#ui/dashboard/shell/parts.tsx'

/** Who changed the route of a failed request last, which is often the reason. For admins, who may read the audit log. */
export function LastChange({ route }: { route: string }): JSX.Element | null {
  const { value } = useLoaded(`last change of ${route}`, () =>
    api.audit_events.list({ object_id: route, limit: 1 }),
  )
  const last = value?.items[0]
  if (last === undefined) return null
  return (
    <p>
      The route was last changed <Time at={last.occurred_at} /> by <span dir="auto">{authorOf(last)}</span>:{' '}
      <a href={href(['audit_events', last.id])}>{changeTitle(last.type)}</a>
    </p>
  )
}
