import type { Filter } from '#contract/kind.ts'
import { integer, line, listOf, moment, nullable, number, object, oneOf } from '#contract/schema.ts'

/** The stored name, and owner, of series that are counted together because there are too many. */
export const OTHER_SERIES = '-'

/** The time that is shown, and the length of its points. */
export const usageWindows = { '1h': 'minute', '24h': 'minute', '30d': 'hour', '1y': 'day' } as const
export type UsageWindow = keyof typeof usageWindows

export const usageDimensions = ['endpoint', 'credential', 'api_key'] as const
export type UsageDimension = (typeof usageDimensions)[number]

/** The filter for series of a dimension: one, or several separated by commas. */
export const usageFilters = {
  endpoint: 'endpoint',
  credential: 'credential_id',
  api_key: 'api_key_id',
} as const satisfies Record<UsageDimension, string>

/** A day of minutes, and the beginning of another hour. */
const MAX_POINTS = 1501

const windows = Object.keys(usageWindows)
const oneOfTexts = (texts: readonly string[]): NonNullable<Filter['values']> => ({
  pattern: texts.join('|'),
  example: texts.join(', '),
})

const count = integer(0, Number.MAX_SAFE_INTEGER)
const duration = nullable(number(0, 1e12))
const column = <Item extends typeof count | typeof duration>(item: Item) =>
  listOf(item, { maxItems: MAX_POINTS })

const sums = { requests: count, errors: count, bytes_in: count, bytes_out: count }

/** One array for each value, all of the same length. Periods without traffic are left out. */
const points = object({
  start: listOf(moment(), { maxItems: MAX_POINTS }),
  requests: column(count),
  errors: column(count),
  bytes_in: column(count),
  bytes_out: column(count),
  p50_ms: column(duration),
  p95_ms: column(duration),
  p99_ms: column(duration),
})

const series = object({
  name: line(),
  id: nullable(line()),
  owner_id: nullable(line()),
  ...sums,
  p50_ms: duration,
  p95_ms: duration,
  p99_ms: duration,
  last_at: nullable(moment({ description: 'The start of its last point.' })),
  points: nullable(points),
})

export const usage = {
  path: '/usage',
  summary:
    'Requests, errors, bytes and response times by endpoint or credential, or requests to this API by key; most requests first. Members see their own.',
  filters: {
    by: { doc: 'What is counted together; default endpoint.', values: oneOfTexts(usageDimensions) },
    window: {
      doc: 'The time that is shown, up to now; default 24h. Points are minutes for 1h and 24h, hours for 30d, days for 1y.',
      values: oneOfTexts(windows),
    },
    endpoint: {
      doc: 'Only this endpoint: the URL of a tunnel, or the id of an edge, reserved domain or reserved address. Several are separated by commas.',
      list: true,
    },
    credential_id: { doc: 'Only this credential, or several; with by=credential.', list: true },
    api_key_id: { doc: 'Only this API key, or several; with by=api_key.', list: true },
    points: { doc: 'false: only totals; default true.', values: oneOfTexts(['true', 'false']) },
    limit: {
      doc: 'The largest number of series; default 20.',
      values: { pattern: '[1-9]\\d?|100', example: '1 to 100' },
    },
  },
  output: object({
    by: oneOf(...usageDimensions),
    window: oneOf('1h', '24h', '30d', '1y'),
    resolution: oneOf('minute', 'hour', 'day'),
    from: moment(),
    until: moment(),
    total: object(sums),
    series: listOf(series, { maxItems: 100 }),
  }),
} as const
