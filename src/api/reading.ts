import type { Call } from '#api/call.ts'
import type { PageRequest } from '#api/paging.ts'
import { find, open, ownerLimit, requireParent, show, type Address } from '#api/records.ts'
import { collectionPath } from '#api/uris.ts'
import { fail } from '#base/errors.ts'
import type { Body } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'

export async function get(address: Address, call: Call): Promise<Body> {
  return show(address.kind, (await find(address, call)).body, call)
}

/** The body of a list: one item more than asked for was read, to know whether another page follows. */
export function pageBody(kind: Kind, items: readonly Body[], page: PageRequest, uri: string): Body {
  const shown = items.slice(0, page.limit)
  const more = items.length > page.limit
  const next = `${uri}?before_id=${String(shown.at(-1)?.['id'])}&limit=${page.limit}`
  return { [kind.listKey]: shown, uri, next_page_uri: more ? next : null }
}

export async function list(kind: Kind, page: PageRequest, parent: string | null, call: Call): Promise<Body> {
  await requireParent(kind, parent, call)
  const within = parent ?? ownerLimit(kind, call)
  const rows = await call.store.list(kind.name, {
    ...(page.before !== undefined && { before: page.before }),
    ...(within !== null && { parent: within }),
    limit: page.limit + 1,
  })
  const items = await Promise.all(rows.map(row => show(kind, open(kind, row, call), call)))
  return pageBody(kind, items, page, call.base + collectionPath(kind, parent))
}

export async function getModule(address: Address, name: string, call: Call): Promise<Body> {
  const view = await get(address, call)
  return (view[name] ?? fail('not_found')) as Body
}
