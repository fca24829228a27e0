import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { suite, test } from 'node:test'
import { launchChromium } from '../../support/chromium.ts'
import { World } from '../../e2e/edges/world.ts'
import { secretText } from '../../support/secrets.ts'
import { OpenIdProvider, EdgeBrowser } from './openid-provider.ts'
import { until } from '../../support/until.ts'

const HOST = 'app.example.test'
const DOMAIN = 'gate.test'

const showing: RequestListener = (request, response) => {
  response.setHeader('content-type', 'text/html')
  response.end(`<pre id="seen">${JSON.stringify({ url: request.url, headers: request.headers })}</pre>`)
}

interface Whole {
  readonly world: World
  readonly provider: OpenIdProvider
  readonly edge: string
  readonly route: string
  /** The address of the site, as clients use it. */
  readonly site: string
}

async function whole(
  settings: Record<string, string>,
  oidc: Record<string, unknown>,
  work: (parts: Whole) => Promise<void>,
): Promise<void> {
  await using world = await World.start({ domain: DOMAIN, ...settings })
  const port = world.server.bound.https?.port
  await using provider = await OpenIdProvider.start(`https://idp.${DOMAIN}:${port}/oauth2/callback`)
  const edge = await world.edge([HOST])
  const route = await world.route(edge, '/', await world.static(showing), {
    oidc: {
      issuer: provider.issuer,
      client_id: 'adit',
      client_secret: secretText('openid client'),
      scopes: ['email', 'profile'],
      ...oidc,
    },
  })
  await work({ world, provider, edge, route, site: `https://${HOST}:${port}` })
}

const seenIn = (text: string): { url: string; headers: Record<string, string> } =>
  JSON.parse(/<pre id="seen">(.*)<\/pre>/.exec(text)?.[1]?.replaceAll('&quot;', '"') ?? '{}')

suite('OpenID Connect with a certified provider', () => {
  test('redirects from an edge to the provider and back, and sends the user to the service', async () => {
    await whole({}, {}, async ({ world, edge, route, site }) => {
      const page = await new EdgeBrowser(world).signIn(`${site}/deep?x=1`, 'anna')
      assert.equal(page.url, `${site}/deep?x=1`)
      const { url, headers } = seenIn(page.text)
      assert.equal(url, '/deep?x=1')
      assert.equal(headers['adit-auth-user-id'], 'anna')
      assert.equal(headers['ngrok-auth-user-email'], 'anna@example.com')
      assert.equal(headers['adit-auth-user-name'], 'anna of the tests')
      assert.ok(headers['adit-auth-oauth-access-token'])
      assert.equal(headers['cookie'], undefined)

      const users = (await world.server.api.get('/app/users')).body.application_users
      const sessions = (await world.server.api.get('/app/sessions')).body.application_sessions
      assert.equal(users.length, 1)
      assert.equal(users[0].provider_user_id, 'anna')
      assert.equal(users[0].email, 'anna@example.com')
      assert.equal(users[0].identity_provider.name, 'oidc')
      assert.equal(sessions.length, 1)
      assert.equal(sessions[0].public_url, site)
      assert.equal(sessions[0].application_user.id, users[0].id)
      assert.equal(sessions[0].route.id, route)
      assert.equal(sessions[0].edge.id, edge)
      assert.equal(sessions[0].browser_session.ip_address, '127.0.0.1')
    })
  })

  test('allows users whom an agent lists by address, without naming scopes', async () => {
    await using world = await World.start({ domain: DOMAIN })
    const port = world.server.bound.https?.port
    await using provider = await OpenIdProvider.start(`https://idp.${DOMAIN}:${port}/oauth2/callback`)
    const forwardTo = await world.service(showing)
    const client = { clientId: 'adit', clientSecret: secretText('openid client') }
    const oidc = { issuerUrl: provider.issuer, ...client, allowEmails: ['anna@example.com'] }
    await (await world.agent()).listen({ proto: 'https', domain: `listed.${DOMAIN}`, forwardTo, oidc })
    const site = `https://listed.${DOMAIN}:${port}/`
    const page = await new EdgeBrowser(world).signIn(site, 'anna')
    assert.equal(seenIn(page.text).headers['adit-auth-user-email'], 'anna@example.com')
    const surfer = new EdgeBrowser(world)
    const refused = await surfer.signIn(`${site}deep`, 'bob')
    assert.deepEqual([refused.status, refused.code], [403, 'ERR_ADIT_3105'])
    // The provider still knows bob, and asks nevertheless.
    const [, link = ''] = /<a href="([^"]+)">Sign in with another account</.exec(refused.text) ?? []
    const again = await surfer.signIn(link, 'anna')
    assert.equal(again.url, `${site}deep`)
    assert.equal(seenIn(again.text).headers['adit-auth-user-id'], 'anna')
  })

  test('finds a user again, in another browser', async () => {
    await whole({}, {}, async ({ world, site }) => {
      for (let at = 0; at < 3; at++) await new EdgeBrowser(world).signIn(site, 'anna')
      await new EdgeBrowser(world).signIn(site, 'bob')
      assert.equal((await world.server.api.get('/app/users')).body.application_users.length, 2)
      assert.equal((await world.server.api.get('/app/sessions')).body.application_sessions.length, 4)
    })
  })

  for (const path of ['sessions', 'users'] as const)
    test(`ends access with the next request when one of the ${path} is deleted`, async () => {
      await whole({}, {}, async ({ world, site }) => {
        const surfer = new EdgeBrowser(world)
        await surfer.signIn(site, 'anna')
        const cookie = surfer.cookies(HOST)
        const headers = { cookie, accept: 'text/html' }
        const status = async () => (await world.ask(HOST, { headers })).status
        assert.equal(await status(), 200)
        const { body } = await world.server.api.get(`/app/${path}`)
        const [{ id }] = body[`application_${path}`]
        assert.equal((await world.server.api.delete(`/app/${path}/${id}`)).status, 204)
        await until(status, { fits: found => found === 302 })
        assert.equal((await world.server.api.get('/app/sessions')).body.application_sessions.length, 0)
      })
    })

  test('ends at /auth/logout', async () => {
    await whole({}, {}, async ({ world, site }) => {
      const surfer = new EdgeBrowser(world)
      await surfer.signIn(site, 'anna')
      const cookie = surfer.cookies(HOST)
      const out = await surfer.go(`${site}/auth/logout`)
      assert.equal(out.status, 200)
      assert.match(out.text, /You are signed out/)
      assert.equal((await world.ask(HOST, { headers: { cookie, accept: 'text/html' } })).status, 302)
      assert.equal((await world.server.api.get('/app/sessions')).body.application_sessions.length, 0)
    })
  })

  test('answers a script or a program that is not signed in with 401', async () => {
    await whole({}, {}, async ({ world }) => {
      const programs = [{ 'sec-fetch-mode': 'cors', accept: 'application/json' }, { accept: '*/*' }, {}]
      for (const headers of programs as Record<string, string>[]) {
        const refused = await world.ask(`${HOST}/data`, { headers })
        assert.equal(refused.status, 401)
        assert.equal(refused.code, 'ERR_ADIT_90110')
      }
    })
  })

  test('has the provider prompt again at /auth/authn', async () => {
    await whole({}, {}, async ({ world, site }) => {
      const surfer = new EdgeBrowser(world)
      await surfer.signIn(site, 'anna')
      const asked = await surfer.go(`${site}/auth/authn`)
      assert.match(asked.text, /name="login"/)
      const page = await surfer.signIn(`${site}/auth/authn`, 'anna')
      assert.equal(page.url, `${site}/`)
    })
  })

  test('works with gateways in several processes', async () => {
    await whole({ workers: '2' }, {}, async ({ world, site }) => {
      const surfer = new EdgeBrowser(world)
      const page = await surfer.signIn(site, 'anna')
      assert.equal(seenIn(page.text).headers['adit-auth-user-id'], 'anna')
      const headers = { cookie: surfer.cookies(HOST) }
      const answers = await Promise.all(Array.from({ length: 20 }, () => world.ask(HOST, { headers })))
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
    })
  })
})

