import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { dashboardCalls } from '#contract/dashboard.ts'
import { createResource } from '../../support/each-store.ts'
import { type Browser, browserOf, newLink, postLogin } from '../../support/dashboard.ts'
import { startServer, type Answer, type TestServer } from '../../support/server.ts'

suite('requests with the cookie of a dashboard session', () => {
  let server: TestServer
  let browser: Browser
  before(async () => {
    server = await startServer()
    browser = await browserOf(server.api)
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
  })
  const policies = async (): Promise<number> => (await server.api.get('/ip_policies')).body.ip_policies.length

  /** Sends a change that must be rejected, and proves that nothing changed. */
  async function assertRejected(headers: Record<string, string>, code: number): Promise<void> {
    const count = await policies()
    const answer = await browser.post('/ip_policies', {}, { headers })
    assert.deepEqual([answer.status, answer.body.error_code], [403, `ERR_ADIT_${code}`], answer.body.msg)
    assert.equal(await policies(), count)
  }

  test('SEC-csrf-token: change nothing without the token of this session', async () => {
    await assertRejected({ 'x-csrf-token': '' }, 90452)
    await assertRejected({ 'x-csrf-token': 'wrong' }, 90452)
    const other = await browserOf(server.api)
    await assertRejected({ 'x-csrf-token': other.csrfToken }, 90452)
    for (const path of ['/dashboard/logout', '/dashboard/logout_everywhere']) {
      const answer = await browser.post(path, undefined, { headers: { 'x-csrf-token': '' } })
      assert.equal(answer.body.error_code, 'ERR_ADIT_90452')
    }
    assert.equal((await browser.get('/dashboard/session')).status, 200)
  })

  test('SEC-csrf-origin: change nothing when another origin or an unknown one sends them', async () => {
    const port = new URL(server.api.url).port
    await assertRejected({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, 90453)
    await assertRejected({ origin: 'https://evil.example', 'sec-fetch-site': '' }, 90453)
    await assertRejected({ origin: 'https://evil.example' }, 90453)
    await assertRejected({ origin: `http://tunnel.localhost:${port}`, 'sec-fetch-site': 'same-site' }, 90453)
    await assertRejected({ origin: 'null', 'sec-fetch-site': '' }, 90453)
    await assertRejected({ origin: '', 'sec-fetch-site': '' }, 90453)
    await assertRejected({ origin: '', 'sec-fetch-site': 'none' }, 90453)
    for (const headers of [{ origin: '' }, { 'sec-fetch-site': '' }])
      assert.equal((await browser.post('/ip_policies', {}, { headers })).status, 201, 'one of both is enough')
  })

  test('SEC-csrf-read: read nothing for a page of another origin', async () => {
    for (const site of ['cross-site', 'same-site'])
      for (const path of ['/ip_policies', '/dashboard/session', '/changes/stream']) {
        const answer = await browser.get(path, { headers: { origin: '', 'sec-fetch-site': site } })
        assert.deepEqual([answer.status, answer.body.error_code], [403, 'ERR_ADIT_90453'])
      }
    const answer = await browser.get('/ip_policies', {
      headers: { origin: 'https://evil.example', 'sec-fetch-site': '' },
    })
    assert.equal(answer.status, 403)
    assert.equal(answer.headers.get('access-control-allow-credentials'), null)
    const opened = await browser.get('/ip_policies', { headers: { origin: '', 'sec-fetch-site': 'none' } })
    assert.equal(opened.status, 200, 'typed by the user')
  })

  test('SEC-csrf-form: cannot be sent by a form', async () => {
    const types = ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']
    for (const type of types) {
      const count = await policies()
      const headers = { 'content-type': type }
      const answer = await browser.post('/ip_policies', '{}', { headers })
      assert.equal(answer.status, 415)
      assert.equal(await policies(), count)
      const token = await newLink(server.api)
      assert.equal((await postLogin(server.api, { token }, headers)).status, 415)
      assert.equal((await postLogin(server.api, { token })).status, 200, 'the link was not used')
    }
  })

  test('SEC-csrf-login: no other page signs a browser in', async () => {
    const token = await newLink(server.api)
    for (const site of ['cross-site', 'same-site', 'none']) {
      const answer = await postLogin(server.api, { token }, { 'sec-fetch-site': site })
      assert.deepEqual([answer.status, answer.body.error_code], [403, 'ERR_ADIT_90453'])
    }
    const foreign = await postLogin(server.api, { token }, { origin: 'https://evil.example' })
    assert.equal(foreign.body.error_code, 'ERR_ADIT_90453')
    assert.equal(foreign.headers.get('set-cookie'), null)
    assert.equal((await postLogin(server.api, { token })).status, 200, 'the link was not used')
  })

  const assertShut = ({ headers }: Pick<Answer, 'headers'>): void => {
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('access-control-allow-origin'), null)
  }

  test('SEC-clickjacking: no response below /dashboard can be framed or read by other origins', async () => {
    const origin = 'https://evil.example'
    for (const { method, path } of Object.values(dashboardCalls))
      assertShut(await server.api.call(method, path, { headers: { origin } }))
    for (const path of ['/dashboard', '/dashboard/nothing', '/dashboard/login', '/dashboard/%']) {
      const response = await fetch(server.api.url + path, { headers: { origin } })
      await response.text()
      assertShut(response)
    }
    assertShut(await browser.get('/dashboard/session'))
    const preflight = await server.api.call('OPTIONS', '/dashboard/login', { headers: { origin } })
    assert.equal(preflight.headers.get('access-control-allow-origin'), null)
  })

  test('keep a stream open until the session ends', async () => {
    const answer = await fetch(`${server.api.url}/changes/stream?kind=ip_policy`, {
      headers: { cookie: browser.cookie },
    })
    assert.equal(answer.headers.get('content-type'), 'text/event-stream')
    await createResource(server.api, '/ip_policies')
    let text = ''
    const reading = (async () => {
      for await (const piece of answer.body ?? []) {
        text += Buffer.from(piece as Uint8Array).toString()
        if (text.includes('"ip_policy"')) await browser.post('/dashboard/logout_everywhere')
      }
    })()
    await reading
    assert.match(text, /event: change/)
  })
})
