import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { linesOf, type UsageReport, type ReportSeries } from '#ui/dashboard/server/usage-series.ts'
import { lazy } from '#ui/dashboard/shell/lazy.tsx'

const LineChart = lazy(async () => (await import('#ui/dashboard/shell/line-chart.tsx')).LineChart)

/** Requests and errors in each period of a window. */
export function UsageChart({
  usage,
  series,
}: {
  usage: UsageReport
  series: readonly ReportSeries[]
}): JSX.Element {
  const { times, requests, errors } = useMemo(() => linesOf(usage, series), [usage, series])
  const lines = useMemo(
    () => [
      { label: 'requests', colour: '--accent', values: requests },
      { label: 'errors', colour: '--bad', values: errors },
    ],
    [requests, errors],
  )
  return <LineChart label={`Requests and errors per ${usage.resolution}`} times={times} lines={lines} />
}
