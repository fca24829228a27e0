/** The known name most similar to a mistyped one; undefined when none is similar. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const typed = name.toLowerCase().replaceAll('-', '_')
  let best: string | undefined
  let least = Math.min(4, Math.ceil(typed.length / 2))
  for (const each of known) {
    const count = distance(typed, each.toLowerCase())
    if (count < least) [best, least] = [each, count]
  }
  return best
}

/** Edit distance: insertions, deletions, substitutions and swaps of neighbours. */
function distance(left: string, right: string): number {
  let [older, row]: [number[], number[]] = [[], Array.from({ length: right.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const changed = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1)
      const least = Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1)
      const isSwapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]
      next.push(isSwapped ? Math.min(least, (older[j - 2] ?? 0) + 1) : least)
    }
    ;[older, row] = [row, next]
  }
  return row[right.length] ?? 0
}
