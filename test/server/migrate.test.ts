import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { newId } from '#base/ids.ts'
import { openPostgres } from '#store/postgres.ts'
import { openSqlite } from '#store/sqlite.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { secretText } from '../support/secrets.ts'
import { creatable, Seeds } from '../support/seeds.ts'
import { runAdit, spawnAdit, spawnServer } from '../support/server.ts'
import { newFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'

/** Of several pages; in long runs of as many as large installations have. */
const MANY = process.env['TEST_LONG'] === '1' ? 100_000 : 5000
const BATCH = 1000
const SECRET = secretText('a client secret that moves')
const tables = ['meta', 'resource', 'reference', 'claim', 'change', 'event', 'counter']

const WRITING = `pg_locks WHERE mode = 'RowExclusiveLock' AND relation = to_regclass('resource')`

let database: TestPostgres
let folder: string
let data: string
let route: string

/** Rows of a table in an order that both engines agree on. */
const inOrder = (rows: readonly object[]): string[] => rows.map(row => JSON.stringify(row)).toSorted()

function sqliteRows(file: string, table: string): string[] {
  using opened = new DatabaseSync(file, { readOnly: true })
  return inOrder(opened.prepare(`SELECT * FROM ${table}`).all())
}

async function postgresRows(url: string, table: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  client.setTypeParser(20, Number)
  await client.connect()
  try {
    return inOrder((await client.query<object>(`SELECT * FROM ${table}`)).rows)
  } finally {
    await client.end()
  }
}

/** Locks a table against writes, so that a copy stops there, until it is released. */
async function holding(url: string, table: string) {
  // Makes the tables.
  await (await openPostgres(url))[Symbol.asyncDispose]()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`)
  let isHeld = true
  const release = async (): Promise<void> => {
    if (isHeld) await client.end()
    isHeld = false
  }
  return { release, [Symbol.asyncDispose]: release }
}

const migrate = (dataDir: string, to: string, more: Record<string, string> = {}) =>
  runAdit(['migrate', '--to', to], { ADIT_DATA_DIR: dataDir, ...more })

const fingerprint = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** Writes resources that refer to each other and hold claims, as the API would, but many at a time. */
async function fill(file: string): Promise<void> {
  await using store = await openSqlite(file)
  for (let from = 0; from < MANY; from += BATCH) {
    let target: string | undefined
    const batch = Array.from({ length: BATCH }, (_, at) => {
      const id = newId('bkdhr')
      const refs = target === undefined ? [] : [target]
      target = id
      const body = JSON.stringify({ id, description: `number ${from + at} — «ö»`, status_code: 200 })
      const claims = [{ namespace: 'test', value: String(from + at) }]
      return { op: 'insert' as const, entry: { row: row(id, body), refs, claims } }
    })
    const { ok } = await store.commit(batch)
    assert.ok(ok)
  }
}

const row = (id: string, body: string) => ({
  id,
  kind: 'http_response_backend',
  parent: null,
  version: 1,
  body,
})

before(async () => {
  database = await startPostgres()
  folder = newFolder()
  data = join(folder, 'data')
  const server = await spawnServer(data)
  const seeds = new Seeds(server.api)
  for (const collection of creatable) await seeds.make(collection)
  const edge = await server.api.post('/edges/https', {})
  const made = await server.api.post(`/edges/https/${edge.body.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    oidc: { issuer: 'https://id.example.com', client_id: 'adit', client_secret: SECRET },
  })
  route = `/edges/https/${edge.body.id}/routes/${made.body.id}`
  await server.end('SIGTERM')
  await fill(join(data, 'adit.db'))
})
after(async () => {
  await database.stop()
  rmSync(folder, { recursive: true, force: true })
})

