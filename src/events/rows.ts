import type { Row, Store } from '#store/store.ts'

const PAGE = 1000

/** All rows of a kind, page by page. */
export async function allRows(store: Store, kind: string): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const before = rows.at(-1)?.id
    const page = await store.list(kind, { limit: PAGE, ...(before !== undefined && { before }) })
    rows.push(...page)
    if (page.length < PAGE) return rows
  }
}
