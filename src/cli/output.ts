import { printableJson, printableYaml } from '#cli/printable.ts'
import { record, table } from '#cli/table.ts'
import type { Shape } from '#contract/shape.ts'

export const formats = ['table', 'json', 'yaml'] as const
type OutputFormat = (typeof formats)[number]

export interface OutputOptions {
  readonly output?: OutputFormat
  /** Only the ids. */
  readonly quiet?: boolean
}

/** Columns of little use in a list, or too long for a row. */
const NOT_IN_TABLES = new Set(['uri', 'metadata'])
/** Shown after the columns that are specific to the kind. */
const LAST = ['description', 'created_at']

/** The columns of a list of such resources. */
export function columnsOf(key: string, shape: Shape): string[] {
  const shown = Object.entries(shape).filter(
    ([name, field]) =>
      field.read && !field.shape && !field.secret && !NOT_IN_TABLES.has(name) && name !== key,
  )
  const names = shown.map(([name]) => name)
  return [key, ...names.filter(name => !LAST.includes(name)), ...LAST.filter(name => names.includes(name))]
}

const idOf = (value: unknown): string[] => {
  const { id, type } = { ...(value as object) } as Record<string, unknown>
  const known = id ?? type
  return typeof known === 'string' ? [`${known}\n`] : []
}

/** A terminal of unknown size reports 0. */
export const roomOn = (stream: NodeJS.WriteStream): number => (stream.isTTY && stream.columns) || Infinity

/** The text for standard output: for people on a terminal, for programs elsewhere. */
export function outputOf(value: unknown, columns: readonly string[], options: OutputOptions): string {
  if (value === undefined) return ''
  if (options.quiet) return (Array.isArray(value) ? value : [value]).flatMap(idOf).join('')
  switch (options.output ?? (process.stdout.isTTY ? 'table' : 'json')) {
    case 'json':
      return `${printableJson(JSON.stringify(value, null, 2))}\n`
    case 'yaml':
      return printableYaml(value)
    case 'table':
      return Array.isArray(value)
        ? table(value as Record<string, unknown>[], columns, roomOn(process.stdout))
        : record(value as Record<string, unknown>)
  }
}
