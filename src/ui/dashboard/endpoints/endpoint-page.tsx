import type { JSX } from 'preact'
import { titleOf } from '#contract/names.ts'
import { api } from '#ui/dashboard/api.ts'
import { CaptureSwitch } from '#ui/dashboard/capture/capture-state.tsx'
import { QrCode } from '#ui/dashboard/endpoints/qr-code.tsx'
import { NamedLink } from '#ui/dashboard/kinds/value.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { UsageChart } from '#ui/dashboard/server/usage-chart.tsx'
import { PageHead, Shown, Snippet } from '#ui/dashboard/shell/parts.tsx'
import { RequestLines } from '#ui/dashboard/traffic/request-lines.tsx'

const LIVE_MS = 5000
const MAX_REQUESTS = 10

type Endpoint = Awaited<ReturnType<typeof api.endpoints.get>>

const isHttp = ({ proto }: Endpoint): boolean => proto === 'http' || proto === 'https'
const hostOf = ({ hostport }: Endpoint): string => hostport.replace(/:\d+$/, '')

/** An online URL: who serves it, through which modules, and its traffic. */
export function EndpointPage({ id }: { id: string }): JSX.Element {
  const loaded = useLoaded(`endpoint ${id}`, () => api.endpoints.get(id), { on: change => change.id === id })
  return (
    <Shown of={loaded} title="Endpoint">
      {endpoint => (
        <>
          <PageHead title={endpoint.public_url} sub={`Endpoint ${id}`}>
            {isHttp(endpoint) && (
              <>
                <EndpointCapture endpoint={endpoint} />
                <a class="button primary" href={href(['protect'], { endpoint: id })}>
                  Protect with sign-in
                </a>
              </>
            )}
          </PageHead>
          <Address endpoint={endpoint} />
          {isHttp(endpoint) && <Modules url={endpoint.public_url} />}
          <Traffic endpoint={endpoint} />
          {isHttp(endpoint) && <RecentRequests host={hostOf(endpoint)} />}
        </>
      )}
    </Shown>
  )
}

function Address({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const { tunnel, edge, domain, tcp_addr: addr } = endpoint
  const owners = { Tunnel: tunnel, Edge: edge, Domain: domain, 'TCP address': addr }
  return (
    <section class="card address" aria-label="Address">
      <QrCode text={endpoint.public_url} label={`QR code of ${endpoint.public_url}`} />
      <div>
        <Snippet label="URL" text={endpoint.public_url} />
        <dl>
          {Object.entries(owners).map(([name, ref]) =>
            ref ? (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <NamedLink id={ref.id} />
                </dd>
              </div>
            ) : null,
          )}
        </dl>
        {tunnel && <AgentOf tunnel={tunnel.id} />}
      </div>
    </section>
  )
}

async function loadAgent(tunnel: string) {
  const { forwards_to: upstream, tunnel_session: session } = await api.tunnels.get(tunnel)
  return { upstream, session: session === null ? undefined : await api.tunnel_sessions.get(session.id) }
}

function AgentOf({ tunnel }: { tunnel: string }): JSX.Element {
  const loaded = useLoaded(`agent of ${tunnel}`, () => loadAgent(tunnel), { on: ({ id }) => id === tunnel })
  return (
    <Shown of={loaded}>
      {({ upstream, session }) => (
        <p class="dot on" dir="auto">
          {session && (
            <>
              Agent {session.metadata} at <a href={href(['tunnel_sessions', session.id])}>{session.ip}</a>,{' '}
              {session.os}, version {session.agent_version}
            </>
          )}{' '}
          → {upstream}
        </p>
      )}
    </Shown>
  )
}

const origins = {
  edge: 'from the route of the edge',
  tunnel: 'from the agent',
  domain: 'from the endpoint configuration of the domain',
  sign_in: 'from the gateway',
  api: 'from the gateway',
  redirect: 'from the gateway',
  none: '',
} as const

/** What the router would do with a request for the URL. */
const useExplanation = (url: string) =>
  useLoaded(`way to ${url}`, () => api.requests.explain({ request_url: url }), { on: () => true })

function EndpointCapture({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const { value } = useExplanation(endpoint.public_url)
  const host = hostOf(endpoint)
  return <CaptureSwitch target={{ host }} what={host} by={value?.captured_by} />
}

/** The modules in front of the service, and where each is configured. */
function Modules({ url }: { url: string }): JSX.Element {
  const loaded = useExplanation(url)
  return (
    <section class="card" aria-label="Modules">
      <h2>Modules</h2>
      <Shown of={loaded}>
        {({ modules, handled_by: by, route_id: route, edge_id: edge }) => (
          <>
            {modules.length === 0 ? (
              <p class="hint">None: every request is forwarded.</p>
            ) : (
              <ol class="path-steps" aria-label="Modules in run order">
                {modules.map(({ name }, at) => (
                  <li key={at}>
                    <strong>{titleOf(name)}</strong>
                    <span class="detail whole">{origins[by]}</span>
                  </li>
                ))}
              </ol>
            )}
            {route !== null && edge !== null && <a href={href(['https_edges', edge])}>Edit the edge</a>}
          </>
        )}
      </Shown>
    </section>
  )
}

function Traffic({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const key = endpoint.edge?.id ?? endpoint.domain?.id ?? endpoint.public_url
  const loaded = useLoaded(`usage of ${key}`, () => api.usage({ endpoint: key, window: '1h' }), {
    everyMs: LIVE_MS,
  })
  return (
    <section class="card" aria-label="Traffic of the last hour">
      <h2>Traffic of the last hour</h2>
      <Shown of={loaded}>{usage => <UsageChart usage={usage} series={usage.series} />}</Shown>
    </section>
  )
}

function RecentRequests({ host }: { host: string }): JSX.Element {
  const loaded = useLoaded(`requests of ${host}`, () => api.requests.list({ host, limit: MAX_REQUESTS }), {
    everyMs: LIVE_MS,
  })
  return (
    <section class="card" aria-label="Recent requests">
      <div class="page-head">
        <h2>Recent requests</h2>
        <a href={href(['requests'], { filter: `host:${host}` })}>Live</a>
      </div>
      <Shown of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="empty">No requests yet. Open the address, and they appear here.</p>
          ) : (
            <RequestLines requests={items} />
          )
        }
      </Shown>
    </section>
  )
}
