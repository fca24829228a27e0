import { DOMAINS, HOSTPORTS } from '#api/behaviours/edges.ts'
import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import { readName } from '#api/names.ts'
import { childRows } from '#api/records.ts'
import type { ResourceHooks } from '#api/resource-hooks.ts'
import { fail } from '#base/errors.ts'
import { wildcardsOver } from '#base/hosts.ts'
import { isId, timestamp } from '#base/ids.ts'
import { ownerIn } from '#contract/access-rule.ts'
import { capture as kind } from '#contract/kinds/capture.ts'
import { httpsEdge } from '#contract/kinds/edges.ts'
import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import type { Row } from '#store/store.ts'

/** Of one owner at once; the gateway looks each of them up in memory. */
const MAX_CAPTURES = 100

const bodyOf = ({ body }: Row): Record<string, unknown> => JSON.parse(body) as Record<string, unknown>

/** Whether the caller owns a tunnel, a reserved domain or an edge at this name. */
async function ownsHost(host: string, { live, store, principal }: Call): Promise<boolean> {
  const names = [host, ...wildcardsOver(host)]
  if ((await live.nameOwners(names)).includes(principal.id)) return true
  for (const name of names)
    for (const claim of [
      { namespace: DOMAINS, value: name },
      { namespace: HOSTPORTS, value: `tls:${name}` },
    ]) {
      const row = await store.holder(claim)
      if (row !== undefined && ownerIn(bodyOf(row)) === principal.id) return true
    }
  return false
}

/** The edge that is named, itself or by one of its routes. */
async function findEdge(field: 'edge_id' | 'route_id', id: string, { store }: Call): Promise<Row> {
  const wanted = field === 'edge_id' ? httpsEdge : httpsEdgeRoute
  const row = isId(id) ? await store.get(id) : undefined
  const isWanted = row?.kind === wanted.name
  const edge = isWanted && field === 'route_id' ? await store.get(row.parent ?? '') : row
  return isWanted && edge ? edge : fail('reference_missing', { field, id: id.slice(0, 100) })
}

async function checkTarget(draft: Draft, call: Call): Promise<void> {
  const body = draft.as(kind)
  const { principal } = call
  const [field, ...others] = (['host', 'edge_id', 'route_id'] as const).filter(name => body[name] !== null)
  if (field === undefined || others.length > 0) fail('capture_target')
  const value = body[field] ?? ''
  if (field === 'host') {
    body.host = readName(value, field)
    if (principal.role === 'admin' || (await ownsHost(body.host, call))) return
  } else {
    const edge = await findEdge(field, value, call)
    if (principal.role === 'admin' || ownerIn(bodyOf(edge)) === principal.id) return
  }
  fail('capture_not_owned', { field, value: value.slice(0, 100) })
}

async function checkCount(ownerId: string, call: Call): Promise<void> {
  const now = timestamp(call.now())
  const rows = await childRows(kind.name, ownerId, call)
  // Times of one form compare like strings.
  const current = rows.filter(row => String(bodyOf(row)['expires_at']) > now)
  if (current.length >= MAX_CAPTURES) fail('captures_full', { limit: MAX_CAPTURES })
}

export const capture: ResourceHooks = {
  async prepare(draft, call) {
    await checkTarget(draft, call)
    const body = draft.as(kind)
    await checkCount(body.owner_id, call)
    body.expires_at = timestamp(call.now() + body.duration * 1000)
    const { principal } = call
    // What an admin makes for a member is limited to what the member owns.
    body.scope = principal.role === 'admin' && body.owner_id === principal.id ? 'any' : 'own'
  },
}
