import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type EdgeResponse, World } from '../../e2e/edges/world.ts'
import { Provider } from './provider.ts'
import { sharedKeys } from './support.ts'
import { until } from '../../support/until.ts'

const HOST = 'app.example.test'
const keys = await sharedKeys()

/** What a browser does: it follows redirects, keeps cookies and sends forms on. */
class Browser {
  readonly #world: World
  readonly #cookies = new Map<string, Map<string, string>>()
  /** Where it has been. */
  readonly path: string[] = []

  constructor(world: World) {
    this.#world = world
  }

  async open(address: string, form?: URLSearchParams): Promise<EdgeResponse> {
    const url = new URL(address)
    this.path.push(`${url.hostname}${url.pathname}`)
    if (url.hostname === '127.0.0.1') return this.#atProvider(url)
    const jar = this.#cookies.get(url.hostname) ?? new Map<string, string>()
    this.#cookies.set(url.hostname, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const got = await this.#world.ask(`${url.hostname}${url.pathname}${url.search}`, {
      headers: {
        accept: 'text/html',
        ...(cookie && { cookie }),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { method: 'POST', body: form.toString() }),
    })
    for (const line of [got.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    const { location } = got.headers
    return typeof location === 'string' ? this.open(new URL(location, address).href) : got
  }

  async #atProvider(url: URL): Promise<EdgeResponse> {
    const answer = await fetch(url, { redirect: 'manual' })
    const text = await answer.text()
    if (!text.startsWith('<form'))
      return { status: answer.status, headers: {}, text: url.href, code: undefined, requestId: '' }
    return this.send(text)
  }

  /** Sends a form as it stands in a page. */
  async send(html: string): Promise<EdgeResponse> {
    const fields = [...html.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ])
    return this.open(/action="([^"]+)"/.exec(html)?.[1] ?? '', new URLSearchParams(fields))
  }
}

/** The paths of further routes with sign-in at the same provider. */
const siteForms = { 'one route': [], 'several routes': ['/second', '/third'] } as const

