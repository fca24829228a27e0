import type { Call } from '#api/call.ts'
import type { ListRequest } from '#api/paging.ts'
import { pageOf, type Item, type ReadChunk } from '#api/filtered-page.ts'
import { findRow, deserialize, ownerLimit, requireParent, type ResourcePath } from '#api/records.ts'
import { show } from '#api/showing.ts'
import { answers } from '#api/row-text.ts'
import { collectionPath } from '#api/uris.ts'
import { fail } from '#base/errors.ts'
import type { ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Row } from '#store/store.ts'

async function render(kind: Kind, row: Row, call: Call): Promise<string> {
  return JSON.stringify(await show(kind, deserialize(kind, row, call), call))
}

/** A resource as JSON text. */
export async function get(address: ResourcePath, call: Call): Promise<string> {
  const row = await findRow(address, call)
  return answers(address.kind, call.base)(row) ?? render(address.kind, row, call)
}

/** A resource as returned to a caller. */
export async function read(address: ResourcePath, call: Call): Promise<ResourceBody> {
  return show(address.kind, deserialize(address.kind, await findRow(address, call), call), call)
}

/** A page as JSON text, from items that are JSON text. */
export function pageText(kind: Kind, items: readonly string[], uri: string, next: string | null): string {
  const rest = JSON.stringify({ uri, next_page_uri: next })
  return `{${JSON.stringify(kind.listKey)}:[${items.join(',')}],${rest.slice(1)}`
}

/** The URL of the page after one that ends with `last`. */
export function nextPage(uri: string, last: string, { limit, filters = {}, filter }: ListRequest): string {
  const given = { ...filters, ...(filter && { filter: filter.text }) }
  return `${uri}?${new URLSearchParams({ before_id: last, limit: String(limit), ...given }).toString()}`
}

/** A page of resources as JSON text. One more row is read, to know whether another page follows. */
export async function list(
  kind: Kind,
  page: ListRequest,
  parent: string | null,
  call: Call,
): Promise<string> {
  await requireParent(kind, parent, call)
  const within = parent ?? ownerLimit(kind, call)
  const answer = answers(kind, call.base)
  const chunk: ReadChunk = async (before, limit) => {
    const rows = await call.store.list(kind.name, {
      ...(before !== undefined && { before }),
      ...(within !== null && { parent: within }),
      limit: limit + 1,
    })
    const items: Item[] = []
    for (const row of rows.slice(0, limit))
      items.push({ id: row.id, text: answer(row) ?? (await render(kind, row, call)) })
    return { items, next: rows.length > limit ? items.at(-1)?.id : undefined }
  }
  const uri = call.base + collectionPath(kind, parent)
  const { items, last } = await pageOf(chunk, page)
  return pageText(kind, items, uri, last === undefined ? null : nextPage(uri, last, page))
}

export async function getModule(address: ResourcePath, name: string, call: Call): Promise<ResourceBody> {
  const view = await read(address, call)
  return (view[name] ?? fail('not_found')) as ResourceBody
}
