import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResource, onEachStore } from '../../support/each-store.ts'
import { newMember } from '../../support/members.ts'
import { Browser, browserOf, cookieOf, newLink, postLogin } from '../../support/dashboard.ts'
import type { Answer } from '../../support/server.ts'

const assertError = (answer: Answer, status: number, code: number): void => {
  assert.deepEqual([answer.status, answer.body.error_code], [status, `ERR_ADIT_${code}`], answer.body.msg)
}

onEachStore('a dashboard session', api => {
  const sessions = async (): Promise<{ id: string }[]> =>
    (await api().get('/dashboard_sessions')).body.dashboard_sessions

  test('SEC-session-theft: is started by a link, with a cookie that scripts and other sites cannot use', async () => {
    const token = await newLink(api())
    const answer = await postLogin(api(), { token })
    assert.match(
      answer.headers.get('set-cookie') ?? '',
      /^adit_session=\w+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    )
    const browser = new Browser(api(), answer)
    assert.equal(browser.session.user.role, 'admin')
    assert.equal(browser.session.user.email, 'admin@localhost')
    assert.deepEqual((await browser.get('/dashboard/session')).body, browser.session)
    assert.equal((await browser.get('/ip_policies')).status, 200)
    assert.equal((await browser.post('/ip_policies', {})).status, 201)
    const { body } = await browser.get('/self')
    assert.deepEqual([body.user, body.api_key], [browser.session.user.id, null])
  })

  test('SEC-session-token: has 256 random bits, which only the cookie has', async () => {
    const answers = [
      await postLogin(api(), { token: await newLink(api()) }),
      await postLogin(api(), { token: await newLink(api()) }),
    ]
    const tokens = answers.map(answer => {
      const browser = new Browser(api(), answer)
      const [, secret = ''] = /_([\w-]{43})$/.exec(browser.cookie) ?? []
      assert.ok(!JSON.stringify(answer.body).includes(secret) && answer.headers.get('location') === null)
      return secret
    })
    assert.ok(tokens.every(token => token !== '') && tokens[0] !== tokens[1])
  })

  test('SEC-no-store: no response with data is cached by browsers or proxies', async () => {
    const browser = await browserOf(api())
    for (const path of ['/dashboard/session', '/self', '/users', '/api_keys', '/audit_events', '/nothing'])
      assert.equal((await browser.get(path)).headers.get('cache-control'), 'no-store', path)
  })

  test('SEC-link-once: a link signs in once, also when it is used twice at the same time', async () => {
    const token = await newLink(api())
    const before = (await sessions()).length
    const answers = await Promise.all([postLogin(api(), { token }), postLogin(api(), { token })])
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((one, two) => one - two),
      [200, 401],
    )
    const late = await postLogin(api(), { token })
    assertError(late, 401, 90451)
    assert.equal(late.headers.get('set-cookie'), null)
    assertError(await postLogin(api(), { token: 'x' }), 401, 90451)
    assert.equal((await sessions()).length, before + 1)
  })

  test('SEC-fixation: signing in makes a new session, and ends the one that the browser had', async () => {
    const earlier = await browserOf(api())
    const answer = await postLogin(api(), { token: await newLink(api()) }, { cookie: earlier.cookie })
    assert.notEqual(cookieOf(answer), earlier.cookie)
    assertError(await earlier.get('/dashboard/session'), 401, 90450)
    const planted = `adit_session=${'a'.repeat(27)}_${'b'.repeat(43)}`
    const other = await postLogin(api(), { token: await newLink(api()) }, { cookie: planted })
    assert.notEqual(cookieOf(other), planted)
    assertError(await new Browser(api(), other).get('/self', { headers: { cookie: planted } }), 401, 90450)
  })

  test('SEC-sign-out: its cookie is worthless after sign-out, here and everywhere', async () => {
    const [one, two, three] = [await browserOf(api()), await browserOf(api()), await browserOf(api())]
    const answer = await one.post('/dashboard/logout')
    assert.equal(answer.status, 204)
    assert.match(answer.headers.get('set-cookie') ?? '', /^adit_session=; .*Max-Age=0/)
    assertError(await one.get('/ip_policies'), 401, 90450)
    assert.equal((await two.get('/ip_policies')).status, 200)
    assert.equal((await two.post('/dashboard/logout_everywhere')).status, 204)
    for (const browser of [two, three]) assertError(await browser.get('/ip_policies'), 401, 90450)
    assert.deepEqual(await sessions(), [])
  })

  test('SEC-revocation: ends when it, its user, its user’s access or its key is removed', async () => {
    const revoked = await browserOf(api())
    const [session] = await sessions()
    assert.equal((await api().delete(`/dashboard_sessions/${session?.id}`)).status, 204)
    assertError(await revoked.get('/self'), 401, 90450)

    const inactive = await newMember(api(), 'admin')
    const other = await browserOf(api(), inactive.token)
    await api().patch(`/users/${inactive.user.id}`, { active: false })
    assertError(await other.get('/self'), 401, 90450)
    assert.equal((await api().delete(`/users/${inactive.user.id}`)).status, 204)

    const keyless = await newMember(api(), 'admin')
    const third = await browserOf(api(), keyless.token)
    const unused = await newLink(api(), keyless.token)
    assert.equal((await api().delete(`/api_keys/${keyless.keyId}`)).status, 204)
    assertError(await third.get('/self'), 401, 90450)
    assertError(await postLogin(api(), { token: unused }), 401, 90451)
  })

  test('SEC-roles: has the role that its user has now, and shows members their own sessions only', async () => {
    const member = await newMember(api(), 'admin')
    const browser = await browserOf(api(), member.token)
    assert.equal((await browser.get('/users')).status, 200)
    await api().patch(`/users/${member.user.id}`, { role: 'member' })
    assert.equal((await browser.get('/dashboard/session')).body.user.role, 'member')
    const denied = await browser.get('/users')
    assert.equal(denied.status, 403)
    const admin = await browserOf(api())
    const [theirs] = (await admin.get('/dashboard_sessions?limit=1')).body.dashboard_sessions
    const { dashboard_sessions: own } = (await browser.get('/dashboard_sessions')).body
    assert.deepEqual(
      own.map(({ owner_id: owner }: { owner_id: string }) => owner),
      [member.user.id],
    )
    assert.equal((await browser.get(`/dashboard_sessions/${theirs.id}`)).status, 404)
    assert.equal((await browser.delete(`/dashboard_sessions/${theirs.id}`)).status, 404)
    assert.equal((await admin.get('/self')).status, 200)
    assert.equal((await api().post('/dashboard/link', undefined, { token: member.token })).status, 403)
    assert.equal((await browser.delete(`/dashboard_sessions/${own[0].id}`)).status, 204)
    assertError(await browser.get('/self'), 401, 90450)
  })

  test('shows where it is used, and never its secret', async () => {
    const browser = await browserOf(api())
    const [session] = (await browser.get('/dashboard_sessions?limit=1')).body.dashboard_sessions
    assert.deepEqual(Object.keys(session).toSorted(), [
      'api_key',
      'created_at',
      'expires_at',
      'id',
      'ip',
      'last_active',
      'method',
      'owner_id',
      'uri',
      'user_agent',
    ])
    assert.deepEqual([session.method, session.ip], ['link', '127.0.0.1'])
  })

  test('is bounded per user: a further sign-in ends the oldest one', async () => {
    const { token } = await newMember(api(), 'admin')
    const browsers: Browser[] = []
    for (let count = 0; count < 21; count++) browsers.push(await browserOf(api(), token))
    assertError(await (browsers[0] as Browser).get('/self'), 401, 90450)
    assert.equal((await (browsers[1] as Browser).get('/self')).status, 200)
    assert.equal((await (browsers[20] as Browser).get('/dashboard_sessions')).status, 200)
  })

  test('records sign-ins, rejected ones, sign-outs and changes under the name of the person', async () => {
    const { token, user } = await newMember(api(), 'admin')
    const browser = await browserOf(api(), token)
    const policy = await browser.post('/ip_policies', {})
    await browser.post('/dashboard/logout')
    await postLogin(api(), { token: 'wrong' }, { 'user-agent': 'guesser' })
    const events = (await api().get(`/audit_events?principal=${user.id}`)).body.audit_events
    assert.deepEqual(
      events.map((event: Answer['body']) => [event.type, event.principal.source]),
      [
        ['dashboard_session_deleted.v0', 'Dashboard'],
        ['ip_policy_created.v0', 'Dashboard'],
        ['dashboard_session_created.v0', 'Dashboard'],
      ],
    )
    assert.equal(events[1].object.id, policy.body.id)
    const { id, uri } = events[1].principal.credential
    assert.equal(uri, `${api().url}/dashboard_sessions/${id}`)
    const rejected = (await api().get('/audit_events?type=dashboard_session_rejected.v0&limit=1')).body
    assert.equal(rejected.audit_events[0].object.user_agent, 'guesser')
    assert.equal(rejected.audit_events[0].principal.ip, '127.0.0.1')
  })

  test('is only for browsers: an API key beside the cookie counts instead', async () => {
    const browser = await browserOf(api())
    const { token } = await newMember(api())
    const wrong = await browser.get('/self', { token: 'wrong' })
    assertError(wrong, 401, 203)
    assert.equal((await browser.get('/users', { token })).status, 403)
    await createResource(api(), '/ip_policies')
  })
})
