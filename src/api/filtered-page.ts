import { setImmediate } from 'node:timers/promises'
import type { ListRequest } from '#api/paging.ts'

/** One resource as JSON text. */
export interface Item {
  readonly id: string
  readonly text: string
}

interface Chunk {
  readonly items: readonly Item[]
  /** Where the next chunk begins; undefined at the end. */
  readonly next: string | undefined
}

/** Reads resources below an id, newest first. */
export type ReadChunk = (before: string | undefined, limit: number) => Promise<Chunk>

/** Resources examined between two turns of the event loop, and per request. */
const CHUNK = 50
const MAX_SCANNED = 10_000

/** A page, and the id after which the next one begins; undefined on the last page. */
export async function pageOf(
  read: ReadChunk,
  page: ListRequest,
): Promise<{ items: string[]; last: string | undefined }> {
  if (page.filter) return filteredPage(read, page, page.filter.matches)
  const { items, next } = await read(page.before, page.limit)
  return { items: items.map(({ text }) => text), last: next }
}

/**
 * The matching resources of a page. A request examines a limited number of resources; if that is not enough, its page
 * is shorter, and the next one continues from there.
 */
async function filteredPage(
  read: ReadChunk,
  { before, limit }: ListRequest,
  matches: (resource: unknown) => boolean,
): Promise<{ items: string[]; last: string | undefined }> {
  const found: string[] = []
  let from = before
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += CHUNK) {
    const { items, next } = await read(from, CHUNK)
    for (const { id, text } of items) {
      if (!matches(JSON.parse(text))) continue
      found.push(text)
      if (found.length === limit) return { items: found, last: id }
    }
    if (next === undefined) return { items: found, last: undefined }
    from = next
    await setImmediate()
  }
  return { items: found, last: from }
}
