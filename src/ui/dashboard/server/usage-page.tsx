import type { JSX } from 'preact'
import { titleOf } from '#contract/names.ts'
import { usageDimensions, usageWindows } from '#contract/usage.ts'
import { api } from '#ui/dashboard/api.ts'
import { hrefOfId } from '#ui/dashboard/kinds/resource.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { go, href, place } from '#ui/dashboard/router.ts'
import { UsageChart } from '#ui/dashboard/server/usage-chart.tsx'
import type { UsageReport, ReportSeries } from '#ui/dashboard/server/usage-series.ts'
import { FigureList } from '#ui/dashboard/shell/figure-list.tsx'
import { PageHead, Shown } from '#ui/dashboard/shell/parts.tsx'
import { TableHead } from '#ui/dashboard/shell/table-head.tsx'
import { milliseconds } from '#ui/dashboard/traffic/request-text.ts'
import { byteSize } from '#ui/format.ts'

const LIVE_MS = 30_000

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
        <Choice label="By" value={by} values={usageDimensions} choose={value => set({ by: value })} />
        <Choice
          label="Time"
          value={window}
          values={Object.keys(usageWindows)}
          choose={value => set({ window: value })}
        />
      </PageHead>
      <Shown of={loaded}>{usage => <UsageView usage={usage} />}</Shown>
    </>
  )
}

const Choice = (props: {
  label: string
  value: string
  values: readonly string[]
  choose: (value: string) => void
}): JSX.Element => (
  <label class="toggle">
    {props.label}
    <select value={props.value} onChange={event => props.choose(event.currentTarget.value)}>
      {props.values.map(value => (
        <option key={value} value={value}>
          {value}
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

const UsageTable = ({ series, by }: { series: readonly ReportSeries[]; by: string }): JSX.Element => (
  <div class="table-box" tabIndex={0} role="region" aria-label="Series">
    <table>
      <TableHead columns={[titleOf(by), 'Requests', 'Errors', 'Received', 'Sent', 'p50', 'p95', 'p99']} />
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
  const to = series.id === null ? undefined : hrefOfId(series.id)
  return (
    <tr>
      <th scope="row" dir="auto">
        {to === undefined ? series.name : <a href={to}>{series.name}</a>}
      </th>
      <td>{series.requests.toLocaleString()}</td>
      <td>{series.errors.toLocaleString()}</td>
      <td>{byteSize(series.bytes_in)}</td>
      <td>{byteSize(series.bytes_out)}</td>
      <td>{time(series.p50_ms)}</td>
      <td>{time(series.p95_ms)}</td>
      <td>{time(series.p99_ms)}</td>
    </tr>
  )
}
