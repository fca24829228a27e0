/** One table row: a figure against its target. */
export interface Row {
  readonly name: string
  readonly ours: string
  readonly peer: string
  readonly figure: number
  /** The unit of the figure: none for a ratio. */
  readonly unit?: 's' | 'ms' | 'us' | 'MB' | 'kB'
  /** Absent for a figure that is only for information. */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number }
}

/** A topic measures itself row by row. */
export type Topic = () => AsyncIterable<Row>

/** In a cell where nothing could be measured. */
export const ABSENT = 'absent'

export const perSecond = (value: number): string => `${Math.round(value).toLocaleString('en')}/s`

type Target = NonNullable<Row['target']>

const met = (figure: number, target: Target): boolean =>
  'atLeast' in target ? figure >= target.atLeast : figure <= target.atMost

const goal = (target: Target): string =>
  'atLeast' in target ? `>= ${target.atLeast}` : `<= ${target.atMost}`

const widths = [60, 12, 12, 10, 10, 6]
const line = (texts: readonly string[]): string =>
  texts
    .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
    .join(' ')

export const heading = (): string => line(['', 'ours', 'peer', 'ratio', 'target', ''])

/** The cells of a row as text, for a table of any form. */
export function cells({ name, ours, peer, figure, unit, target }: Row): string[] {
  const inUnit = (text: string) => (unit ? `${text} ${unit}` : text)
  const goals = target ? inUnit(goal(target)) : ''
  if (Number.isNaN(figure)) return [name, ours, peer, '-', goals, '']
  const verdict = target ? (met(figure, target) ? 'met' : 'missed') : ''
  return [name, ours, peer, inUnit(figure.toFixed(2)), goals, verdict]
}

export const render = (row: Row): string => line(cells(row))
