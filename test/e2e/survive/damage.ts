import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import type { Random } from '../durability/random.ts'

type Fields = Record<string, unknown>

interface Row {
  readonly id: string
  readonly kind: string
  readonly body: string
}

/** A database whose rows are changed behind the back of the server. */
export interface Rows {
  all(): Promise<readonly Row[]>
  /** Writes a row as another server would: with its entry in the log of changes. */
  write(row: Row): Promise<void>
}

const SELECT = 'SELECT id, kind, body FROM resource ORDER BY id'

export function sqliteRows(file: string): Rows & Disposable {
  const database = new DatabaseSync(file, { timeout: 60_000 })
  // The machine is not switched off; hundreds of rows, each brought to the disk, take long.
  database.exec('PRAGMA synchronous = OFF')
  return {
    all: async () => database.prepare(SELECT).all() as unknown as Row[],
    async write({ id, kind, body }) {
      database.exec('BEGIN IMMEDIATE')
      database.prepare('UPDATE resource SET body = ?, version = version + 1 WHERE id = ?').run(body, id)
      database.exec('UPDATE counter SET revision = revision + 1')
      database
        .prepare("INSERT INTO change (revision, kind, id, op) SELECT revision, ?, ?, 'update' FROM counter")
        .run(kind, id)
      database.exec('COMMIT')
    },
    [Symbol.dispose]: () => database.close(),
  }
}

export async function postgresRows(url: string): Promise<Rows & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    all: async () => (await client.query<Row>(SELECT)).rows,
    async write({ id, kind, body }) {
      await client.query('BEGIN')
      await client.query('UPDATE resource SET body = $1, version = version + 1 WHERE id = $2', [body, id])
      await client.query('UPDATE counter SET revision = revision + 1')
      await client.query(
        "INSERT INTO change (revision, kind, id, op) SELECT revision, $1, $2, 'update' FROM counter",
        [kind, id],
      )
      await client.query('COMMIT')
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** Texts that are not the JSON of an object. */
const wrongTexts = ['', 'null', '5', '"text"', '[]', 'true', '{"id":', '{]', '\uFFFD']
/** None of them is true: a restriction that becomes enforced by damage would apply to everyone. */
const wrongValues: readonly unknown[] = [
  null,
  0,
  -1,
  1e308,
  '',
  ' ',
  'text',
  '[::1',
  '*.*',
  [],
  [null],
  [5],
  [[]],
  ['', 'text'],
  {},
  { a: null },
  { enabled: 'text' },
  { backend: '' },
  { backend: 5 },
  { '': -1 },
  { length: 3 },
  { __proto__: null, toString: 5 },
]

/** One wrong value somewhere in an object. */
function damagedFields(fields: Fields, random: Random): Fields {
  const name = random.pick(Object.keys(fields)) ?? 'id'
  const inner = fields[name]
  const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
  const value =
    isObject && random.below(2) === 0 ? damagedFields(inner as Fields, random) : random.pick(wrongValues)
  return { ...fields, [name]: value }
}

/** The text of a row with random damage, from one wrong field to no JSON at all. */
export function damaged(text: string, random: Random): string {
  const extent = random.below(5)
  if (extent === 0) return random.pick(wrongTexts) ?? ''
  if (extent === 1) return text.slice(0, random.below(text.length))
  let fields = JSON.parse(text) as Fields
  if (extent === 2)
    return JSON.stringify(
      Object.fromEntries(Object.keys(fields).map(name => [name, random.pick(wrongValues)])),
    )
  for (let count = 0; count < (extent === 3 ? 1 : 4); count++) fields = damagedFields(fields, random)
  return JSON.stringify(fields)
}
