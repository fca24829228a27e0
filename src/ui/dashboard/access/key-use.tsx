import type { JSX } from 'preact'
import { counted } from '#ui/format.ts'
import { api } from '#ui/dashboard/api.ts'
import { changeTitle } from '#ui/dashboard/events/audit-text.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { Shown, Time } from '#ui/dashboard/shell/parts.tsx'

const LIVE_MS = 30_000

const changesWith = (id: string): string => `obj.principal.credential.id == ${JSON.stringify(id)}`

interface Use {
  /** Absent if it was not used in the last 24 hours, of which the minutes are known. */
  readonly lastMinute: string | null | undefined
  readonly lastHour: string | null
  readonly requests: number
}

export type UseOfKeys = ReadonlyMap<string, Use>

/** As many series as one response has. */
const MAX_SERIES = 100

/** The use of these API keys in the last 30 days. */
export async function keyUses(ids: readonly string[]): Promise<UseOfKeys> {
  const uses: [string, Use][] = []
  for (let at = 0; at < ids.length; at += MAX_SERIES)
    uses.push(...(await usesOf(ids.slice(at, at + MAX_SERIES))))
  return new Map(uses)
}

async function usesOf(ids: readonly string[]): Promise<[string, Use][]> {
  const filters = { by: 'api_key', points: 'false', limit: String(MAX_SERIES), api_key_id: ids.join(',') }
  const [day, month] = await Promise.all([
    api.usage({ ...filters, window: '24h' }),
    api.usage({ ...filters, window: '30d' }),
  ])
  const minutes = new Map(day.series.map(series => [series.id, series.last_at]))
  return month.series.flatMap(({ id, last_at: lastHour, requests }) =>
    id === null ? [] : [[id, { lastMinute: minutes.get(id), lastHour, requests }]],
  )
}

export const LastUse = ({ use }: { use: Use | undefined }): JSX.Element => {
  const at = use?.lastMinute ?? use?.lastHour
  if (!use || !at) return <>Not used in the last 30 days.</>
  return (
    <>
      Last used {use.lastMinute ? '' : 'in the hour of '}
      <Time at={at} />, {counted(use.requests, 'request')} in 30 days.
    </>
  )
}

/** When an API key was last used, and the last change that was made with it. */
export function KeyUse({ id }: { id: string }): JSX.Element {
  const loaded = useLoaded(`use of ${id}`, () => keyUses([id]), { everyMs: LIVE_MS })
  return (
    <section class="card" aria-label="Use">
      <div class="page-head">
        <h2>Use</h2>
        {isAdmin.value && <a href={href(['audit_events'], { q: changesWith(id) })}>Changes with this key</a>}
      </div>
      <Shown of={loaded}>
        {uses => (
          <p>
            <LastUse use={uses.get(id)} />
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
