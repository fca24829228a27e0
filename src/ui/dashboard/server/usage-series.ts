import type { api } from '#ui/dashboard/api.ts'
import { hrefOfId } from '#ui/dashboard/kinds/resource.ts'
import { href } from '#ui/dashboard/router.ts'

export type UsageReport = Awaited<ReturnType<typeof api.usage>>
export type ReportSeries = UsageReport['series'][number]

/** The page of what was counted; of a tunnel, which may have ended, its requests. */
export function hrefOfSeries({ id, name }: ReportSeries): string | undefined {
  if (id !== null) return hrefOfId(id)
  const host = /^https?:\/\/([^/:]+)/.exec(name)?.[1]
  return host && href(['requests'], { filter: `host:${host}` })
}

const seconds = { minute: 60, hour: 3600, day: 86_400 } as const

interface UsageLines {
  readonly times: readonly number[]
  readonly requests: readonly number[]
  readonly errors: readonly number[]
}

const unix = (at: string): number => Math.floor(Date.parse(at) / 1000)

/** The sum of series, with a point for every period: those without traffic are not sent. */
export function linesOf(
  { from, until, resolution }: UsageReport,
  series: readonly ReportSeries[],
): UsageLines {
  const step = seconds[resolution]
  const first = Math.floor(unix(from) / step) * step
  const length = Math.max(1, Math.ceil((unix(until) - first) / step))
  const times = Array.from({ length }, (_, at) => first + at * step)
  const requests = times.map(() => 0)
  const errors = times.map(() => 0)
  for (const { points } of series)
    for (const [index, start] of (points?.start ?? []).entries()) {
      const at = Math.floor((unix(start) - first) / step)
      if (at < 0 || at >= length) continue
      requests[at] = (requests[at] ?? 0) + (points?.requests[index] ?? 0)
      errors[at] = (errors[at] ?? 0) + (points?.errors[index] ?? 0)
    }
  return { times, requests, errors }
}
