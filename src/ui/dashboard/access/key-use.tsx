import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { changeTitle } from '#ui/dashboard/events/audit-text.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { Shown, Time } from '#ui/dashboard/shell/parts.tsx'

const LIVE_MS = 30_000

const changesWith = (id: string): string => `obj.principal.credential.id == ${JSON.stringify(id)}`

async function loadUse(id: string) {
  const [day, month] = await Promise.all([
    api.usage({ api_key_id: id, window: '24h' }),
    api.usage({ api_key_id: id, window: '30d' }),
  ])
  const lastIn = ({ series: [found] }: typeof day): string | undefined => found?.points?.start.at(-1)
  return {
    lastMinute: lastIn(day),
    lastHour: lastIn(month),
    requests: month.series[0]?.requests ?? 0,
  }
}

/** When an API key was last used, and the last change that was made with it. */
export function KeyUse({ id }: { id: string }): JSX.Element {
  const loaded = useLoaded(`use of ${id}`, () => loadUse(id), { everyMs: LIVE_MS })
  return (
    <section class="card" aria-label="Use">
      <div class="page-head">
        <h2>Use</h2>
        {isAdmin.value && <a href={href(['audit_events'], { q: changesWith(id) })}>Changes with this key</a>}
      </div>
      <Shown of={loaded}>
        {({ lastMinute, lastHour, requests }) => (
          <p>
            {lastHour === undefined ? (
              'Not used in the last 30 days.'
            ) : (
              <>
                Last used {lastMinute === undefined && 'in the hour of '}
                <Time at={lastMinute ?? lastHour} />, {requests.toLocaleString()} requests in 30 days.
              </>
            )}
          </p>
        )}
      </Shown>
      {isAdmin.value && <LastChangeWith id={id} />}
    </section>
  )
}

/** For admins, who may read the audit log. */
function LastChangeWith({ id }: { id: string }): JSX.Element {
  const loaded = useLoaded(
    `change with ${id}`,
    () => api.audit_events.list({ filter: changesWith(id), limit: 1 }),
    { on: () => true },
  )
  return (
    <Shown of={loaded}>
      {({ items: [last] }) => (
        <p>
          {last === undefined ? (
            'No recent change was made with it.'
          ) : (
            <>
              Last change <Time at={last.occurred_at} /> from {last.principal?.ip ?? 'the server'}:{' '}
              <a href={href(['audit_events', last.id])}>{changeTitle(last.type)}</a>.
            </>
          )}
        </p>
      )}
    </Shown>
  )
}
