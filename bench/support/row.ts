/** One line of the table: a figure against its target. */
export interface Row {
  readonly name: string
  readonly ours: string
  readonly peer: string
  readonly figure: number
  /** What the figure counts: nothing for a ratio. */
  readonly unit?: 's' | 'MB'
  /** Absent for a figure that is only for information. */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number }
}

/** A topic measures itself row by row. */
export type Topic = () => AsyncIterable<Row>

export const perSecond = (value: number): string => `${Math.round(value).toLocaleString('en')}/s`

type Target = NonNullable<Row['target']>

const met = (figure: number, target: Target): boolean =>
  'atLeast' in target ? figure >= target.atLeast : figure <= target.atMost

const goal = (target: Target): string =>
  'atLeast' in target ? `>= ${target.atLeast}` : `<= ${target.atMost}`

const widths = [60, 12, 12, 10, 10, 6]
const line = (cells: readonly string[]): string =>
  cells
    .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
    .join(' ')

export const heading = (): string => line(['', 'ours', 'peer', 'ratio', 'target', ''])

export function render(row: Row): string {
  const { name, ours, peer, figure, unit = '', target } = row
  const inUnit = (text: string) => (unit ? `${text} ${unit}` : text)
  const verdict = target ? [inUnit(goal(target)), met(figure, target) ? 'met' : 'missed'] : ['', '']
  return line([name, ours, peer, inUnit(figure.toFixed(2)), ...verdict])
}
