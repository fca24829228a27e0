export interface IdPage {
  readonly before?: string
  readonly limit: number
}

/** The items with the largest ids below `before`, largest first, in one pass that keeps only a page. */
export function pageByIdDesc<T>(
  items: Iterable<T>,
  idOf: (item: T) => string,
  { before, limit }: IdPage,
): T[] {
  const kept: { readonly id: string; readonly item: T }[] = []
  for (const item of items) {
    const id = idOf(item)
    if (before !== undefined && id >= before) continue
    if (kept.length === limit && id < (kept.at(-1)?.id ?? '')) continue
    let at = kept.length
    while (at > 0 && (kept[at - 1]?.id ?? '') < id) at--
    kept.splice(at, 0, { id, item })
    if (kept.length > limit) kept.pop()
  }
  return kept.map(({ item }) => item)
}
