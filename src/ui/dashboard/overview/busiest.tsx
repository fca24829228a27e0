import type { JSX } from 'preact'
import { hasPrefixOf } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { Sparkline } from '#ui/dashboard/overview/sparkline.tsx'
import { href } from '#ui/dashboard/router.ts'
import {
  hrefOfSeries,
  linesOf,
  type ReportSeries,
  type UsageReport,
} from '#ui/dashboard/server/usage-series.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'
import { TableHead } from '#ui/dashboard/shell/table-head.tsx'
import { milliseconds } from '#ui/dashboard/traffic/request-text.ts'

const LIVE_MS = 30_000
const COUNT = 5
const MINUTES = 60
const RECENT = 50
const FIGURES = ['Per minute', 'Errors', 'p50', 'p95', 'p99']

/** The endpoints with most requests in the last hour. */
export function BusiestEndpoints(): JSX.Element {
  const loaded = useLoaded(
    'busiest endpoints',
    () => api.usage({ by: 'endpoint', window: '1h', limit: String(COUNT) }),
    { everyMs: LIVE_MS },
  )
  return (
    <section class="card" aria-label="Busiest endpoints">
      <div class="page-head">
        <h2>Busiest endpoints, last hour</h2>
        <a href={href(['usage'], { window: '1h' })}>Usage</a>
      </div>
      <Shown of={loaded}>
        {usage =>
          usage.series.length === 0 ? (
            <p class="hint">There were no requests.</p>
          ) : (
            <EndpointTable usage={usage} />
          )
        }
      </Shown>
    </section>
  )
}

/** The agents of the last requests at an endpoint, since an edge may have many, through any of its backends. */
async function agentsOf({ id, name }: ReportSeries): Promise<readonly string[]> {
  const isEdge = id !== null && hasPrefixOf(kinds.https_edges, id)
  const filter = isEdge ? { edge_id: id } : { host: name.replace(/^\w+:\/\//, '').replace(/:\d+$/, '') }
  const { items } = await api.requests.list({ ...filter, limit: RECENT })
  return [...new Set(items.flatMap(({ agent }) => agent ?? []))]
}

function EndpointTable({ usage }: { usage: UsageReport }): JSX.Element {
  const { series } = usage
  const { value: agents = [] } = useLoaded(
    `agents of ${series.map(({ name }) => name).join(' ')}`,
    () => Promise.all(series.map(agentsOf)),
    { everyMs: LIVE_MS },
  )
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Table of the busiest endpoints">
      <table>
        <TableHead columns={['Endpoint', 'Requests', ...FIGURES, 'Agents']} numeric={FIGURES} />
        <tbody>
          {series.map((each, at) => (
            <EndpointRow key={at} usage={usage} series={each} agents={(agents[at] ?? []).join(', ')} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const time = (ms: number | null): string => (ms === null ? '–' : milliseconds(ms))

function EndpointRow(props: { usage: UsageReport; series: ReportSeries; agents: string }): JSX.Element {
  const { usage, series, agents } = props
  const { name, requests, errors, p50_ms: p50, p95_ms: p95, p99_ms: p99 } = series
  const to = hrefOfSeries(series)
  const figures = [
    (requests / MINUTES).toFixed(1),
    requests === 0 ? '–' : `${((errors / requests) * 100).toFixed(1)} %`,
    ...[p50, p95, p99].map(time),
  ]
  return (
    <tr>
      <th scope="row" dir="auto">
        {to === undefined ? name : <a href={to}>{name}</a>}
      </th>
      <td data-title="Requests">
        <Sparkline label={`Requests per minute of ${name}`} values={linesOf(usage, [series]).requests} />
      </td>
      {figures.map((figure, column) => (
        <td key={column} class="number" data-title={FIGURES[column]}>
          {figure}
        </td>
      ))}
      <td dir="auto" data-title="Agents">
        {agents || '–'}
      </td>
    </tr>
  )
}
