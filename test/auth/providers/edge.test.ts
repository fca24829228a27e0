import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { web } from '../../agent/support.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { Browser, type Page } from './browser.ts'
import { ProviderServer } from './provider-server.ts'
import { CLIENT } from './provider-shapes.ts'
import { ann } from './support.ts'
import { until } from '../../support/until.ts'

const OWN = { client_id: CLIENT.id, client_secret: CLIENT.secret }

suite('an edge with the oauth module', () => {
  let server: TestServer
  let github: ProviderServer
  let gitlab: ProviderServer
  let service: Awaited<ReturnType<typeof web>>
  let backend: string

  before(async () => {
    github = await ProviderServer.start('github', { ...ann, teams: [['acme/core', 77]] })
    gitlab = await ProviderServer.start('gitlab', ann)
    service = await web(({ headers }, response) => response.end(JSON.stringify(headers)))
    server = await startServer({
      egress_allow: '127.0.0.0/8',
      oauth_github_url: github.url,
      oauth_gitlab_url: gitlab.url,
      oauth_gitlab: `${CLIENT.id}:${CLIENT.secret}`,
    })
    const callback = new Browser(server).at('idp.adit.localhost', '/oauth2/callback')
    github.callback = gitlab.callback = callback
    backend = await made('/backends/static', { address: `127.0.0.1:${service.port}` })
  })

  after(async () => {
    await server[Symbol.asyncDispose]()
    for (const each of [service, github, gitlab]) await each[Symbol.asyncDispose]()
  })

  async function made(path: string, body: object): Promise<string> {
    const answer = await server.api.post(path, body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return String(answer.body.id)
  }

  /** An edge under a name of its own, and where its module is. */
  async function edge(name: string, oauth: object): Promise<{ host: string; module: string }> {
    const host = `${name}.adit.localhost`
    await made('/reserved_domains', { domain: host })
    const id = await made('/edges/https', { hostports: [`${host}:443`] })
    const route = await made(`/edges/https/${id}/routes`, {
      match: '/',
      match_type: 'path_prefix',
      backend: { backend_id: backend },
      oauth,
    })
    return { host, module: `/edges/https/${id}/routes/${route}/oauth` }
  }

  const headersOf = (page: Page): Record<string, string> => {
    assert.equal(page.status, 200, page.body)
    return JSON.parse(page.body) as Record<string, string>
  }

  test('redirects a client through the provider, and sends the user to the service', async () => {
    const { host } = await edge('team', { provider: { github: { ...OWN, teams: ['acme/core'] } } })
    const browser = new Browser(server)
    const page = await browser.open(browser.at(host, '/deep/page?x=1'))
    assert.equal(page.url.href, browser.at(host, '/deep/page?x=1'))
    const headers = headersOf(page)
    for (const family of ['adit-auth', 'ngrok-auth']) {
      assert.equal(headers[`${family}-user-id`], '4711')
      assert.equal(headers[`${family}-user-email`], 'Ann@Example.test')
      assert.equal(headers[`${family}-github-user-id`], 'ann')
      assert.equal(headers[`${family}-github-team`], 'acme/core')
      assert.match(headers[`${family}-oauth-access-token`] ?? '', /-access-[0-9a-f]{32}$/)
    }
    const asked = github.asked.length
    headersOf(await browser.open(browser.at(host)))
    assert.equal(github.asked.length, asked)
  })

  test('shows who may not enter a page with its number', async () => {
    const { host } = await edge('closed', { provider: { github: { ...OWN, organizations: ['other'] } } })
    const browser = new Browser(server)
    const page = await browser.open(browser.at(host))
    assert.equal(page.status, 403)
    assert.match(page.body, /3105/)
    assert.match(page.body, /Ann@Example\.test/)
    assert.ok(!page.body.includes(CLIENT.secret))
  })

  test('takes the application of the operator, whose tokens the service does not get', async () => {
    const { host } = await edge('managed', { provider: { gitlab: { email_domains: ['example.test'] } } })
    const browser = new Browser(server)
    const headers = headersOf(await browser.open(browser.at(host)))
    assert.equal(headers['adit-auth-user-email'], 'Ann@Example.test')
    assert.deepEqual(
      Object.keys(headers).filter(name => name.includes('token')),
      [],
    )
  })

  test('answers 503 where the operator has no such application', async () => {
    const { host } = await edge('nothing', { provider: { google: { email_domains: ['example.test'] } } })
    const browser = new Browser(server)
    const page = await browser.open(browser.at(host))
    assert.equal(page.status, 503)
    assert.match(page.body, /oauth_google/)
  })

  test('checks again when the module changes, and rejects users who are no longer listed', async () => {
    const settings = { ...OWN, email_domains: ['example.test'] }
    const { host, module } = await edge('changing', { provider: { github: settings } })
    const browser = new Browser(server)
    headersOf(await browser.open(browser.at(host)))
    const change = { provider: { github: { ...settings, email_domains: ['other.test'] } } }
    assert.equal((await server.api.put(module, change)).status, 200)
    // The change is on its way to the gateway.
    const page = await until(() => browser.open(browser.at(host)), { fits: ({ status }) => status !== 200 })
    assert.deepEqual([page.status, /3105/.test(page.body)], [403, true])
  })
})
