import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { OpenIdProvider } from '../../auth/oidc/openid-provider.ts'
import { createResource } from '../../support/each-store.ts'
import { freePort } from '../../support/free-ports.ts'
import { registerSecret, secretText } from '../../support/secrets.ts'
import { startServer, type TestServer } from '../../support/server.ts'

/** Follows redirects between the dashboard and the provider, with the cookies of both, as a browser does. */
class Surfer {
  readonly #cookies = new Map<string, string>()

  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** Requests a page; resolves to where it redirects to. */
  async step(url: string, form?: Record<string, string>): Promise<{ response: Response; next: string }> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: this.cookie, 'sec-fetch-site': 'cross-site' },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(name)
      else this.#cookies.set(name, registerSecret(value))
    }
    const location = response.headers.get('location')
    return { response, next: location === null ? '' : new URL(location, url).href }
  }

  /** Signs in at the provider; resolves to the URL that it sends the browser back to. */
  async signIn(start: string, user: string, callback: string): Promise<string> {
    let { response, next } = await this.step(start)
    for (let hops = 0; hops < 12 && !next.startsWith(callback); hops++) {
      if (next !== '') {
        ;({ response, next } = await this.step(next))
        continue
      }
      const text = await response.text()
      const [, action = ''] = /<form[^>]* action="([^"]+)"/.exec(text) ?? []
      const isLogin = text.includes('name="login"')
      const form = isLogin ? { prompt: 'login', login: user, password: 'any' } : { prompt: 'consent' }
      ;({ response, next } = await this.step(new URL(action, response.url).href, form))
    }
    registerSecret(new URL(next).searchParams.get('code') ?? '')
    return next
  }
}

suite('signing in to the dashboard through an OpenID provider', () => {
  let server: TestServer
  let provider: OpenIdProvider
  let callback: string
  before(async () => {
    const port = await freePort()
    callback = `http://127.0.0.1:${port}/dashboard/oidc/callback`
    provider = await OpenIdProvider.start(callback)
    server = await startServer({
      api_addr: `127.0.0.1:${port}`,
      egress_allow: '127.0.0.0/8',
      dashboard_openid_issuer: provider.issuer,
      dashboard_openid_client: `adit:${secretText('openid client')}`,
      dashboard_openid_domains: 'example.com',
      dashboard_openid_roles: 'adas=member,roots=admin',
    })
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    await provider[Symbol.asyncDispose]()
  })
  const start = (): string => `${server.api.url}/dashboard/oidc`
  const users = async (): Promise<string[]> =>
    (await server.api.get('/users')).body.users.map(({ email }: { email: string }) => email)

  test('creates a member at the first sign-in, and finds it again at the next', async () => {
    const { body } = await server.api.get('/dashboard/methods', { token: null })
    assert.deepEqual(body, { openid: true })
    for (let count = 0; count < 2; count++) {
      const surfer = new Surfer()
      const { response, next } = await surfer.step(await surfer.signIn(start(), 'ada', callback))
      assert.deepEqual([response.status, next], [302, `${server.api.url}/dashboard`])
      assert.match(response.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
      const session = await server.api.get('/dashboard/session', {
        token: null,
        headers: { cookie: surfer.cookie },
      })
      assert.deepEqual(
        [session.body.user.email, session.body.user.role],
        ['ada@example.com', 'member'],
        JSON.stringify(session.body),
      )
    }
    assert.equal((await users()).filter(email => email === 'ada@example.com').length, 1)
    const [listed] = (await server.api.get('/dashboard_sessions?limit=1')).body.dashboard_sessions
    assert.equal(listed.method, 'openid')
  })

  test('SEC-openid-roles: gives the role of the groups at each sign-in, and none to other groups', async () => {
    const { id } = await createResource(server.api, '/users', { name: 'Root', email: 'root@example.com' })
    const surfer = new Surfer()
    await surfer.step(await surfer.signIn(start(), 'root', callback))
    assert.equal((await server.api.get(`/users/${id}`)).body.role, 'admin')
    const count = (await users()).length
    const stranger = new Surfer()
    const { response } = await stranger.step(await stranger.signIn(start(), 'stranger', callback))
    const body = (await response.json()) as { error_code: string }
    assert.deepEqual([response.status, body.error_code], [403, 'ERR_ADIT_90465'])
    assert.ok(!stranger.cookie.includes('adit_session'))
    assert.equal((await users()).length, count)
  })

  test('SEC-openid-state: fails in another browser, with another state and a second time', async () => {
    const count = (await users()).length
    const surfer = new Surfer()
    const answer = await surfer.signIn(start(), 'eve', callback)
    const other = new Surfer()
    await other.step(start())
    const forged = new URL(answer)
    forged.searchParams.set('state', 'forged')
    const attempts: [Surfer, string][] = [
      [new Surfer(), answer],
      [other, answer],
      [surfer, forged.href],
      [surfer, answer],
    ]
    for (const [browser, url] of attempts) {
      const { response } = await browser.step(url)
      const body = (await response.json()) as { error_code: string }
      assert.deepEqual([response.status, body.error_code], [400, 'ERR_ADIT_90464'])
      assert.ok(!browser.cookie.includes('adit_session'))
    }
    assert.equal((await users()).length, count)
  })
})
