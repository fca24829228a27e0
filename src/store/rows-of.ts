import type { Row, RowPage, Store } from '#store/store.ts'

const PAGE = 1000

interface RowsOptions extends Pick<RowPage, 'parent'> {
  /** Rows read at once: fewer when the caller expects to stop early. */
  readonly pageSize?: number
}

/** All rows of a kind, newest first, read page by page. Rows may be changed and deleted meanwhile. */
export async function* rowsOf(
  store: Pick<Store, 'list'>,
  kind: string,
  { pageSize = PAGE, ...within }: RowsOptions = {},
): AsyncGenerator<Row, void, undefined> {
  let page = await store.list(kind, { ...within, limit: pageSize })
  for (;;) {
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < pageSize) return
    page = await store.list(kind, { ...within, limit: pageSize, before: last.id })
  }
}
