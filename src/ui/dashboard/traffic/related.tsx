import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { authorOf, changeTitle, type AuditEvent } from '#ui/dashboard/events/audit-text.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { Shown, Time } from '#ui/dashboard/shell/parts.tsx'
import { Tabs, type TabContent } from '#ui/dashboard/shell/tabs.tsx'
import { RequestLines } from '#ui/dashboard/traffic/request-lines.tsx'
import type { EndedRequest } from '#ui/dashboard/traffic/request-text.ts'

/** More than these are not counted. */
const MAX_COUNT = 100
const SHOWN = 10

interface Related<Item> {
  readonly name: string
  readonly items: readonly Item[]
  readonly hasMore: boolean
  /** The list with all of them. */
  readonly href: string
}

async function requestsLike(name: string, field: string, value: string): Promise<Related<EndedRequest>> {
  const { items, next } = await api.requests.list({ [field]: value, limit: MAX_COUNT })
  const to = href(['requests'], { filter: `${field}:${value}` })
  return { name, items, hasMore: next !== undefined, href: to }
}

async function changesOf(id: string): Promise<Related<AuditEvent>> {
  const { items, next } = await api.audit_events.list({ object_id: id, limit: MAX_COUNT })
  return {
    name: 'Audit',
    items,
    hasMore: next !== undefined,
    href: href(['audit_events'], { object_id: id }),
  }
}

async function loadRelated({ ip, host, route_id: route }: EndedRequest) {
  const [requests, changes] = await Promise.all([
    Promise.all([
      requestsLike('Same client', 'ip', ip),
      requestsLike('Same host', 'host', host),
      ...(route === null ? [] : [requestsLike('Same route', 'route_id', route)]),
    ]),
    route !== null && isAdmin.value ? changesOf(route) : undefined,
  ])
  return { requests, changes }
}

const titled = ({ name, items, hasMore }: Related<unknown>): string =>
  `${name} (${hasMore ? `more than ${items.length}` : items.length})`

/** Other requests of the client, host and route, and the changes of the route; with how many there are. */
export function RelatedTabs({ request }: { request: EndedRequest }): JSX.Element {
  const loaded = useLoaded(`related ${request.id}`, () => loadRelated(request))
  return (
    <section class="card" aria-label="Related">
      <Shown of={loaded}>
        {({ requests, changes }) => (
          <Tabs
            label="Related"
            tabs={[
              ...requests.map((related): TabContent => ({
                name: titled(related),
                content: () => (
                  <>
                    <RequestLines requests={related.items.slice(0, SHOWN)} />
                    <a href={related.href}>Show live</a>
                  </>
                ),
              })),
              ...(changes ? [{ name: titled(changes), content: () => <ChangeLines of={changes} /> }] : []),
            ]}
          />
        )}
      </Shown>
    </section>
  )
}

const ChangeLines = ({ of: changes }: { of: Related<AuditEvent> }): JSX.Element => (
  <>
    <ul class="changes">
      {changes.items.slice(0, SHOWN).map(event => (
        <li key={event.id}>
          <Time at={event.occurred_at} /> <span dir="auto">{authorOf(event)}</span>{' '}
          <a href={href(['audit_events', event.id])}>{changeTitle(event.type)}</a>
        </li>
      ))}
    </ul>
    <a href={changes.href}>Show all</a>
  </>
)
