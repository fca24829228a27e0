import type { ResourceHooks } from '#api/resource-hooks.ts'
import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import { headerMap } from '#api/modules/headers.ts'
import { ownerIn } from '#contract/access-rule.ts'
import { readName } from '#api/names.ts'
import { deserialize } from '#api/records.ts'
import { canonicalAddress } from '#base/addresses.ts'
import { fail, Problem } from '#base/errors.ts'
import { parseHostPort } from '#base/hosts.ts'
import { references } from '#contract/body.ts'
import {
  httpResponseBackend as responseKind,
  staticBackend as staticKind,
  tunnelGroupBackend as groupKind,
} from '#contract/kinds/backends.ts'
import { kindNamed } from '#contract/kinds/index.ts'

const httpResponseBackend: ResourceHooks = {
  prepare(draft) {
    const response = draft.as(responseKind)
    const headers = headerMap('headers', response.headers ?? {})
    response.headers = Object.keys(headers).length > 0 ? headers : null
  },
}

/**
 * Rejects children that refer back to this backend. The visited rows must be unchanged when this one is written, or two
 * concurrent changes could create a cycle together.
 */
async function refuseCycles(draft: Draft, call: Call): Promise<void> {
  const field = 'backends'
  const children = new Map<string, readonly string[]>()
  let level = references(draft.kind.shape, draft.body).map(({ id }) => ({ id, path: [id] }))
  const seen = new Set<string>()
  while (level.length > 0) {
    const back = level.find(({ id }) => id === draft.id)
    if (back) fail('backend_cycle', { field, id: back.path[0] ?? '', path: back.path.join(' > ') })
    const fresh = level.filter(({ id }) => !seen.has(id))
    for (const { id } of fresh) seen.add(id)
    const rows = await call.store.getMany(fresh.map(({ id }) => id))
    level = rows.flatMap(row => {
      const kind = kindNamed(row.kind)
      draft.reliedOn.set(row.id, row)
      const below = references(kind.shape, deserialize(kind, row, call)).map(({ id }) => id)
      children.set(row.id, below)
      const path = fresh.find(({ id }) => id === row.id)?.path ?? []
      return below.map(id => ({ id, path: [...path, id] }))
    })
  }
  const own = references(draft.kind.shape, draft.body).map(({ id }) => id)
  // The gateway counts the backend itself too.
  if (sizeOf(own, children, new Map()) >= MAX_BACKENDS) fail('backend_tree', { field, limit: MAX_BACKENDS })
}

/** The gateway builds a backend once for each path to it, and serves no endpoint with more than these. */
const MAX_BACKENDS = 1000

/** How many are built for these and all below them. */
function sizeOf(
  ids: readonly string[],
  children: ReadonlyMap<string, readonly string[]>,
  known: Map<string, number>,
): number {
  return ids.reduce((sum, id) => {
    const found = known.get(id)
    if (found !== undefined) return sum + found
    // A cycle, which only damaged rows can have, must not loop forever.
    known.set(id, 1)
    const size = 1 + sizeOf(children.get(id) ?? [], children, known)
    known.set(id, size)
    return sum + size
  }, 0)
}

const weightedBackend: ResourceHooks = { prepare: refuseCycles }

const failoverBackend: ResourceHooks = {
  prepare(draft, call) {
    const children = references(draft.kind.shape, draft.body).map(({ id }) => id)
    const twice = children.find((id, index) => children.indexOf(id) !== index)
    if (twice !== undefined) fail('failover_twice', { field: 'backends', id: twice })
    return refuseCycles(draft, call)
  },
}

const tunnelGroupBackend: ResourceHooks = {
  prepare(draft) {
    const { labels } = draft.as(groupKind)
    if (Object.keys(labels).length === 0) fail('label_count', { field: 'labels' })
    for (const label of Object.keys(labels)) {
      if (label === '' || Buffer.byteLength(label) > 255) {
        fail('label_length', { field: 'labels', label: label.slice(0, 100) })
      }
      if (label.includes('=')) fail('label_equals', { field: 'labels', label })
    }
  },
  view: async (body, call) => ({
    tunnels: await call.live.tunnelsOf({
      labels: body['labels'] as Record<string, string>,
      ownerId: ownerIn(body),
    }),
  }),
}

const staticBackend: ResourceHooks = {
  prepare(draft) {
    const backend = draft.as(staticKind)
    const parsed = parseHostPort(backend.address)
    if (!parsed || parsed.port < 1 || parsed.port > 65_535 || !isHost(parsed.host)) {
      fail('static_address', { field: 'address' })
    }
  },
}

function isHost(host: string): boolean {
  if (canonicalAddress(host.replace(/^\[(.*)\]$/, '$1')) !== undefined) return true
  try {
    return !readName(host, 'address').includes('*')
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

export const backends: Readonly<Record<string, ResourceHooks>> = {
  failover_backend: failoverBackend,
  http_response_backend: httpResponseBackend,
  static_backend: staticBackend,
  tunnel_group_backend: tunnelGroupBackend,
  weighted_backend: weightedBackend,
}
