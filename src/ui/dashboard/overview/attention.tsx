import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { ChangeLine } from '#ui/dashboard/events/change-line.tsx'
import { ChangedResource } from '#ui/dashboard/events/changed-resource.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'

const LIVE_MS = 15_000
const MAX_CHANGES = 8

interface Concern {
  readonly text: string
  readonly href: string
}

async function loadConcerns(): Promise<Concern[]> {
  const [deliveries, domains] = await Promise.all([api.event_deliveries.list(), api.reserved_domains.list()])
  return [
    ...deliveries.items.flatMap(({ id, failing_since: since, last_error: error, waiting }): Concern[] =>
      since === null
        ? []
        : [
            {
              text: `Delivery of events fails since ${since}, ${waiting} are waiting: ${error ?? ''}`,
              href: href(['event_deliveries', id]),
            },
          ],
    ),
    ...domains.items.flatMap(({ id, domain, certificate_management_status: status }): Concern[] => {
      const message = status?.provisioning_job?.msg ?? ''
      return message === '' ? [] : [{ text: `${domain}: ${message}`, href: href(['reserved_domains', id]) }]
    }),
  ]
}

/** Deliveries that fail and certificates that are not issued. */
export function Attention(): JSX.Element {
  const loaded = useLoaded('attention', loadConcerns, {
    on: ({ kind }) => kind === 'reserved_domain',
    everyMs: LIVE_MS,
  })
  return (
    <Shown of={loaded}>
      {concerns =>
        concerns.length > 0 && (
          <section class="box warn" aria-label="Needs attention">
            <h2>Needs attention ({concerns.length})</h2>
            <ul class="values">
              {concerns.map(concern => (
                <li key={concern.href}>
                  <a href={concern.href}>{concern.text}</a>
                </li>
              ))}
            </ul>
          </section>
        )
      }
    </Shown>
  )
}

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
