import type { JSX } from 'preact'
import { ApiError } from '#client/errors.ts'
import type { FormTarget } from '#ui/dashboard/access/protect.ts'
import { counted } from '#ui/format.ts'
import { api } from '#ui/dashboard/api.ts'
import { Confirmed } from '#ui/dashboard/kinds/confirm.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { pageCount } from '#ui/dashboard/page-count.ts'
import { href } from '#ui/dashboard/router.ts'
import { Shown, toast } from '#ui/dashboard/shell/parts.tsx'

/** The list filter for the sessions at a target, or at one route of it. */
function sessionsAt(target: FormTarget, route: string): string {
  if (target.type === 'edge') return `obj.route.id == ${JSON.stringify(route)}`
  // The port is that of the client's URL, which a load balancer may have changed.
  const origin = `https://${new URL(target.url).hostname}`
  return `obj.public_url == ${JSON.stringify(origin)} || obj.public_url.startsWith(${JSON.stringify(`${origin}:`)})`
}

/** Ends a session. One that has ended meanwhile is not an error. */
async function end(id: string): Promise<void> {
  try {
    await api.application_sessions.delete(id)
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error
  }
}

/** Ends the sessions there are. Those that begin meanwhile stay: a provider may sign a user in again at once. */
async function endAll(filter: string): Promise<number> {
  let count = 0
  for await (const { id } of api.application_sessions.all({ filter })) {
    await end(id)
    count++
  }
  return count
}

/** How many users are signed in at a target, and how to end their sessions. */
export function SignedIn({ target, route }: { target: FormTarget; route: string }): JSX.Element {
  const filter = sessionsAt(target, route)
  const loaded = useLoaded(`sessions ${filter}`, () => api.application_sessions.list({ filter }), {
    on: ({ kind }) => kind === 'application_session',
  })
  return (
    <section class="card" aria-label="Sessions">
      <div class="page-head">
        <h2>Signed in now</h2>
        <a href={href(['application_sessions'], { q: filter })}>Sessions</a>
      </div>
      <Shown of={loaded}>
        {page => (
          <div class="actions">
            <span>
              {pageCount(page)} {page.items.length === 1 ? 'session' : 'sessions'}
            </span>
            {page.items.length > 0 && (
              <Confirmed
                label="End all"
                isDangerous
                question="End all of these sessions? Their users have to sign in again."
                act={async () => {
                  toast(`${counted(await endAll(filter), 'session')} ended`)
                  loaded.reload()
                }}
              />
            )}
          </div>
        )}
      </Shown>
    </section>
  )
}
