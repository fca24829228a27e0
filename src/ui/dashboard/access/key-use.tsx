import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { changeTitle } from '#ui/dashboard/events/audit-text.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { Shown, Time } from '#ui/dashboard/shell/parts.tsx'

/** The last change that was made with an API key. For admins, who may read the audit log. */
export const KeyUse = ({ id }: { id: string }): JSX.Element | null =>
  isAdmin.value ? <LastChangeWith id={id} /> : null

function LastChangeWith({ id }: { id: string }): JSX.Element {
  const filter = `obj.principal.credential.id == ${JSON.stringify(id)}`
  const loaded = useLoaded(`use of ${id}`, () => api.audit_events.list({ filter, limit: 1 }), {
    on: () => true,
  })
  return (
    <section class="card" aria-label="Use">
      <div class="page-head">
        <h2>Use</h2>
        <a href={href(['audit_events'], { q: filter })}>Changes with this key</a>
      </div>
      <Shown of={loaded}>
        {({ items: [last] }) => (
          <p>
            {last === undefined ? (
              'No recent change was made with it. Reads are not recorded.'
            ) : (
              <>
                Last change <Time at={last.occurred_at} /> from {last.principal?.ip ?? 'the server'}:{' '}
                <a href={href(['audit_events', last.id])}>{changeTitle(last.type)}</a>. Reads are not
                recorded.
              </>
            )}
          </p>
        )}
      </Shown>
    </section>
  )
}
