import { table } from '#cli/table.ts'
import type { UsageWindow, usage } from '#contract/usage.ts'
import type { Static } from '#contract/schema.ts'

type Usage = Static<typeof usage.output>
type Series = Usage['series'][number]

const windowTexts: Readonly<Record<UsageWindow, string>> = {
  '1h': 'hour',
  '24h': '24 hours',
  '30d': '30 days',
  '1y': 'year',
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** To three digits, with a unit of powers of 1000. */
function bytesText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3))
  return `${digits(bytes / 1000 ** power)} ${UNITS[power]}`
}

const digits = (value: number): string =>
  value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toPrecision(value < 10 ? 2 : 3)

function durationText(ms: number | null): string {
  if (ms === null) return '-'
  return ms < 1000 ? `${digits(ms)} ms` : `${digits(ms / 1000)} s`
}

const shareText = (part: number, whole: number): string =>
  part === 0 ? '0 %' : `${((100 * part) / whole).toFixed(part * 1000 < whole ? 2 : 1)} %`

const rateText = (requests: number, minutes: number): string => {
  const rate = requests / minutes
  return rate < 0.1 ? '<0.1' : rate < 10 ? rate.toFixed(1) : String(Math.round(rate))
}

const columns = ['requests', 'req/min', 'errors', 'p50', 'p95', 'p99', 'in', 'out']

function rowOf(series: Series, minutes: number): Record<string, string> {
  const { requests, errors, bytes_in: received, bytes_out: sent, p50_ms: p50, p95_ms: p95 } = series
  return {
    name: series.name,
    requests: String(requests),
    'req/min': rateText(requests, minutes),
    errors: shareText(errors, requests),
    p50: durationText(p50),
    p95: durationText(p95),
    p99: durationText(series.p99_ms),
    in: bytesText(received),
    out: bytesText(sent),
  }
}

/** Numbers are compared more easily when their digits are below each other. */
function alignedRight(rows: readonly Record<string, string>[]): Record<string, string>[] {
  const widths = columns.map(name => Math.max(name.length, ...rows.map(row => (row[name] ?? '').length)))
  return rows.map(row => ({
    ...row,
    ...Object.fromEntries(columns.map((name, at) => [name, (row[name] ?? '').padStart(widths[at] ?? 0)])),
  }))
}

/** Usage for people: a summary, and a table of the busiest. */
export function usageText(usage: Usage, room: number): string {
  const { total, series, by, window } = usage
  const time = `the last ${windowTexts[window]}`
  if (series.length === 0) return `No traffic in ${time}.\n`
  const minutes = Math.max(1, (Date.parse(usage.until) - Date.parse(usage.from)) / 60_000)
  const summary = [
    `${total.requests} requests`,
    `${shareText(total.errors, total.requests)} errors`,
    `${bytesText(total.bytes_in)} in`,
    `${bytesText(total.bytes_out)} out`,
  ]
  const rows = alignedRight(series.map(each => rowOf(each, minutes)))
  const named = rows.map(({ name, ...rest }) => ({ [by]: name, ...rest }))
  return `In ${time}: ${summary.join(', ')}.\n\n${table(named, [by, ...columns], room)}`
}