suite('adit migrate', () => {
  test('copies everything to PostgreSQL, where a server continues, and back to SQLite', async () => {
    const url = await database.newDatabase()
    const file = join(data, 'adit.db')
    const print = fingerprint(file)
    const there = await migrate(data, url)
    assert.equal(there.code, 0, there.stderr)
    assert.match(
      there.stdout,
      new RegExp(`Copied .*\\b${MANY / 1000}\\d{3} resource\\b.* rows\\.\nSet database_url`),
    )
    assert.equal(fingerprint(file), print, 'the source is untouched')
    for (const table of tables)
      assert.deepEqual(await postgresRows(url, table), sqliteRows(file, table), table)

    const server = await spawnServer(data, { ADIT_DATABASE_URL: url })
    const { body } = await server.api.get(`${route}/oidc`)
    assert.equal(body.client_secret, SECRET, 'secrets open with the same key')
    assert.equal((await server.api.post('/ip_policies', { description: 'later' })).status, 201)
    await server.end('SIGTERM')

    const back = join(folder, 'back')
    cpSync(data, back, { recursive: true })
    for (const name of readdirSync(back)) if (name.startsWith('adit.db')) rmSync(join(back, name))
    const returned = await migrate(back, 'sqlite', { ADIT_DATABASE_URL: url })
    assert.equal(returned.code, 0, returned.stderr)
    for (const table of tables)
      assert.deepEqual(sqliteRows(join(back, 'adit.db'), table), await postgresRows(url, table), table)
    assert.deepEqual(
      readdirSync(back).filter(name => name.includes('partial')),
      [],
    )
    const again = await spawnServer(back)
    const found = await again.api.get('/ip_policies?limit=1')
    assert.equal(found.body.ip_policies[0].description, 'later')
    await again.end('SIGTERM')
  })

  test('leaves source and target as they were when it is killed', async () => {
    const url = await database.newDatabase()
    const file = join(data, 'adit.db')
    const print = fingerprint(file)
    await using held = await holding(url, 'change')
    const child = spawnAdit(['migrate', '--to', url], { ADIT_DATA_DIR: data })
    // Rows of an unfinished transaction cannot be seen, but its locks can.
    await until(async () => {
      assert.equal(child.exitCode, null, 'it has not ended')
      return (await postgresRows(url, WRITING)).length > 0
    })
    child.kill('SIGKILL')
    await new Promise(resolve => child.once('close', resolve))
    await held.release()
    // PostgreSQL notices the end of a client that waits when it is its turn.
    await until(async () => (await postgresRows(url, WRITING)).length === 0)
    assert.equal(fingerprint(file), print)
    for (const table of tables.filter(name => name !== 'counter')) {
      const rows = await postgresRows(url, table)
      const ofInstallation = rows.filter(text => !text.includes('"schema_'))
      assert.deepEqual(ofInstallation, [], table)
    }
  })

  test('refuses a target that is not empty, and changes nothing there', async () => {
    const url = await database.newDatabase()
    const other = join(folder, 'other')
    const server = await spawnServer(other, { ADIT_DATABASE_URL: url })
    const busy = await migrate(data, url)
    assert.deepEqual([busy.code, busy.stdout], [1, ''])
    assert.match(
      busy.stderr,
      /^adit: Another process uses the PostgreSQL database: stop that server first\.\n$/,
    )
    await server.end('SIGTERM')
    const rows = await postgresRows(url, 'resource')
    const refused = await migrate(data, url)
    assert.deepEqual([refused.code, refused.stdout], [1, ''])
    assert.match(refused.stderr, /^adit: The target is not empty: give it a new database\.\n$/)
    assert.deepEqual(await postgresRows(url, 'resource'), rows)
  })

  test('refuses what cannot be copied', async () => {
    const url = await database.newDatabase()
    const nowhere = join(folder, 'nowhere')
    const empty = await database.newDatabase()
    const file = join(data, 'adit.db')
    const moved = join(folder, 'moved')
    for (const [what, dataDir, to, environment, reason] of [
      ['no database', nowhere, url, {}, /there is nothing to migrate/],
      [
        'another kind of URL',
        data,
        'mysql://localhost/x',
        {},
        /--to must be a URL that begins with postgres/,
      ],
      ['from SQLite to SQLite', data, 'sqlite', {}, /the server already uses SQLite/],
      ['from PostgreSQL to PostgreSQL', data, url, { ADIT_DATABASE_URL: empty }, /already uses PostgreSQL/],
      ['over a file', data, 'sqlite', { ADIT_DATABASE_URL: empty }, /adit\.db already exists: move it/],
      ['an unreachable server', data, 'postgres://127.0.0.1:1/x', {}, /The database server does not respond/],
    ] as const) {
      const { code, stderr } = await migrate(dataDir, to, environment)
      assert.deepEqual([what, code], [what, 1])
      assert.match(stderr, reason, what)
    }
    assert.ok(!existsSync(nowhere))

    renameSync(file, moved)
    const without = await migrate(data, 'sqlite', { ADIT_DATABASE_URL: empty })
    assert.equal(without.code, 1)
    assert.match(without.stderr, /has no installation of Adit/)
    assert.ok(!existsSync(file))
    renameSync(moved, file)

    const running = await spawnServer(join(folder, 'running'))
    const locked = await migrate(join(folder, 'running'), url)
    assert.equal(locked.code, 1)
    assert.match(locked.stderr, /Another process uses this database/)
    await running.end('SIGTERM')
  })
})
