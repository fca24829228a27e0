import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { isOnlineKind } from '#contract/kinds/live.ts'
import type { ServerStatus } from '#contract/status.ts'
import { byteSize } from '#ui/format.ts'
import { ConnectAgent } from '#ui/dashboard/agents/connect.tsx'
import { api } from '#ui/dashboard/api.ts'
import { follow } from '#ui/dashboard/live.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { BusiestEndpoints } from '#ui/dashboard/overview/busiest.tsx'
import { RequestCounter, type Figures } from '#ui/dashboard/overview/figures.ts'
import { RecentChanges } from '#ui/dashboard/overview/recent-changes.tsx'
import { ServerState, useServerState } from '#ui/dashboard/overview/server-state.tsx'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { FigureList } from '#ui/dashboard/shell/figure-list.tsx'
import { lazy } from '#ui/dashboard/shell/lazy.tsx'
import { pageCount } from '#ui/dashboard/page-count.ts'
import { PageHead, Shown } from '#ui/dashboard/shell/parts.tsx'
import { milliseconds } from '#ui/dashboard/traffic/request-text.ts'

const LineChart = lazy(async () => (await import('#ui/dashboard/shell/line-chart.tsx')).LineChart)

async function loadPages() {
  const [endpoints, agents, domains] = await Promise.all([
    api.endpoints.list(),
    api.tunnel_sessions.list(),
    api.reserved_domains.list(),
  ])
  return {
    isEmpty: endpoints.items.length === 0 && agents.items.length === 0,
    endpoints,
    agents,
    domains,
  }
}

type Pages = Awaited<ReturnType<typeof loadPages>>

/** The tiles; the status knows the numbers beyond a page, for members only of their own. */
function tilesOf({ endpoints, agents, domains }: Pages, status: ServerStatus | undefined) {
  const counted = (page: Pages['endpoints' | 'agents'], count: number | undefined): string =>
    page.next === undefined || count === undefined ? pageCount(page) : count.toLocaleString()
  const online = isAdmin.value ? status?.online : undefined
  const affected = new Set(
    status?.problems.flatMap(({ resource_id: id }) => (id?.startsWith('rd_') ? [id] : [])),
  )
  return [
    { name: 'Endpoints online', value: counted(endpoints, online?.endpoints), to: 'endpoints' },
    { name: 'Agents connected', value: counted(agents, online?.agents), to: 'tunnel_sessions' },
    { name: 'Domains', value: pageCount(domains), attention: affected.size, to: 'reserved_domains' },
  ]
}

/** What is online, what it does, and what needs attention. */
export function OverviewPage(): JSX.Element {
  const status = useServerState()
  return (
    <>
      <PageHead title="Overview">
        <a class="button" href={href(['reserved_domains', 'new'])}>
          Add a domain
        </a>
        <a class="button" href={href(['https_edges', 'new'])}>
          New edge
        </a>
        <a class="button primary" href={href(['connect'])}>
          Connect an agent
        </a>
      </PageHead>
      <Tiles status={status} />
      {status && <ServerState status={status} />}
      <LiveTrafficCard />
      <BusiestEndpoints />
      <RecentChanges />
    </>
  )
}

/** The first part that loads: browsers have six connections to a server, and the other parts need more than that. */
function Tiles({ status }: { status: ServerStatus | undefined }): JSX.Element {
  const loaded = useLoaded('overview', loadPages, {
    on: ({ kind }) => kind === 'reserved_domain' || isOnlineKind(kind),
  })
  return (
    <Shown of={loaded}>
      {pages => (
        <>
          <ul class="tiles">
            {tilesOf(pages, status).map(({ name, value, attention = 0, to }) => (
              <li key={name}>
                <a href={href([to])}>
                  <strong>{value}</strong> {name}
                  {attention > 0 && <span class="dot">{attention} of them need attention</span>}
                </a>
              </li>
            ))}
          </ul>
          <FirstTunnel isEmpty={pages.isEmpty} />
        </>
      )}
    </Shown>
  )
}

/** Leads to the first tunnel. It stays until the page is left, so that the result is shown there. */
function FirstTunnel({ isEmpty }: { isEmpty: boolean }): JSX.Element | null {
  const [isShown] = useState(isEmpty)
  if (!isShown) return null
  return (
    <section class="card" aria-label="First tunnel">
      <h2>Open your first tunnel</h2>
      {!isEmpty && (
        <p class="dot on" role="status">
          Connected: <a href={href(['endpoints'])}>show the endpoints</a>
        </p>
      )}
      <ConnectAgent />
    </section>
  )
}

function useFigures(): Figures {
  const [counter] = useState(() => new RequestCounter(Date.now()))
  const [figures, setFigures] = useState(() => counter.figures(Date.now()))
  useEffect(() => {
    const ends = new AbortController()
    void follow(signal => api.streams.requests({}, { signal }), {
      item: request => counter.add(request, Date.now()),
      state: () => undefined,
      signal: ends.signal,
    })
    const timer = setInterval(() => setFigures(counter.figures(Date.now())), 1000)
    return () => {
      ends.abort()
      clearInterval(timer)
    }
  }, [counter])
  return figures
}

function LiveTrafficCard(): JSX.Element {
  const figures = useFigures()
  const time = (ms: number | undefined): string => (ms === undefined ? '–' : milliseconds(ms))
  const shown = [
    ['Requests/s', figures.perSecond.toFixed(1)],
    ['Errors (5xx)', `${(figures.errorShare * 100).toFixed(1)} %`],
    ['p50', time(figures.p50)],
    ['p99', time(figures.p99)],
    ['Sent', byteSize(figures.bytes)],
  ] as const
  return (
    <section class="card" aria-label="Traffic">
      <div class="page-head">
        <h2>Traffic since this page was opened, at most 2 minutes</h2>
        <a href={href(['requests'])}>Show requests</a>
      </div>
      <FigureList shown={shown} />
      <LineChart
        label="Requests and errors per second"
        times={figures.times}
        lines={[
          { label: 'requests', colour: '--accent', values: figures.requests },
          { label: 'errors', colour: '--bad', values: figures.errors },
        ]}
      />
    </section>
  )
}