for (const [siteForm, others] of Object.entries(siteForms))
  suite(`SAML with an identity provider, over the network, at ${siteForm}`, () => {
    let world: World
    let provider: Provider
    let edge: string
    let route: string

    before(async () => {
      world = await World.start()
      provider = await Provider.start(keys.idp)
      const echo = await world.static((request, response) => response.end(JSON.stringify(request.headers)))
      edge = await world.edge([HOST])
      route = await world.route(edge, '/', echo, { saml: { idp_metadata: provider.metadata } })
      for (const path of others)
        await world.route(edge, path, echo, { saml: { idp_metadata: provider.metadata } })
      const { body } = await world.server.api.get(`/edges/https/${edge}/routes/${route}`)
      const ours = await world.ask(
        String(body.saml.metadata_url)
          .replace(/^https:\/\//, '')
          .replace(/:\d+/, ''),
      )
      assert.equal(ours.status, 200)
      provider.learn(ours.text)
    })
    after(async () => {
      await provider[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    })

    const settle = (changes: object) =>
      world.change(`/edges/https/${edge}/routes/${route}`, {
        saml: { idp_metadata: provider.metadata, ...changes },
      })
    const home = () => `https://${HOST}:${world.server.bound.https?.port}/`

    test('a browser is redirected to sign in, returns, and is known to the service and the API', async () => {
      const browser = new Browser(world)
      const got = await browser.open(`${home()}page?x=1`)
      assert.equal(got.status, 200, got.text)
      const headers = JSON.parse(got.text) as Record<string, string>
      assert.equal(headers['ngrok-auth-user-id'], 'u-1')
      assert.equal(headers['ngrok-auth-user-email'], 'anna@example.test')
      assert.equal(headers['cookie'], undefined)
      assert.match(
        browser.path.join(' '),
        new RegExp(
          `^${HOST}/page 127.0.0.1/sso idp\\.\\S+/saml/${route}/acs ${HOST}/.adit/signed-in ${HOST}/page$`,
        ),
      )
      assert.equal((await browser.open(home())).status, 200)
      assert.equal(browser.path.at(-1), `${HOST}/`)
      const { body } = await world.server.api.get('/app/users')
      const [user] = body.application_users
      assert.equal(user.provider_user_id, 'u-1')
      assert.equal(user.identity_provider.name, 'saml')
    })

    test('a session that the API deletes ends', async () => {
      const browser = new Browser(world)
      assert.equal((await browser.open(home())).status, 200)
      const { body } = await world.server.api.get('/app/sessions')
      for (const { id } of body.application_sessions) await world.server.api.delete(`/app/sessions/${id}`)
      await until(
        async () => {
          browser.path.length = 0
          await browser.open(home())
          return browser.path.length
        },
        { fits: steps => steps > 1 },
      )
    })

    test('SAML-17 the provider may begin, and redirect only to the host of the edge', async () => {
      const browser = new Browser(world)
      const got = await browser.send(await provider.form('', `${home()}start`))
      assert.equal(got.status, 200, got.text)
      assert.equal(browser.path.at(-1), `${HOST}/start`)
      for (const [relayState, path] of [
        ['', '/'],
        ['/deep', '/deep'],
      ] as const) {
        const other = new Browser(world)
        assert.equal((await other.send(await provider.form('', relayState))).status, 200)
        assert.equal(other.path.at(-1), HOST + path)
      }
      const away = await new Browser(world).send(await provider.form('', 'https://evil.test/'))
      assert.equal(away.code, 'ERR_ADIT_5322')
      await settle({ allow_idp_initiated: false })
      const form = () => provider.form('', home())
      await until(async () => new Browser(world).send(await form()), {
        fits: ({ code }) => code === 'ERR_ADIT_5317',
      })
      await settle({})
    })

    test('SAML-16 an answer that another browser brings opens nothing', async () => {
      const victim = new Browser(world)
      const asked = await world.ask(HOST, { headers: { accept: 'text/html' } })
      const page = await (await fetch(String(asked.headers['location']))).text()
      // The cookie of the flow is in the browser that started it.
      const got = await victim.send(page)
      assert.equal(got.code, 'ERR_ADIT_3107')
      assert.equal(got.status, 400)
    })

    test('SAML-18 only members of the groups get in', async () => {
      await settle({ authorized_groups: ['ops'] })
      await until(() => new Browser(world).open(home()), { fits: ({ code }) => code === 'ERR_ADIT_5312' })
      const browser = new Browser(world)
      const page = await browser.open(`${home()}deep`)
      const [, link = ''] = /<a href="([^"]+)">Sign in with another account</.exec(page.text) ?? []
      provider.account = { ...provider.account, groups: ['ops'] }
      assert.equal((await new Browser(world).open(home())).status, 200)
      const again = await browser.open(link.replaceAll('&amp;', '&'))
      assert.deepEqual([again.status, browser.path.at(-1)], [200, `${HOST}/deep`])
      await settle({})
    })

    test('a sign-out at the provider ends the sessions of that user', async () => {
      provider.account = { id: 'u-2', email: 'bert@example.test', groups: [] }
      const browser = new Browser(world)
      assert.equal((await browser.open(home())).status, 200)
      const done = await browser.open(provider.signOutUrl())
      assert.match(done.text, /\/slo\?SAMLResponse=/)
      assert.ok(await provider.parseSignOut(done.text))
      await until(async () => {
        browser.path.length = 0
        await browser.open(home())
        return browser.path.includes('127.0.0.1/sso')
      })
    })

    test('also precedes the tunnel of an agent where the configuration of its domain requires it', async () => {
      const idp_metadata = provider.metadata
      const config = await world.make('/endpoint_configurations', { type: 'https', saml: { idp_metadata } })
      const domain = 'conf.example.test'
      await world.make('/reserved_domains', { domain, https_endpoint_configuration_id: config.id })
      const forwardTo = await world.service((_, response) => response.end('the agent'))
      const agent = await world.agent()
      const tunnel = await agent.listen({ proto: 'https', domain, forwardTo })
      const url = new URL(String((config['saml'] as Record<string, unknown>)['metadata_url']))
      await using other = await Provider.start(keys.idp)
      other.learn((await world.ask(url.hostname + url.pathname)).text)
      await world.change(`/endpoint_configurations/${config.id}`, { saml: { idp_metadata: other.metadata } })
      const start = `https://${domain}:${world.server.bound.https?.port}/`
      const browser = new Browser(world)
      const got = await until(() => browser.open(start), { fits: ({ status }) => status === 200 })
      assert.equal(got.text, 'the agent')
      // Another tunnel is the same realm.
      await tunnel.close()
      await agent.listen({ proto: 'https', domain, forwardTo })
      browser.path.length = 0
      assert.equal((await browser.open(start)).text, 'the agent')
      assert.deepEqual(browser.path, [`${domain}/`])
      assert.equal((await new Browser(world).send(await other.form('', start))).text, 'the agent')
      const away = await new Browser(world).send(await other.form('', home()))
      assert.equal(away.code, 'ERR_ADIT_5307')
    })

    test('metadata that allows no sign-in closes the route', async () => {
      const other = await world.edge(['closed.example.test'])
      const saml = {
        idp_metadata: '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="x"/>',
      }
      await world.route(other, '/', await world.fixedResponse('secret'), { saml })
      const got = await world.ask('closed.example.test')
      assert.equal(got.status, 503)
      assert.doesNotMatch(got.text, /secret/)
    })
  })
