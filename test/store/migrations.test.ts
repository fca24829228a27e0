import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { postgres, sqlite } from '#store/dialect.ts'
import type { Steps } from '#store/engine.ts'
import { migrate, migrations, type Migration } from '#store/migrations.ts'
import { openPostgres } from '#store/postgres.ts'
import { openSqlite } from '#store/sqlite.ts'
import { forEachDriver } from './drivers.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { Folder } from '../support/folder.ts'

/** A later program's schema: one more column. */
const later: readonly Migration[] = [
  ...migrations,
  { version: 1000, statements: () => ['ALTER TABLE resource ADD COLUMN later TEXT'] },
]
/** The same, marked as usable by programs of this version. */
const compatible = later.map(migration => ({
  ...migration,
  ...(migration.version === 1000 && { compatibleFrom: migrations.length }),
}))
/** A later one, which such programs cannot use. */
const incompatible: readonly Migration[] = [
  ...compatible,
  { version: 1001, compatibleFrom: 1000, statements: () => ['ALTER TABLE resource ADD COLUMN last TEXT'] },
]
/** A program whose first migration differs from ours. */
const foreign: readonly Migration[] = [{ version: 1, statements: () => ['CREATE TABLE other (id TEXT)'] }]
const failing: readonly Migration[] = [
  {
    version: 1,
    statements: () => ['CREATE TABLE half (id TEXT PRIMARY KEY)', 'CREATE TABLE half (again TEXT)'],
  },
]

const refusals = [
  { known: later, code: 'newer_schema', message: /schema version 1000, .* up to 4\b/ },
  { known: incompatible, code: 'newer_schema', message: /schema version 1001, .* up to 4\b/ },
  { known: foreign, code: 'unusable', message: /by another program/ },
] as const

suite('sqlite migrations', () => {
  let folder: Folder
  before(async () => {
    folder = new Folder()
  })
  after(() => folder[Symbol.dispose]())

  function run(file: string, steps: Steps<void>): void {
    using database = new DatabaseSync(file)
    let step = steps.next()
    while (!step.done)
      step = steps.next(database.prepare(step.value.text.replaceAll('$', '?')).all(...step.value.values))
  }

  for (const { known, code, message } of refusals) {
    test(`refuse version ${known.at(-1)?.version} with ${code}`, async () => {
      const file = join(folder.path, `${known.length}.db`)
      run(file, migrate(sqlite, known))
      await assert.rejects(openSqlite(file), { name: 'StoreError', code, message })
      // The refusal gives up the lock, so that the right program can open it.
      await assert.rejects(openSqlite(file), { code })
    })
  }

  test('leave nothing of one that fails', async () => {
    const file = join(folder.path, 'failing.db')
    assert.throws(() => run(file, migrate(sqlite, failing)), /already exists/)
    await using store = await openSqlite(file)
    await store.ping()
  })
})

suite('postgres migrations', () => {
  let server: TestPostgres
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.stop())

  async function run(url: string, steps: Steps<void>): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      let step = steps.next()
      while (!step.done) {
        const { rows } = await client.query<Record<string, unknown>>(step.value.text, [...step.value.values])
        step = steps.next(rows)
      }
    } finally {
      await client.end()
    }
  }

  for (const { known, code, message } of refusals) {
    test(`refuse version ${known.at(-1)?.version} with ${code}`, async () => {
      const url = await server.newDatabase()
      await run(url, migrate(postgres, known))
      await assert.rejects(openPostgres(url), { name: 'StoreError', code, message })
    })
  }

  test('let a program use a newer schema that allows it', async () => {
    const url = await server.newDatabase()
    await run(url, migrate(postgres, compatible))
    await using store = await openPostgres(url)
    await store.ping()
  })

  test('leave nothing of one that fails', async () => {
    const url = await server.newDatabase()
    await assert.rejects(run(url, migrate(postgres, failing)), /already exists/)
    await using store = await openPostgres(url)
    await store.ping()
  })

  test('run once when many processes start together', async () => {
    const url = await server.newDatabase()
    const stores = await Promise.all(Array.from({ length: 5 }, () => openPostgres(url)))
    for (const store of stores) {
      assert.equal(await store.revision(), 0)
      await store[Symbol.asyncDispose]()
    }
  })
})

forEachDriver('migrations', ({ newDatabase }) => {
  test('change nothing that is up to date', async () => {
    const open = await newDatabase()
    for (let times = 0; times < 3; times += 1) {
      await using store = await open()
      assert.equal(await store.claimMeta('first', String(times)), '0')
    }
  })
})
