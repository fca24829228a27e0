/** One line of the table: a figure against its target. */
export interface Row {
  readonly name: string
  readonly ours: string
  readonly peer: string
  readonly figure: number
  /** What the figure counts: nothing for a ratio. */
  readonly unit?: 's' | 'MB'
  readonly target: { readonly atLeast: number } | { readonly atMost: number }
}

/** A topic measures itself row by row. */
export type Topic = () => AsyncIterable<Row>

export const perSecond = (value: number): string => `${Math.round(value).toLocaleString('en')}/s`

const met = ({ figure, target }: Row): boolean =>
  'atLeast' in target ? figure >= target.atLeast : figure <= target.atMost

const widths = [60, 12, 12, 10, 10, 6]
const line = (cells: readonly string[]): string =>
  cells
    .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
    .join(' ')

export const heading = (): string => line(['', 'ours', 'peer', 'ratio', 'target', ''])

export function render(row: Row): string {
  const { name, ours, peer, figure, unit = '', target } = row
  const goal = 'atLeast' in target ? `>= ${target.atLeast}` : `<= ${target.atMost}`
  const shown = `${figure.toFixed(2)}${unit && ` ${unit}`}`
  return line([name, ours, peer, shown, `${goal}${unit && ` ${unit}`}`, met(row) ? 'met' : 'missed'])
}
