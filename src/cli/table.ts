import { isPlainObject } from '#base/plain-object.ts'
import { styleText } from 'node:util'
import { printable } from '#cli/printable.ts'

type Item = Readonly<Record<string, unknown>>

const GAP = '  '
/** Longer cells are truncated: JSON output has the whole value. */
const MAX_CELL = 40

/** A value in one line: references by their id, maps as name=value. */
function brief(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(brief).join(', ')
  if (!isPlainObject(value)) return typeof value === 'string' ? value : JSON.stringify(value)
  if (typeof value['id'] === 'string' && Object.keys(value).length === 2) return value['id']
  return Object.entries(value)
    .map(([name, inner]) => `${name}=${isPlainObject(inner) ? JSON.stringify(inner) : brief(inner)}`)
    .join(' ')
}

const oneLine = (text: string): string => printable(text.replaceAll(/\s*\n\s*/g, ' '))
const segmenter = new Intl.Segmenter()
const lettersOf = (text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment)
const widthOf = (text: string): number => lettersOf(text).length

const cut = (text: string, length: number): string =>
  widthOf(text) > length
    ? `${lettersOf(text)
        .slice(0, length - 1)
        .join('')}…`
    : text
const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))

interface Column {
  readonly name: string
  readonly cells: readonly string[]
  readonly width: number
}

function columnOf(name: string, items: readonly Item[], isKey: boolean): Column {
  const cells = items.map(item => cut(oneLine(brief(item[name])), isKey ? Infinity : MAX_CELL))
  return { name, cells, width: Math.max(name.length, ...cells.map(widthOf)) }
}

/** As many columns as fit; the first is always shown. */
function fitting(columns: readonly Column[], room: number): Column[] {
  let used = 0
  const cutAt = columns.findIndex(({ width }, at) => {
    used += width + (at === 0 ? 0 : GAP.length)
    return at > 0 && used > room
  })
  return cutAt === -1 ? [...columns] : columns.slice(0, cutAt)
}

/** Rows under their field names, without columns that are empty in every row. */
export function table(items: readonly Item[], names: readonly string[], room: number): string {
  if (items.length === 0) return 'None.\n'
  const columns = names
    .map((name, at) => columnOf(name, items, at === 0))
    .filter(({ cells }, at) => at === 0 || cells.some(cell => cell !== ''))
  const shown = fitting(columns, room)
  const line = (texts: readonly string[]) =>
    texts
      .map((text, at) => padded(text, shown[at]?.width ?? 0))
      .join(GAP)
      .trimEnd()
  const rows = items.map((_, row) => line(shown.map(({ cells }) => cells[row] ?? '')))
  return `${[styleText('bold', line(shown.map(({ name }) => name))), ...rows].join('\n')}\n`
}

const isPart = (value: unknown): value is Item =>
  isPlainObject(value) &&
  !('id' in value && Object.keys(value).length === 2) &&
  Object.values(value).length > 0

/** One resource, a field per line; nested fields are indented. */
export function record(item: Item, indent = ''): string {
  const width = Math.max(...Object.keys(item).map(name => name.length))
  const lines = Object.entries(item).map(([name, value]) => {
    if (isPart(value)) return `${indent}${styleText('bold', name)}\n${record(value, `${indent}  `)}`
    const under = `\n${indent}${' '.repeat(width)}${GAP}`
    const text = printable(brief(value).trimEnd()).replaceAll('\n', under)
    return `${indent}${styleText('bold', name)}${' '.repeat(width - name.length)}${GAP}${text || '-'}\n`
  })
  return lines.join('')
}
