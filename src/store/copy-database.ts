import type { Dialect } from '#store/dialect.ts'
import type { AsyncSteps, Columns, CopyEngine, Engine, SqlValue } from '#store/engine.ts'
import { COMPATIBLE_KEYS } from '#store/migrations.ts'
import { StoreError } from '#store/store-error.ts'

interface Table {
  readonly name: string
  readonly columns: readonly string[]
  /** The columns of the primary key: rows are read in its order. */
  readonly key: readonly string[]
  /** Which rows belong to the installation; default all. */
  readonly condition?: string
}

const resource: Table = {
  name: 'resource',
  columns: ['id', 'kind', 'parent', 'version', 'body'],
  key: ['id'],
}

const usageKey = ['resolution', 'start', 'dimension', 'owner', 'series']

/** The tables of an installation, in an order that satisfies foreign keys. */
const tables: readonly Table[] = [
  {
    name: 'meta',
    columns: ['key', 'value'],
    key: ['key'],
    // What migrations have written is about the schema, which the target has already.
    condition: `key NOT LIKE '${COMPATIBLE_KEYS}'`,
  },
  resource,
  { name: 'reference', columns: ['source', 'target'], key: ['source', 'target'] },
  { name: 'claim', columns: ['namespace', 'value', 'owner'], key: ['namespace', 'value'] },
  { name: 'change', columns: ['revision', 'kind', 'id', 'op'], key: ['revision'] },
  { name: 'event', columns: ['sequence', 'id', 'type', 'at', 'body'], key: ['sequence'] },
  {
    name: 'usage',
    columns: [...usageKey, 'requests', 'errors', 'bytes_in', 'bytes_out', 'latency'],
    key: usageKey,
  },
]

const PAGE = 500
/** Parents of parents; the contract has one level. */
const MAX_LEVELS = 8

/** How many rows of each table were copied. */
export type Counts = ReadonlyMap<string, number>

/**
 * Copies a database into another, empty one, as one transaction: the target has all of it or nothing. Nothing else may
 * write to the source meanwhile.
 */
export const copyDatabase = (source: Engine, target: CopyEngine): Promise<Counts> =>
  target.runSlowly(copySteps(source, target.dialect))

async function* copySteps(source: Engine, dialect: Dialect): AsyncSteps<Counts> {
  yield* step(dialect.begin)
  yield* step(dialect.lockSchema)
  yield* requireEmpty()
  const counts = new Map<string, number>()
  for (const table of tables) {
    const count = yield* copyTable(source, table)
    const expected = await countOf(source, table)
    if (count !== expected)
      throw new StoreError('unusable', `Of ${expected} rows of "${table.name}" only ${count} can be copied.`)
    counts.set(table.name, count)
  }
  const [[revision, sequence] = []] = await read(
    source,
    'SELECT revision, sequence FROM counter WHERE id = 1',
  )
  yield* step('UPDATE counter SET revision = $1, sequence = $2 WHERE id = 1', revision, sequence)
  yield* step('COMMIT')
  return counts
}

/** A server that was ever started has written its identity to "meta". */
async function* requireEmpty(): AsyncSteps<void> {
  for (const { name, condition = 'TRUE' } of tables) {
    const found = yield* step(`SELECT 1 FROM ${name} WHERE ${condition} LIMIT 1`)
    if (found.length > 0) throw new StoreError('unusable', 'The target is not empty: give it a new database.')
  }
}

async function* copyTable(source: Engine, table: Table): AsyncSteps<number> {
  let count = 0
  const levels = table === resource ? MAX_LEVELS : 1
  for (let level = 0; level < levels; level++) {
    const condition = table === resource ? atLevel(level, 'resource') : (table.condition ?? 'TRUE')
    let rows: readonly Columns[]
    let after: Columns | undefined
    do {
      rows = await page(source, table, condition, after)
      if (rows.length > 0) yield* step(insertion(table, rows.length), ...(rows.flat() as SqlValue[]))
      count += rows.length
      after = rows.at(-1)
    } while (rows.length === PAGE)
  }
  return count
}

/** The condition for depth in the tree; parents must be inserted before their children. */
function atLevel(level: number, row: string): string {
  if (level === 0) return `${row}.parent IS NULL`
  const above = `above_${level}`
  return `EXISTS (SELECT 1 FROM resource ${above} WHERE ${above}.id = ${row}.parent AND ${atLevel(level - 1, above)})`
}

function page(
  source: Engine,
  { name, columns, key }: Table,
  condition: string,
  after: Columns | undefined,
): Promise<readonly Columns[]> {
  const order = key.join(', ')
  const values = after === undefined ? [] : key.map(column => after[columns.indexOf(column)])
  const places = values.map((_, at) => `$${at + 1}`).join(', ')
  const from = after === undefined ? '' : ` AND (${order}) > (${places})`
  const text = `SELECT ${columns.join(', ')} FROM ${name} WHERE ${condition}${from} ORDER BY ${order} LIMIT ${PAGE}`
  return read(source, text, ...values)
}

function insertion({ name, columns }: Table, rows: number): string {
  const width = columns.length
  const row = (at: number): string =>
    `(${columns.map((_, column) => `$${at * width + column + 1}`).join(', ')})`
  const values = Array.from({ length: rows }, (_, at) => row(at)).join(', ')
  return `INSERT INTO ${name} (${columns.join(', ')}) VALUES ${values}`
}

async function countOf(source: Engine, { name, condition = 'TRUE' }: Table): Promise<number> {
  const [[count] = []] = await read(source, `SELECT count(*) FROM ${name} WHERE ${condition}`)
  return Number(count)
}

const read = (source: Engine, text: string, ...values: readonly unknown[]): Promise<readonly Columns[]> =>
  source.read({ text, values: values as SqlValue[] })

async function* step(text: string, ...values: readonly unknown[]): AsyncSteps<readonly unknown[]> {
  return yield { text, values: values as SqlValue[] }
}
