import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { openStore } from '#store/open.ts'
import { openPostgres, openPostgresForCopy } from '#store/postgres.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { PostgresRelay } from '../support/postgres-relay.ts'
import { event, ids, insert, write } from './writes.ts'
import { until } from '../support/until.ts'

const unavailable = { name: 'StoreError', code: 'unavailable' }

function assertUnavailable(error: unknown): void {
  assert.ok(error instanceof StoreError)
  // Which of the two depends on whether the connection broke before the commit or during it.
  assert.ok(error.code === 'unavailable' || error.code === 'uncertain', error.code)
}

suite('postgres server', () => {
  let server: TestPostgres
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.stop())

  async function administer(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query(text)
    await client.end()
  }

  test('is opened for a postgresql: URL', async () => {
    await using store = await openStore({ databaseUrl: await server.newDatabase(), dataDir: '/nonexistent' })
    await store.ping()
  })

  test('is refused with what is wrong when it cannot be opened', async () => {
    const missing = server.url.replace('/postgres?', '/no_such_database?')
    await assert.rejects(openPostgres(missing), { name: 'StoreError', code: 'unusable', message: /3D000/ })
    await assert.rejects(openPostgres('postgresql://postgres@127.0.0.1:1/postgres'), unavailable)
  })

  test('is refused before any change if it is older than PostgreSQL 13', async () => {
    const url = await server.newDatabase()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    // What a server of that version says; test/outside has a real one.
    await client.query(`CREATE FUNCTION public.current_setting(text) RETURNS text
      LANGUAGE sql AS $$ SELECT '12.22'::text $$`)
    const { pathname } = new URL(url)
    await client.query(`ALTER DATABASE ${pathname.slice(1)} SET search_path = public, pg_catalog`)
    const refused = { name: 'StoreError', code: 'unusable', message: /PostgreSQL 12\.22.*PostgreSQL 13/ }
    await assert.rejects(openPostgres(url), refused)
    for (const use of ['source', 'target'] as const)
      await assert.rejects(openPostgresForCopy(url, use), refused)
    const { rows } = await client.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
    assert.deepEqual(rows, [])
    await client.end()
  })

  test('works again after its connections were cut', async () => {
    await using store = await openPostgres(await server.newDatabase())
    await write(store, insert('a'))
    for (let round = 0; round < 3; round += 1) {
      const calls = Array.from({ length: 20 }, (_, n) => store.commit([insert(`r${round}_${n}`)]))
      const settled = Promise.allSettled([...calls, store.list('thing', { limit: 1 })])
      await administer(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'adit'`,
      )
      for (const result of await settled) {
        if (result.status === 'rejected') assertUnavailable(result.reason)
      }
      await answersAgain(store)
    }
  })

  test('keeps every acknowledged row through a crash, and needs no restart of its own', async () => {
    await using store = await openPostgres(await server.newDatabase())
    const acknowledged: string[] = []
    let failures = 0
    let running = true
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; running; n += 1) {
        const id = `w${writer}_${n}`
        await store.commit([insert(id)]).then(
          outcome => outcome.ok && acknowledged.push(id),
          (error: unknown) => {
            assertUnavailable(error)
            failures += 1
            running = false
          },
        )
      }
    })
    await until(() => acknowledged.length >= 200)
    await server.crash()
    await Promise.all(writers)
    assert.ok(failures > 0)
    await assert.rejects(store.ping(), unavailable)

    await server.restart()
    await answersAgain(store)
    assert.equal((await store.getMany(acknowledged)).length, acknowledged.length)
    const revision = await store.revision()
    const changes = await store.changes(0, revision + 1)
    assert.deepEqual(
      changes.map(change => change.revision),
      Array.from({ length: revision }, (_, n) => n + 1),
    )
    await write(store, insert('after'))
  })

  test('calls an insert uncertain whose response is lost with the connection', async () => {
    const url = await server.newDatabase()
    const relay = await PostgresRelay.start(url)
    await using store = await openPostgres(relay.url)
    await write(store, insert('a'))
    relay.delayMs = 60_000
    const committed = assert.rejects(store.commit([insert('b'), event('e_b')]), {
      name: 'StoreError',
      code: 'uncertain',
    })
    await using other = await openPostgres(url)
    await until(async () => (await other.get('b')) !== undefined)
    await relay[Symbol.asyncDispose]()
    await committed
  })

  test('calls an insert that the server has cancelled unavailable, not uncertain', async () => {
    const url = await server.newDatabase()
    await using store = await openPostgres(url)
    await write(store, insert('a'))
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('BEGIN')
    await client.query('SELECT * FROM counter FOR UPDATE')
    const cancelled = assert.rejects(store.commit([insert('b'), event('e_b')]), unavailable)
    const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await until(async () => (await client.query(cancel)).rowCount === 1)
    await cancelled
    await client.query('ROLLBACK')
    await client.end()
    await write(store, insert('c'))
    assert.deepEqual(ids(await store.changes(0, 9)), ['a', 'c'])
    assert.deepEqual(await store.events(0, 9), [])
  })

  test('accepts concurrent inserts where transactions are serializable by default', async () => {
    const url = await server.newDatabase()
    await administer(
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_isolation = 'serializable'`,
    )
    await using first = await openPostgres(url)
    await using second = await openPostgres(url)
    for (let round = 0; round < 20; round += 1) {
      const commits = [first, second].map((store, n) => store.commit([insert(`r${round}_${n}`)]))
      for (const outcome of await Promise.all(commits)) assert.ok(outcome.ok)
    }
    assert.equal(await first.revision(), 40)
  })

  test('shows the changes of the server that its connections are to', async () => {
    const url = await server.newDatabase()
    await using store = await openPostgres(url)
    for (const id of ['a', 'b', 'c', 'd']) await write(store, insert(id))
    assert.deepEqual(ids(await store.changes(1, 9, 4)), ['b', 'c', 'd'])

    // As a standby that lacks the latest commits has it, after a failover to it.
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`DELETE FROM change WHERE revision > 2; UPDATE counter SET revision = 2;
      DELETE FROM resource WHERE id IN ('c', 'd')`)
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'adit'`)
    await client.end()
    await using other = await openPostgres(url)
    for (const id of ['e', 'f']) await write(other, insert(id))
    await answersAgain(store)
    assert.deepEqual(ids(await store.changes(1, 9, 4)), ['b', 'e', 'f'])
  })

  test('commits durably even where the database does not by default', async () => {
    const url = await server.newDatabase()
    await administer(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`)
    await using store = await openPostgres(url)
    await write(store, insert('a'))
    await server.crash()
    await server.restart()
    await answersAgain(store)
    assert.ok(await store.get('a'))
  })
})

/** The first call may meet a connection that is already dead; it must not take more than a few. */
async function answersAgain(store: Store): Promise<void> {
  for (let attempt = 0; attempt < 12; attempt += 1) {
    try {
      await store.ping()
      return
    } catch (error) {
      assertUnavailable(error)
    }
  }
  assert.fail('The store did not recover.')
}
