import type { JSX } from 'preact'
import { titleOf } from '#contract/names.ts'
import { usageDimensions, type UsageWindow } from '#contract/usage.ts'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { go, href, place } from '#ui/dashboard/router.ts'
import { UsageChart } from '#ui/dashboard/server/usage-chart.tsx'
import { hrefOfSeries, type UsageReport, type ReportSeries } from '#ui/dashboard/server/usage-series.ts'
import { FigureList } from '#ui/dashboard/shell/figure-list.tsx'
import { PageHead, Shown } from '#ui/dashboard/shell/parts.tsx'
import { TableHead } from '#ui/dashboard/shell/table-head.tsx'
import { milliseconds } from '#ui/dashboard/traffic/request-text.ts'
import { byteSize } from '#ui/format.ts'

const LIVE_MS = 30_000

const windows = {
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '30d': 'Last 30 days',
  '1y': 'Last year',
} as const satisfies Record<UsageWindow, string>

/** Requests, errors, bytes and times by endpoint or credential, and requests to the API by key. */
export function UsagePage(): JSX.Element {
  const { query } = place.value
  const by = query.get('by') ?? 'endpoint'
  const window = query.get('window') ?? '24h'
  const loaded = useLoaded(`usage ${by} ${window}`, () => api.usage({ by, window }), { everyMs: LIVE_MS })
  const set = (part: Record<string, string>): void => go(href(['usage'], { by, window, ...part }), 'replace')
  return (
    <>
      <PageHead title="Usage">
        <Choice
          label="By"
          value={by}
          choices={Object.fromEntries(usageDimensions.map(name => [name, titleOf(name)]))}
          choose={value => set({ by: value })}
        />
        <Choice label="Time" value={window} choices={windows} choose={value => set({ window: value })} />
      </PageHead>
      <Shown of={loaded}>{usage => <UsageView usage={usage} />}</Shown>
    </>
  )
}

const Choice = (props: {
  label: string
  value: string
  /** Their values, and how each is shown. */
  choices: Readonly<Record<string, string>>
  choose: (value: string) => void
}): JSX.Element => (
  <label class="toggle">
    {props.label}
    <select value={props.value} onChange={event => props.choose(event.currentTarget.value)}>
      {Object.entries(props.choices).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  </label>
)

function UsageView({ usage }: { usage: UsageReport }): JSX.Element {
  const { total } = usage
  const shown = [
    ['Requests', total.requests.toLocaleString()],
    ['Errors', total.errors.toLocaleString()],
    ['Received', byteSize(total.bytes_in)],
    ['Sent', byteSize(total.bytes_out)],
  ] as const
  return (
    <>
      <section class="card" aria-label="Total">
        <FigureList shown={shown} />
        <UsageChart usage={usage} series={usage.series} />
      </section>
      {usage.series.length === 0 ? (
        <p class="empty">There was no traffic in this time.</p>
      ) : (
        <UsageTable series={usage.series} by={usage.by} />
      )}
    </>
  )
}

const FIGURES = ['Requests', 'Errors', 'Received', 'Sent', 'p50', 'p95', 'p99']

const UsageTable = ({ series, by }: { series: readonly ReportSeries[]; by: string }): JSX.Element => (
  <div class="table-box" tabIndex={0} role="region" aria-label="Series">
    <table>
      <TableHead columns={[titleOf(by), ...FIGURES]} numeric={FIGURES} />
      <tbody>
        {series.map((each, at) => (
          <UsageRow key={at} series={each} />
        ))}
      </tbody>
    </table>
  </div>
)

const time = (ms: number | null): string => (ms === null ? '–' : milliseconds(ms))

function UsageRow({ series }: { series: ReportSeries }): JSX.Element {
  const to = hrefOfSeries(series)
  const figures = [
    series.requests.toLocaleString(),
    series.errors.toLocaleString(),
    byteSize(series.bytes_in),
    byteSize(series.bytes_out),
    ...[series.p50_ms, series.p95_ms, series.p99_ms].map(time),
  ]
  return (
    <tr>
      <th scope="row" dir="auto">
        {to === undefined ? series.name : <a href={to}>{series.name}</a>}
      </th>
      {figures.map((figure, at) => (
        <td key={at} class="number" data-title={FIGURES[at]}>
          {figure}
        </td>
      ))}
    </tr>
  )
}
