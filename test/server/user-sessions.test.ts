import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import { Sealer } from '#base/secrets.ts'
import type { SignedInUser } from '#auth/sign-in/user-session-store.ts'
import { UserSessions } from '#server/user-sessions.ts'
import { userAgentOf } from '#server/user-agent.ts'
import type { Row, Store } from '#store/store.ts'
import { forEachDriver } from '../store/drivers.ts'
import { testLog } from '../support/secrets.ts'
import { until } from '../support/until.ts'

const START = Date.parse('2026-03-01T12:00:00Z')

const signedIn = (changed: Partial<SignedInUser> = {}): SignedInUser => ({
  identity: { id: 'user-1', username: 'anna', email: 'anna@example.com', name: 'Anna Bell' },
  provider: { name: 'oidc', url: 'https://provider.test' },
  moduleContext: { id: newId('edghtsrt'), edgeId: newId('edghts') },
  publicUrl: 'https://app.test',
  ip: '203.0.113.7',
  userAgent: 'curl/8.5.0',
  expiresAt: START + 3_600_000,
  ...changed,
})

function signInsOn(store: Store, clock: { now: number } = { now: START }): UserSessions {
  const sealer = new Sealer(randomBytes(32))
  return new UserSessions({ store, sealer, log: testLog(), now: () => clock.now })
}

const bodyOf = (row: Row | undefined) => JSON.parse(row?.body ?? '{}') as Record<string, unknown>
const sessionsIn = (store: Store) => store.list('application_session', { limit: 1000 })
const usersIn = (store: Store) => store.list('application_user', { limit: 1000 })

/** Resolves when a commit was made. */
const committed = (store: Store): Promise<void> => new Promise(resolve => store.onCommit(() => resolve()))

