import type { ResourceHooks } from '#api/resource-hooks.ts'
import { fail } from '#base/errors.ts'
import { abuseReport as kind } from '#contract/kinds/abuse-report.ts'

function hostOf(value: string): string {
  const url = URL.parse(value)
  const web = url?.protocol === 'http:' || url?.protocol === 'https:'
  return web && url.hostname !== '' ? url.hostname : fail('report_url', { field: 'urls', value })
}

export const abuseReport: ResourceHooks = {
  prepare(draft) {
    const report = draft.as(kind)
    report.status = 'PENDING'
    report.hostnames = [...new Set(report.urls.map(hostOf))].map(hostname => ({
      hostname,
      status: 'PENDING',
    }))
  },
}
