import { isIP } from 'node:net'
import { requireUse } from '#api/authority.ts'
import type { ResourceHooks } from '#api/resource-hooks.ts'
import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import { readName } from '#api/names.ts'
import { childRows, deserialize } from '#api/records.ts'
import { fail } from '#base/errors.ts'
import { parseHostPort, type HostPort } from '#base/hosts.ts'
import type { ResourceBody } from '#contract/body.ts'
import { tlsEdge as tlsEdgeKind } from '#contract/kinds/edges.ts'
import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import type { Row } from '#store/store.ts'

/** The edge that serves an address; at most one. */
export const HOSTPORTS = 'hostport'
/** The holder of a TCP port: a reserved address, or an edge that reserved it itself. */
export const TCP_PORTS = 'tcp_port'
/** The holder of a name. */
export const DOMAINS = 'domain'

const field = 'hostports'

function readHostPorts(draft: Draft): { value: string; parsed: HostPort }[] {
  const given = (draft.body[field] ?? []) as string[]
  const twice = given.find((value, index) => given.indexOf(value) !== index)
  if (twice !== undefined) fail('hostport_twice', { field, value: twice })
  return given.map(value => {
    const parsed = parseHostPort(value)
    if (!parsed) return fail('hostport_format', { field, value })
    if (parsed.port < 1 || parsed.port > 65_535) fail('hostport_port', { field, value })
    return { value, parsed }
  })
}

/** Whether the edge served this address before: an admin may have assigned it. */
const had = ({ before }: Draft, value: string): boolean =>
  ((before?.[field] ?? []) as string[]).includes(value)

/** TCP edges listen on ports: an unreserved port is reserved by the edge. */
async function claimPorts(draft: Draft, call: Call): Promise<void> {
  const { first, last } = call.info.tcpPorts
  for (const { value, parsed } of readHostPorts(draft)) {
    const port = String(parsed.port)
    if (parsed.port < first || parsed.port > last) {
      fail('port_not_allowed', { field, port, allowed: `${first}-${last}` })
    }
    draft.claim(HOSTPORTS, `tcp:${port}`, { refusal: 'hostport_taken', field, shown: value })
    const holder = await call.store.holder({ namespace: TCP_PORTS, value: port })
    if (holder?.kind === 'reserved_addr') {
      if (!had(draft, value)) requireUse(holder, { field, value }, call)
      draft.holds.add(holder.id)
    } else draft.claim(TCP_PORTS, port, { refusal: 'port_reserved', field })
  }
}

/** `a.b.example.com`, then the wildcards that cover it, nearest first. */
function candidates(name: string): string[] {
  const labels = name.split('.')
  return [name, ...labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)]
}

/** The reservation of a name, or of the nearest wildcard over it. */
async function reservationOf(name: string, call: Call): Promise<Row | undefined> {
  for (const value of candidates(name)) {
    const holder = await call.store.holder({ namespace: DOMAINS, value })
    if (holder) return holder
  }
  return undefined
}

/** HTTPS and TLS edges serve domains: each must be reserved, and stays so while the edge uses it. */
async function claimDomains(draft: Draft, call: Call): Promise<void> {
  const normal: string[] = []
  for (const { value, parsed } of readHostPorts(draft)) {
    if (isIP(parsed.host.replace(/^\[(.*)\]$/, '$1'))) fail('hostport_not_domain', { field, value })
    if (parsed.port !== 443) fail('hostport_443', { field, value })
    const name = readName(parsed.host, field)
    const reservation = await reservationOf(name, call)
    if (reservation === undefined) return fail('hostport_domain', { field, value })
    if (!had(draft, `${name}:443`)) requireUse(reservation, { field, value }, call)
    draft.holds.add(reservation.id)
    draft.claim(HOSTPORTS, `tls:${name}`, { refusal: 'hostport_taken', field, shown: value })
    normal.push(`${name}:443`)
  }
  if (draft.body[field]) draft.body[field] = normal
}

export const tcpEdge: ResourceHooks = { prepare: claimPorts }

export const tlsEdge: ResourceHooks = {
  prepare(draft, call) {
    const edge = draft.as(tlsEdgeKind)
    if (edge.mutual_tls && edge.tls_termination?.terminate_at !== 'edge') {
      fail('needs_termination', { field: 'mutual_tls' })
    }
    return claimDomains(draft, call)
  },
}

export const httpsEdge: ResourceHooks = {
  prepare: claimDomains,
  async view(body, call, show) {
    const rows = await childRows(httpsEdgeRoute.name, String(body['id']), call)
    const routes: ResourceBody[] = []
    for (const row of rows.toReversed()) {
      routes.push(await show(httpsEdgeRoute, deserialize(httpsEdgeRoute, row, call), call))
    }
    return { routes }
  },
}