forEachDriver('sign-ins', ({ newDatabase }) => {
  const open = async () => (await newDatabase())()

  test('are stored as a user and a session of it', async () => {
    await using store = await open()
    const came = signedIn()
    const { userId, sessionId } = await signInsOn(store).signedIn(came)
    const user = await store.get(userId)
    const session = await store.get(sessionId)
    assert.equal(user?.kind, 'application_user')
    assert.equal(session?.parent, userId)
    assert.equal(bodyOf(user)['email'], 'anna@example.com')
    assert.equal(bodyOf(user)['last_login'], '2026-03-01T12:00:00Z')
    const { browser_session, ...rest } = bodyOf(session)
    assert.deepEqual(rest, {
      id: sessionId,
      created_at: '2026-03-01T12:00:00Z',
      public_url: 'https://app.test',
      application_user: userId,
      last_active: '2026-03-01T12:00:00Z',
      expires_at: '2026-03-01T13:00:00Z',
      endpoint: null,
      edge: came.moduleContext.edgeId,
      route: came.moduleContext.id,
    })
    assert.deepEqual((browser_session as Record<string, unknown>)['ip_address'], '203.0.113.7')
  })

  test('of the same user find and update it', async () => {
    await using store = await open()
    const clock = { now: START }
    const userSessions = signInsOn(store, clock)
    const first = await userSessions.signedIn(signedIn())
    clock.now += 60_000
    const { identity } = signedIn()
    const second = await userSessions.signedIn(signedIn({ identity: { ...identity, name: 'Anna B.' } }))
    assert.equal(second.userId, first.userId)
    assert.notEqual(second.sessionId, first.sessionId)
    const body = bodyOf(await store.get(first.userId))
    assert.equal(body['name'], 'Anna B.')
    assert.equal(body['created_at'], '2026-03-01T12:00:00Z')
    assert.equal(body['last_login'], '2026-03-01T12:01:00Z')
  })

  test('of the same id at another provider are another user', async () => {
    await using store = await open()
    const userSessions = signInsOn(store)
    await userSessions.signedIn(signedIn())
    await userSessions.signedIn(signedIn({ provider: { name: 'oidc', url: 'https://other.test' } }))
    assert.equal((await usersIn(store)).length, 2)
  })

  test('at the same moment make one user', async () => {
    await using store = await open()
    const userSessions = signInsOn(store)
    await Promise.all(Array.from({ length: 5 }, () => userSessions.signedIn(signedIn())))
    assert.equal((await usersIn(store)).length, 1)
    assert.equal((await sessionsIn(store)).length, 5)
  })

  test('of a tunnel name the endpoint that it opened', async () => {
    await using store = await open()
    const tunnel = newId('tn')
    const { sessionId } = await signInsOn(store).signedIn(signedIn({ moduleContext: { id: tunnel } }))
    const { endpoint, route, edge } = bodyOf(await store.get(sessionId))
    assert.deepEqual([endpoint, route, edge], [tunnel.replace('tn_', 'ep_'), null, null])
  })

  test('evict the oldest sessions of a user with a hundred', async () => {
    await using store = await open()
    const userSessions = signInsOn(store)
    const first = await userSessions.signedIn(signedIn())
    for (let at = 0; at < 100; at++) await userSessions.signedIn(signedIn())
    assert.equal((await sessionsIn(store)).length, 100)
    assert.equal(await store.get(first.sessionId), undefined)
  })

  test('are updated when they are used', async () => {
    await using store = await open()
    const clock = { now: START }
    const userSessions = signInsOn(store, clock)
    const { userId, sessionId } = await userSessions.signedIn(signedIn())
    clock.now += 120_000
    const first = committed(store)
    userSessions.active(sessionId, START + 7_200_000)
    await first
    await until(async () => bodyOf(await store.get(userId))['last_active'] === '2026-03-01T12:02:00Z')
    const body = bodyOf(await store.get(sessionId))
    assert.equal(body['last_active'], '2026-03-01T12:02:00Z')
    assert.equal(body['expires_at'], '2026-03-01T14:00:00Z')
    // Still the same user for the next sign-in.
    assert.equal((await userSessions.signedIn(signedIn())).userId, userId)
  })

  test('end, also twice', async () => {
    await using store = await open()
    const userSessions = signInsOn(store)
    const { userId, sessionId } = await userSessions.signedIn(signedIn())
    await userSessions.ended(sessionId)
    await userSessions.ended(sessionId)
    await userSessions.ended(userId)
    assert.equal(await store.get(sessionId), undefined)
    assert.ok(await store.get(userId))
  })

  test('are removed when their time is over', async () => {
    await using store = await open()
    const clock = { now: START }
    const userSessions = signInsOn(store, clock)
    const short = await userSessions.signedIn(signedIn())
    const long = await userSessions.signedIn(signedIn({ expiresAt: START + 7_200_000 }))
    clock.now += 3_601_000
    await userSessions.prune()
    assert.equal(await store.get(short.sessionId), undefined)
    assert.ok(await store.get(long.sessionId))
  })
})

const agents: Readonly<Record<string, readonly string[]>> = {
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36': [
    'Chrome',
    '131.0.0.0',
    'desktop',
    'Linux',
    '',
  ],
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.2903.51':
    ['Edge', '131.0.2903.51', 'desktop', 'Windows', '10.0'],
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15':
    ['Safari', '18.1', 'desktop', 'macOS', '10.15.7'],
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1':
    ['Safari', '18.1', 'mobile', 'iOS', '18.1'],
  'Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 Firefox/132.0': [
    'Firefox',
    '132.0',
    'mobile',
    'Android',
    '14',
  ],
  'curl/8.5.0': ['curl', '8.5.0', '', '', ''],
  '': ['', '', '', '', ''],
  '\u0007<script>': ['', '', '', '', ''],
}

suite('a User-Agent field', () => {
  for (const [raw, [browser, version, device, system, systemVersion]] of Object.entries(agents))
    test(`is parsed: ${JSON.stringify(raw.slice(0, 60))}`, () => {
      assert.deepEqual(userAgentOf(raw), {
        raw: raw.replace('\u0007', ''),
        browser_name: browser,
        browser_version: version,
        device_type: device,
        os_name: system,
        os_version: systemVersion,
      })
    })

  test('is truncated if it is too long, and parsed in time', () => {
    assert.equal(userAgentOf('Android '.repeat(100_000)).raw.length, 512)
  })
})
