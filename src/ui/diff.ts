interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** The prefix of a line of each kind. */
export const diffSigns = { same: ' ', removed: '-', added: '+' } as const

/** Beyond this many cells the texts are compared as a whole. */
const MAX_CELLS = 4_000_000

/** Compares texts line by line, by their longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [left, right] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < left.length && start < right.length && left[start] === right[start]) start++
  let end = 0
  while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end))
    end++
  const same = (lines: readonly string[]): DiffLine[] => lines.map(text => ({ kind: 'same', text }))
  return [
    ...same(left.slice(0, start)),
    ...changed(left.slice(start, left.length - end), right.slice(start, right.length - end)),
    ...same(left.slice(left.length - end)),
  ]
}

function changed(left: readonly string[], right: readonly string[]): DiffLine[] {
  const width = right.length + 1
  if (left.length * width > MAX_CELLS) return replaced(left, right)
  const lengths = new Uint32Array((left.length + 1) * width)
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = left.length - 1; row >= 0; row--)
    for (let column = right.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        left[row] === right[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
  const lines: DiffLine[] = []
  let [row, column] = [0, 0]
  while (row < left.length && column < right.length) {
    const [before = '', after = ''] = [left[row], right[column]]
    if (before === after) {
      lines.push({ kind: 'same', text: before })
      row++
      column++
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      lines.push({ kind: 'removed', text: before })
      row++
    } else {
      lines.push({ kind: 'added', text: after })
      column++
    }
  }
  return [...lines, ...replaced(left.slice(row), right.slice(column))]
}

const replaced = (left: readonly string[], right: readonly string[]): DiffLine[] => [
  ...left.map((text): DiffLine => ({ kind: 'removed', text })),
  ...right.map((text): DiffLine => ({ kind: 'added', text })),
]
