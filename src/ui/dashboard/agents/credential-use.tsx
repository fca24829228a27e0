import type { JSX } from 'preact'
import { counted } from '#ui/format.ts'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { pageCount } from '#ui/dashboard/page-count.ts'
import { href } from '#ui/dashboard/router.ts'
import { Shown, Time } from '#ui/dashboard/shell/parts.tsx'

/** Usage has no changes. */
const USAGE_MS = 30_000

async function loadUse(id: string) {
  const filter = `obj.credential.id == ${JSON.stringify(id)}`
  const [sessions, usage] = await Promise.all([
    api.tunnel_sessions.list({ filter }),
    api.usage({ credential_id: id, window: '30d', points: 'false' }),
  ])
  const [series] = usage.series
  return {
    filter,
    sessions,
    requests: series?.requests ?? 0,
    last: series?.last_at,
  }
}

/** Who uses a credential now, and when its agents last had traffic. */
export function CredentialUse({ id }: { id: string }): JSX.Element {
  const loaded = useLoaded(`use of ${id}`, () => loadUse(id), {
    on: ({ kind }) => kind === 'tunnel_session',
    everyMs: USAGE_MS,
  })
  return (
    <section class="card" aria-label="Use">
      <h2>Use</h2>
      <Shown of={loaded}>
        {({ filter, sessions, requests, last }) => (
          <>
            <p class={`dot ${sessions.items.length > 0 ? 'on' : ''}`}>
              {sessions.items.length === 0 ? (
                'No agent is connected with it.'
              ) : (
                <a href={href(['tunnel_sessions'], { q: filter })}>
                  {pageCount(sessions)} {sessions.items.length === 1 ? 'agent is' : 'agents are'} connected
                  with it
                </a>
              )}
            </p>
            <p>
              {!last ? (
                'No traffic in the last 30 days.'
              ) : (
                <>
                  Last traffic in the hour of <Time at={last} />, {counted(requests, 'request')} in 30 days.
                </>
              )}
            </p>
          </>
        )}
      </Shown>
    </section>
  )
}
