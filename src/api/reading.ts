import type { Call } from '#api/call.ts'
import type { PageRequest } from '#api/paging.ts'
import { findRow, open, ownerLimit, requireParent, type Address } from '#api/records.ts'
import { show } from '#api/showing.ts'
import { answers } from '#api/row-text.ts'
import { collectionPath } from '#api/uris.ts'
import { fail } from '#base/errors.ts'
import type { Body } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Row } from '#store/store.ts'

async function render(kind: Kind, row: Row, call: Call): Promise<string> {
  return JSON.stringify(await show(kind, open(kind, row, call), call))
}

/** A resource as JSON text. */
export async function get(address: Address, call: Call): Promise<string> {
  const row = await findRow(address, call)
  return answers(address.kind, call.base)(row) ?? render(address.kind, row, call)
}

/** A resource as a caller sees it. */
export async function read(address: Address, call: Call): Promise<Body> {
  return show(address.kind, open(address.kind, await findRow(address, call), call), call)
}

/** A page as JSON text, from items that are JSON text. */
export function pageText(kind: Kind, items: readonly string[], uri: string, next: string | null): string {
  const rest = JSON.stringify({ uri, next_page_uri: next })
  return `{${JSON.stringify(kind.listKey)}:[${items.join(',')}],${rest.slice(1)}`
}

/** The address of the page behind one that ends with `last`. */
export const nextPage = (uri: string, last: string, { limit, filters = {} }: PageRequest): string =>
  `${uri}?${new URLSearchParams({ before_id: last, limit: String(limit), ...filters }).toString()}`

/** A page of resources as JSON text. One row more than asked for is read, to know whether another page follows. */
export async function list(
  kind: Kind,
  page: PageRequest,
  parent: string | null,
  call: Call,
): Promise<string> {
  await requireParent(kind, parent, call)
  const within = parent ?? ownerLimit(kind, call)
  const rows = await call.store.list(kind.name, {
    ...(page.before !== undefined && { before: page.before }),
    ...(within !== null && { parent: within }),
    limit: page.limit + 1,
  })
  const shown = rows.slice(0, page.limit)
  const items: string[] = []
  const answer = answers(kind, call.base)
  for (const row of shown) items.push(answer(row) ?? (await render(kind, row, call)))
  const uri = call.base + collectionPath(kind, parent)
  const next = rows.length > page.limit ? nextPage(uri, shown.at(-1)?.id ?? '', page) : null
  return pageText(kind, items, uri, next)
}

export async function getModule(address: Address, name: string, call: Call): Promise<Body> {
  const view = await read(address, call)
  return (view[name] ?? fail('not_found')) as Body
}
