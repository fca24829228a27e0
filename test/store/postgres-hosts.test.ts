import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { openPostgres } from '#store/postgres.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { atHost, hostOf } from '../support/postgres-relay.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { insert, write } from './writes.ts'

const NOWHERE = '/nonexistent'

const withAttribute = (url: string, value: string): string => `${url}&target_session_attrs=${value}`

suite('a database URL', () => {
  let primary: TestPostgres
  before(async () => {
    primary = await startPostgres()
  })
  after(() => primary.stop())

  test('may list several hosts, of which some are down', async () => {
    const url = await primary.newDatabase()
    await using store = await openPostgres(atHost(url, `${NOWHERE},${hostOf(url)}`))
    await write(store, insert('a'))
    await assert.rejects(openPostgres(atHost(url, `${NOWHERE},${NOWHERE}/2`)), { code: 'unavailable' })
    await assert.rejects(openPostgres('postgresql://postgres@127.0.0.1:1,[::1]:1/postgres'), {
      code: 'unavailable',
    })
  })

  test('is refused with the reason when it cannot be meant', async () => {
    const url = await primary.newDatabase()
    const refused = { name: 'StoreError', code: 'unusable' }
    await assert.rejects(openPostgres(withAttribute(url, 'standby')), { ...refused, message: /read-write/ })
    await assert.rejects(openPostgres(`${atHost(url, '/a,/b,/c')}&port=1,2`), { ...refused, message: /port/ })
    await assert.rejects(openPostgres('postgresql://a:b:c/d'), { ...refused, message: /cannot be read/ })
  })

  test('through PgBouncer works in session mode, and is refused in transaction mode', async () => {
    const url = await primary.newDatabase()
    await using transactions = await startPgBouncer(url, 'transaction')
    await assert.rejects(openPostgres(transactions.url), {
      code: 'unusable',
      message: /transaction mode.*pool_mode = session/,
    })
    await using sessions = await startPgBouncer(url, 'session')
    await using store = await openPostgres(sessions.url)
    await Promise.all(Array.from({ length: 40 }, (_, n) => write(store, insert(`row${n}`))))
    assert.equal((await store.list('thing', { limit: 100 })).length, 40)
  })

  test('with a standby follows a failover, and keeps what was acknowledged', async () => {
    const url = await primary.newDatabase()
    const standby = await primary.startStandby()
    try {
      const both = withAttribute(atHost(url, `${hostOf(standby.url)},${hostOf(url)}`), 'read-write')
      await using store = await openPostgres(both)
      await assert.rejects(openPostgres(withAttribute(atHost(url, hostOf(standby.url)), 'read-write')), {
        code: 'read_only',
      })
      const acknowledged: string[] = []
      let isOver = false
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; !isOver; n += 1) {
          const id = `w${writer}_${n}`
          await write(store, insert(id)).then(
            () => acknowledged.push(id),
            // Until the standby is promoted.
            (error: unknown) =>
              assert.match(String(Reflect.get(Object(error), 'code')), /^(unavailable|uncertain|read_only)$/),
          )
        }
      })
      await until(() => acknowledged.length >= 200)
      await primary.crash()
      await standby.promote()
      const earlier = acknowledged.length
      await until(() => acknowledged.length >= earlier + 50)
      isOver = true
      await Promise.all(writers)
      assert.equal((await store.getMany(acknowledged)).length, acknowledged.length)
    } finally {
      await standby.stop()
    }
  })
})
