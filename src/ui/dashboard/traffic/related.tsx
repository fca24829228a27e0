import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import type { AuditEvent } from '#ui/dashboard/events/audit-text.ts'
import { ChangeLine } from '#ui/dashboard/events/change-line.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { pageCount } from '#ui/dashboard/page-count.ts'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'
import { Tabs, type TabContent } from '#ui/dashboard/shell/tabs.tsx'
import { RequestLines } from '#ui/dashboard/traffic/request-lines.tsx'
import type { EndedRequest } from '#contract/request-responder.ts'

/** More than these are not counted. */
const MAX_COUNT = 100
const SHOWN = 10

interface Related<Item> {
  readonly name: string
  readonly page: { readonly items: readonly Item[]; readonly next?: unknown }
  /** The list with all of them. */
  readonly href: string
}

async function requestsLike(name: string, field: string, value: string): Promise<Related<EndedRequest>> {
  const page = await api.requests.list({ [field]: value, limit: MAX_COUNT })
  return { name, page, href: href(['requests'], { filter: `${field}:${value}` }) }
}

async function changesOf(id: string): Promise<Related<AuditEvent>> {
  const page = await api.audit_events.list({ object_id: id, limit: MAX_COUNT })
  return { name: 'Audit', page, href: href(['audit_events'], { object_id: id }) }
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

const titled = ({ name, page }: Related<unknown>): string => `${name} (${pageCount(page)})`

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
                    <RequestLines requests={related.page.items.slice(0, SHOWN)} />
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
      {changes.page.items.slice(0, SHOWN).map(event => (
        <ChangeLine key={event.id} event={event} />
      ))}
    </ul>
    <a href={changes.href}>Show all</a>
  </>
)
