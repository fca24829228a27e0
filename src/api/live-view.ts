import { requireChange } from '#api/authority.ts'
import type { Call } from '#api/call.ts'
import { pageOf, type ReadChunk } from '#api/filtered-page.ts'
import type { LiveCommand, LiveKind } from '#api/live.ts'
import type { ListRequest } from '#api/paging.ts'
import { nextPage, pageText } from '#api/reading.ts'
import { findLive } from '#api/records.ts'
import { linker, resourcePath } from '#api/uris.ts'
import { encode, type ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { kindNamed } from '#contract/kinds/index.ts'

const nameOf = (kind: Kind): LiveKind => kind.name as LiveKind

/** A live resource as the API shows it. */
export async function showLive(kind: Kind, body: ResourceBody, call: Call): Promise<ResourceBody> {
  const view = encode(
    kind.shape,
    { ...body, uri: call.base + resourcePath(kind, body) },
    linker(call.base),
    'show',
  )
  // SSH credentials of earlier releases have the prefix of credentials, so only the store knows the kind of an id.
  const row = typeof body['credential'] === 'string' ? await call.store.get(body['credential']) : undefined
  return row
    ? { ...view, credential: { id: row.id, uri: `${call.base}${kindNamed(row.kind).path}/${row.id}` } }
    : view
}

export const get = async (kind: Kind, id: string, call: Call): Promise<ResourceBody> =>
  showLive(kind, await findLive(nameOf(kind), id, call), call)

export async function list(kind: Kind, page: ListRequest, call: Call): Promise<string> {
  const { filters } = page
  const read: ReadChunk = async (before, limit) => {
    const within = { ...(before !== undefined && { before }), ...(filters && { filters }) }
    const bodies = await call.live.list(nameOf(kind), { ...within, limit: limit + 1 })
    const items = await Promise.all(
      bodies.slice(0, limit).map(async body => ({
        id: String(body['id']),
        text: JSON.stringify(await showLive(kind, body, call)),
      })),
    )
    return { items, next: bodies.length > limit ? items.at(-1)?.id : bodies.last }
  }
  const uri = call.base + kind.path
  const { items, last } = await pageOf(read, page)
  return pageText(kind, items, uri, last === undefined ? null : nextPage(uri, last, page))
}

export async function command(kind: Kind, id: string, name: string, call: Call): Promise<undefined> {
  await requireChange(kind, await findLive(nameOf(kind), id, call), call)
  await call.live.command(id, name as LiveCommand)
}