suite('a real browser', () => {
  test('signs in, returns, signs out, and must then sign in again', async () => {
    await whole({}, {}, async ({ world, site }) => {
      const browser = await launchChromium('--host-resolver-rules=MAP *.test 127.0.0.1')
      try {
        const context = await browser.newContext({ ignoreHTTPSErrors: true })
        const page = await context.newPage()
        page.setDefaultTimeout(120_000)
        // The pages of the provider load a font from the Internet, and are shown only after that.
        await page.route('https://fonts.googleapis.com/**', route => route.abort())
        await page.goto(`${site}/deep?x=1`)
        await page.fill('input[name=login]', 'anna')
        await page.fill('input[name=password]', 'any')
        await page.getByRole('button', { name: 'Sign-in' }).click()
        await page.getByRole('button', { name: 'Continue' }).click()
        await page.waitForURL(`${site}/deep?x=1`)
        const seen = JSON.parse((await page.textContent('#seen')) ?? '{}')
        assert.equal(seen.headers['adit-auth-user-id'], 'anna')
        assert.equal(seen.headers['cookie'], undefined)

        const cookies = await context.cookies(site)
        const session = cookies.find(({ name }) => /^__Host-adit\.session-[0-9a-f]{10}$/.test(name))
        assert.deepEqual(
          [session?.secure, session?.httpOnly, session?.sameSite, session?.path],
          [true, true, 'Lax', '/'],
        )
        assert.equal(cookies.filter(({ name }) => name.includes('flow')).length, 0)
        assert.equal(await page.evaluate('document.cookie'), '')
        assert.equal(await page.evaluate(`fetch('/data').then(({ status }) => status)`), 200)

        const { body } = await world.server.api.get('/app/sessions')
        assert.equal(body.application_sessions[0].browser_session.user_agent.browser_name, 'Chrome')

        const other = await context.newPage()
        other.setDefaultTimeout(120_000)
        await other.goto(`${site}/auth/logout`)
        assert.equal(await other.textContent('h1'), 'Signed out')
        assert.equal(await page.evaluate(`fetch('/data').then(({ status }) => status)`), 401)
        // Signing in again asks for credentials, although the provider still knows who it is.
        await other.click('a')
        await other.waitForSelector('input[name=login]')
      } finally {
        await browser.close()
      }
    })
  })
})
