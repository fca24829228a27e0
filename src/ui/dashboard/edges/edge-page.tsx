import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { CaptureSwitch } from '#ui/dashboard/capture/capture-state.tsx'
import { BackendTree } from '#ui/dashboard/edges/backend-tree.tsx'
import { ExplainForm } from '#ui/dashboard/edges/explain.tsx'
import { ModuleChips } from '#ui/dashboard/edges/module-chips.tsx'
import { inMatchOrder } from '#ui/dashboard/edges/route-order.ts'
import { ResourceHead } from '#ui/dashboard/kinds/detail-page.tsx'
import type { ResourceLocator } from '#ui/dashboard/kinds/resource-locator.ts'
import { resourceHref } from '#ui/dashboard/kinds/resource.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'

type Edge = Awaited<ReturnType<typeof api.https_edges.get>>
type Route = Edge['routes'][number]

/** An HTTPS edge: where it listens, its routes in match order, and what each does. */
export function EdgePage({ id }: { id: string }): JSX.Element {
  const at: ResourceLocator = { collection: 'https_edges', id, parent: undefined }
  const loaded = useLoaded(`edge ${id}`, () => api.https_edges.get(id), {
    on: ({ kind, id: changed }) => changed === id || kind === 'https_edge_route',
  })
  return (
    <Shown of={loaded} title="HTTPS edge">
      {edge => (
        <>
          <ResourceHead at={at} resource={edge} reload={loaded.reload}>
            <CaptureSwitch target={{ edge_id: id }} what="this edge" />
          </ResourceHead>
          <HostPorts edge={edge} />
          <section class="card" aria-label="TLS">
            <h2>TLS, for all routes</h2>
            <ModuleChips at={at} resource={edge} label="the edge" />
          </section>
          <Routes edge={edge} />
          <ExplainForm url={firstUrl(edge)} hasHeading />
        </>
      )}
    </Shown>
  )
}

const urlOf = (hostPort: string): string => `https://${hostPort.replace(/:443$/, '')}/`

const firstUrl = ({ hostports }: Edge): string => {
  const first = hostports?.find(each => !each.startsWith('*'))
  return first === undefined ? '' : urlOf(first)
}

function HostPorts({ edge: { hostports } }: { edge: Edge }): JSX.Element {
  return (
    <section class="card" aria-label="Host ports">
      <h2>Host ports</h2>
      {(hostports ?? []).length === 0 ? (
        <p class="empty">This edge has no address yet. Edit it to add one, such as shop.example.com:443.</p>
      ) : (
        <ul class="values">
          {hostports?.map(each => (
            <li key={each}>
              {each.startsWith('*') ? (
                each
              ) : (
                <a href={urlOf(each)} target="_blank" rel="noreferrer">
                  {each}
                </a>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Routes({ edge: { id, routes } }: { edge: Edge }): JSX.Element {
  return (
    <section aria-label="Routes">
      <div class="page-head">
        <h2>Routes, in the order in which they are compared</h2>
        <a class="button" href={href(['https_edge_routes', 'new'], { parent: id })}>
          Add a route
        </a>
      </div>
      {routes.length === 0 && (
        <p class="empty">There is no route, so every request gets 404. Add a route for the path prefix /.</p>
      )}
      <ol class="routes">
        {inMatchOrder(routes).map(route => (
          <RouteCard key={route.id} edge={id} route={route} />
        ))}
      </ol>
    </section>
  )
}

function RouteCard({ edge, route }: { edge: string; route: Route }): JSX.Element {
  const at: ResourceLocator = { collection: 'https_edge_routes', id: route.id, parent: edge }
  const backend = route.backend?.backend?.id
  return (
    <li class="card">
      <div class="page-head">
        <h3 dir="auto">
          <a href={resourceHref('https_edge_routes', route.id, edge)}>{route.match}</a>{' '}
          <span class="dim">{route.match_type === 'exact_path' ? 'exact path' : 'path prefix'}</span>
        </h3>
        <div class="actions">
          <a href={href(['requests'], { filter: `route_id:${route.id}` })}>Requests</a>
          <a href={href(['protect'], { edge, route: route.id })}>Protect with sign-in</a>
        </div>
      </div>
      {route.capture && <p class="dot on">Capture on, by the option capture of the route</p>}
      {route.description !== '' && <p dir="auto">{route.description}</p>}
      <ModuleChips at={at} resource={route} label={`route ${route.match}`} />
      {backend === undefined ? (
        <p class="dot off">There is no backend: requests get an error. Add the module Backend.</p>
      ) : (
        <BackendTree id={backend} />
      )}
    </li>
  )
}
