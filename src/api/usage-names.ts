import type { Call } from '#api/call.ts'
import { isId } from '#base/ids.ts'
import type { ResourceBody } from '#contract/body.ts'
import { OTHER_SERIES } from '#contract/usage.ts'
import type { SeriesTotal } from '#store/usage.ts'

const schemes: Readonly<Record<string, string>> = {
  https_edge: 'https',
  tls_edge: 'tls',
  tcp_edge: 'tcp',
  reserved_addr: 'tcp',
}

/** How the API shows each series: a URL or description instead of an id, as far as it still exists. */
export async function seriesNames(
  totals: readonly SeriesTotal[],
  call: Call,
): Promise<(total: SeriesTotal) => ResourceBody> {
  const ids = totals.map(({ series }) => series).filter(isId)
  const rows = await call.store.getMany(ids)
  const names = new Map(
    rows.map(({ id, kind, body }) => [id, nameOf(kind, JSON.parse(body) as ResourceBody)]),
  )
  return ({ series, owner }) => ({
    name: series === OTHER_SERIES ? 'other' : names.get(series) || series,
    id: isId(series) ? series : null,
    owner_id: owner === '' || owner === OTHER_SERIES ? null : owner,
  })
}

function nameOf(kind: string, body: ResourceBody): string {
  const [first] = Array.isArray(body['hostports']) ? body['hostports'] : []
  const text = first ?? body['addr'] ?? body['domain'] ?? body['description']
  if (typeof text !== 'string' || text === '') return ''
  const scheme = schemes[kind]
  return scheme === undefined ? text : `${scheme}://${scheme === 'tcp' ? text : text.replace(/:443$/, '')}`
}
