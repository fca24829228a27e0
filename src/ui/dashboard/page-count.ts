/** How many there are of what a page of a list begins with. */
export const pageCount = ({
  items,
  next,
}: {
  readonly items: readonly unknown[]
  readonly next?: unknown
}): string => (next === undefined ? String(items.length) : `more than ${items.length}`)
