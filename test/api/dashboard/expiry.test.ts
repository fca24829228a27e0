import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, suite, test } from 'node:test'
import { createApi } from '#api/app.ts'
import type { Deps } from '#api/call.ts'
import { pruneSessions } from '#api/dashboard/sessions.ts'
import { createLog } from '#base/log.ts'
import { readSettings } from '#base/read-settings.ts'
import { Sealer } from '#base/secrets.ts'
import { firstStart } from '#server/first-start.ts'
import { openSqlite } from '#store/sqlite.ts'
import type { Store } from '#store/store.ts'
import { Browser, browserOf, newLink, postLogin } from '../../support/dashboard.ts'
import { Folder } from '../../support/folder.ts'
import { Caller } from '../../support/server.ts'
import { until } from '../../support/until.ts'

const MINUTE = 60_000
/** The defaults, which SECURITY.md names. */
const limits = { idleMs: 30 * MINUTE, lifetimeMs: 12 * 60 * MINUTE }

suite('the time of a dashboard session', () => {
  const folder = new Folder()
  let now = Date.now()
  let store: Store
  let server: ReturnType<typeof createApi>
  let api: Caller
  before(async () => {
    store = await openSqlite(':memory:')
    const settings = readSettings(new Map([['data_dir', folder.path]]), {})
    assert.equal(settings.dashboard_idle * MINUTE, limits.idleMs)
    assert.equal(settings.dashboard_lifetime * 60 * MINUTE, limits.lifetimeMs)
    const first = await firstStart(store, settings, now)
    server = createApi({
      store,
      sealer: new Sealer(randomBytes(32)),
      // Signing in asks neither the gateway nor for facts about the server.
      live: {} as Deps['live'],
      info: { accountId: 'ac_1' } as Deps['info'],
      now: () => now,
      log: createLog('silent'),
      rateLimit: () => 0,
      usedKey: () => undefined,
      settings: () => ({ settings: [] }),
      licences: () => assert.fail(),
      reload: async () => ({ changed: [], restart: [] }),
      publicUrl: undefined,
      ready: async () => [],
      metrics: async () => '',
      status: () => assert.fail(),
      checkDomain: () => assert.fail(),
      refreshUsage: () => assert.fail(),
      applied: async () => {},
      dashboard: limits,
    })
    api = new Caller(await server.listen({ host: '127.0.0.1', port: 0 }), first?.apiKey.reveal() ?? '')
  })
  after(async () => {
    await server.close()
    await store[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })
  beforeEach(() => {
    now += 24 * 60 * MINUTE
  })
  const statusOf = async (browser: Browser): Promise<number> => (await browser.get('/ip_policies')).status

  test('SEC-link-expiry: a link is worthless after 15 minutes', async () => {
    const [early, late] = [await newLink(api), await newLink(api)]
    now += 15 * MINUTE - 1000
    assert.equal((await postLogin(api, { token: early })).status, 200)
    now += 2000
    const answer = await postLogin(api, { token: late })
    assert.deepEqual([answer.status, answer.body.error_code], [401, 'ERR_ADIT_90451'])
  })

  test('SEC-idle: it ends without requests, and is deleted', async () => {
    const browser = await browserOf(api)
    now += 32 * MINUTE
    assert.equal(await statusOf(browser), 401)
    await pruneSessions({ store, now: () => now, limits })
    assert.deepEqual((await api.get('/dashboard_sessions')).body.dashboard_sessions, [])
  })

  test('SEC-lifetime: requests prolong it, but not beyond its end', async () => {
    const browser = await browserOf(api)
    const end = now + limits.lifetimeMs
    while (now + 25 * MINUTE < end) {
      now += 25 * MINUTE
      assert.equal(await statusOf(browser), 200)
      // Its use is recorded in the background.
      const used = new Date(now).toISOString().slice(0, 16)
      await until(async () => {
        const [row] = await store.list('dashboard_session', { limit: 1 })
        return row?.body.includes(`"last_active":"${used}`) === true
      })
    }
    now = end
    assert.equal(await statusOf(browser), 401)
  })
})
