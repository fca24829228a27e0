import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { OpenIdProvider, EdgeBrowser } from '../../auth/oidc/openid-provider.ts'
import { World } from '../../e2e/edges/world.ts'
import { secretText } from '../../support/secrets.ts'
import { until } from '../../support/until.ts'
import { Dashboard, closePages, launch } from './support.ts'

const HOST = 'guarded.example.org'
const HOSTILE = '<img src=x onerror=document.title=1>'

let world: World
let browser: Browser
let edge: string
before(async () => {
  world = await World.start()
  browser = await launch()
  edge = await world.edge([HOST])
  await world.route(edge, '/', await world.fixedResponse('hello'))
})
after(async () => {
  await closePages(browser)
  await world[Symbol.asyncDispose]()
})

const endpointId = async (): Promise<string> => {
  const { endpoints } = (await world.server.api.get('/endpoints')).body
  return endpoints.find(({ hostport }: { hostport: string }) => hostport.startsWith(HOST)).id
}

suite('the endpoint page', () => {
  test('shows the address with a QR code and the traffic, and sign-in is two clicks away', async () => {
    const { requestId } = await world.ask(`${HOST}/before`)
    await until(async () => (await world.server.api.get(`/requests/${requestId}`)).status === 200)
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/endpoints/${await endpointId()}`)
    await page.getByRole('img', { name: 'QR code of' }).waitFor()
    await page.getByRole('region', { name: 'Recent requests' }).getByText('GET /before').waitFor()
    await page.getByRole('img', { name: 'Requests and errors per minute' }).waitFor()
    await page.getByText('None: every request is forwarded.').waitFor()
    assert.deepEqual(await dashboard.findings(), [])

    await page.getByRole('link', { name: 'Protect with sign-in' }).click()
    await page.getByRole('heading', { level: 1, name: `Protect ${HOST}` }).waitFor()
    await page.getByLabel('Allowed e-mail addresses').fill('example.com, bob@example.net')
    await page.getByText('Your own application at the provider').click()
    const { port } = world.server.bound.https ?? {}
    await page
      .getByLabel('Redirect URL')
      .getByText(`https://idp.adit.localhost:${port}/oauth2/callback`)
      .waitFor()
    await page.getByLabel('Client id').fill('own')
    await page.getByLabel('Client secret').fill(secretText('own application'))
    assert.deepEqual(await dashboard.findings(), [])
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByText('Saved.').waitFor()
    await page.getByText('Saving replaces the provider and the allowed users of OAuth.').waitFor()
    const { routes } = (await world.server.api.get(`/edges/https/${edge}`)).body
    const { google } = routes[0].oauth.provider
    assert.deepEqual([google.email_domains, google.email_addresses], [['example.com'], ['bob@example.net']])
    // Only a browser that loads a page can follow the redirect to the provider.
    const { headers } = await until(() => world.ask(`${HOST}/after`, { headers: { accept: 'text/html' } }), {
      what: 'a redirect to the provider',
      fits: ({ status }) => status === 302,
    })
    assert.match(String(headers.location), /^https:\/\/accounts\.google\.com\//)
    await dashboard.visit(`/endpoints/${await endpointId()}`)
    await page.getByRole('list', { name: 'Modules in run order' }).getByText('OAuth').waitFor()
    await page.getByText('from the route of the edge').waitFor()
    assert.deepEqual(dashboard.errors, [])
  })
})

suite('protection of an endpoint', () => {
  test('by client certificates is added and removed', async () => {
    const own = await world.edge(['certified.example.org'])
    await world.route(own, '/', await world.fixedResponse('hello'))
    await using dashboard = await Dashboard.open(browser, world.server.api, { width: 375 })
    const { page } = dashboard
    await dashboard.visit(`/protect?edge=${own}`, 'Protect')
    await page.getByText('Public now').waitFor()
    const password = page.getByRole('radio', {
      name: 'Password',
      description: /Edges cannot require a password/,
    })
    assert.equal(await password.isDisabled(), true)
    await page.getByLabel('Client certificate').check()
    await page.getByText('for all routes of the edge').waitFor()
    await page.getByLabel('Certificate of the authority').fill('nonsense')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Certificate of the authority').fill(world.ca.toString())
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Protected now by Mutual TLS').waitFor()
    const trusted = async () => (await world.server.api.get(`/edges/https/${own}`)).body.mutual_tls
    const { certificate_authorities: authorities } = await trusted()
    assert.equal(authorities.length, 1)
    const module = { certificate_authority_ids: [authorities[0].id] }
    await world.server.api.put(`/edges/https/${own}/mutual_tls`, { ...module, enabled: false })
    await page.getByText('Public now').waitFor()
    await world.server.api.put(`/edges/https/${own}/mutual_tls`, module)
    await page.getByText('Protected now by Mutual TLS').waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    assert.equal(await dashboard.hasSidewaysScroll(), false)
    await page.getByLabel('Public', { exact: true }).check()
    await page.getByRole('button', { name: 'Make public' }).click()
    const dialog = page.getByRole('dialog', { name: 'Make public' })
    await dialog.getByText('all routes of the edge lose Mutual TLS').waitFor()
    await dialog.getByRole('button', { name: 'Make public' }).click()
    await page.getByText('Public now').waitFor()
    assert.equal(await trusted(), null)
  })

  test('by a password is enforced at a reserved domain, and shows the command of its agent', async () => {
    const domain = 'password.example.org'
    const { id } = await world.make('/reserved_domains', { domain })
    const agent = await world.agent()
    const forwardTo = await world.service((_, response) => response.end('hello'))
    const login = `alice:${secretText('basic auth')}`
    await agent.listen({ proto: 'https', domain, forwardTo, basicAuth: [login] })
    const { endpoints } = (await world.server.api.get('/endpoints')).body
    const endpoint = endpoints.find(({ hostport }: { hostport: string }) => hostport.startsWith(domain))
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/protect?endpoint=${endpoint.id}`, 'Protect')
    await page.getByLabel('Password', { exact: true }).check()
    await page
      .getByLabel('Agent command')
      .getByText(`adit http 3000 --domain ${domain} --basic-auth alice:PASSWORD`)
      .waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Protected now by Basic auth').waitFor()
    const { https_endpoint_configuration: configuration } = (
      await world.server.api.get(`/reserved_domains/${id}`)
    ).body
    const { body } = await world.server.api.get(`/endpoint_configurations/${configuration.id}`)
    assert.equal(body.basic_auth.enabled, true)
    const { status } = await world.ask(domain)
    assert.equal(status, 401)
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })

  test('by sign-in needs an application where the server has none, also at any OpenID provider', async () => {
    const host = 'own-provider.example.org'
    const { port } = world.server.bound.https ?? {}
    await using provider = await OpenIdProvider.start(`https://idp.adit.localhost:${port}/oauth2/callback`)
    const own = await world.edge([host])
    const route = await world.route(own, '/', await world.fixedResponse('hello'))
    const read = async () => (await world.server.api.get(`/edges/https/${own}/routes/${route}`)).body
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/protect?edge=${own}`, 'Protect')
    await page.getByText('The server has none at Google.').waitFor()
    await page.getByText('Empty: all users of Google can sign in.').waitFor()
    await page.getByLabel('Allowed e-mail addresses').fill('example.com')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('input:invalid').first().waitFor()
    await page.getByRole('combobox', { name: /^Provider/ }).selectOption('Another OpenID provider')
    await page.getByText('all of its users can sign in').waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    await page.getByLabel('URL of the provider').fill(provider.issuer)
    await page.getByLabel('Client id').fill('adit')
    assert.equal((await read()).oauth, null)
    await page.getByLabel('Client secret').fill(secretText('openid client'))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Protected now by OIDC').waitFor()
    assert.deepEqual([(await read()).oauth, (await read()).oidc.issuer], [null, provider.issuer])
    await until(() => world.ask(host, { headers: { accept: 'text/html' } }), {
      fits: ({ status, headers }) =>
        status === 302 && String(headers['location']).startsWith(provider.issuer),
    })
    await page.getByRole('combobox', { name: /^Provider/ }).selectOption('Google')
    await page.getByText('Users choose between it and OIDC.').waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('by sign-in uses the application of the server, which needs a list of users', async () => {
    await using managed = await World.start({ oauth_google: `id:${secretText('application of the server')}` })
    const own = await managed.edge(['managed.example.org'])
    const route = await managed.route(own, '/', await managed.fixedResponse('hello'))
    assert.deepEqual((await managed.server.api.get('/status')).body.sign_in_applications, ['google'])
    await using dashboard = await Dashboard.open(browser, managed.server.api)
    const { page } = dashboard
    await dashboard.visit(`/protect?edge=${own}`, 'Protect')
    await page.getByText('The server has an application at Google').waitFor()
    const allowed = page.getByLabel('Allowed e-mail addresses')
    assert.equal(await allowed.getAttribute('required'), '')
    await allowed.fill('example.com')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Protected now by OAuth').waitFor()
    const { oauth } = (await managed.server.api.get(`/edges/https/${own}/routes/${route}`)).body
    assert.deepEqual(
      [oauth.provider.google.client_id, oauth.provider.google.email_domains],
      ['', ['example.com']],
    )
    await page.getByRole('combobox', { name: /^Provider/ }).selectOption('GitHub')
    await page.getByText('The server has none at GitHub.').waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('shows how many are signed in, and ends all of their sessions', async () => {
    const host = 'members.example.org'
    const { port } = world.server.bound.https ?? {}
    await using provider = await OpenIdProvider.start(`https://idp.adit.localhost:${port}/oauth2/callback`)
    const own = await world.edge([host])
    const client = { client_id: 'adit', client_secret: secretText('openid client') }
    await world.route(own, '/', await world.fixedResponse('hello'), {
      oidc: { issuer: provider.issuer, ...client },
    })
    const visitor = new EdgeBrowser(world)
    assert.equal((await visitor.signIn(`https://${host}:${port}/`, 'anna')).text, 'hello')
    assert.equal((await new EdgeBrowser(world).signIn(`https://${host}:${port}/`, 'bert')).text, 'hello')
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/protect?edge=${own}`, 'Protect')
    await page.getByText('Protected now by OIDC').waitFor()
    const sessions = page.getByRole('region', { name: 'Sessions' })
    await sessions.getByText('2 sessions').waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    await sessions.getByRole('button', { name: 'End all' }).click()
    await page.getByRole('dialog', { name: 'End all' }).getByRole('button', { name: 'End all' }).click()
    await sessions.getByText('0 sessions').waitFor()
    assert.deepEqual((await world.server.api.get('/app/sessions')).body.application_sessions, [])
    const headers = { accept: 'text/html', cookie: visitor.cookies(host) }
    await until(() => world.ask(host, { headers }), {
      what: 'a redirect to the provider',
      fits: ({ status }) => status === 302,
    })
    assert.deepEqual(dashboard.errors, [])
  })
})

suite('an IP policy', () => {
  test('shows whether an address is allowed, and by which rule', async () => {
    const { id } = await world.make('/ip_policies', { description: HOSTILE })
    await world.make('/ip_policy_rules', { ip_policy_id: id, cidr: '192.0.2.0/24', action: 'allow' })
    await using dashboard = await Dashboard.open(browser, world.server.api, { width: 375 })
    const { page } = dashboard
    await dashboard.visit(`/ip_policies/${id}`, HOSTILE)
    const form = page.getByRole('region', { name: 'Check' })
    await form.getByLabel('IP').fill('192.0.2.9')
    await form.getByRole('button', { name: 'Check' }).click()
    const result = form.getByRole('status', { name: 'Result' })
    await result.getByText('192.0.2.0/24').first().waitFor()
    await result.getByText('yes').waitFor()
    await form.getByLabel('IP').fill('nonsense')
    await form.getByRole('button', { name: 'Check' }).click()
    await form.getByRole('alert').waitFor()
    assert.equal(await page.locator('main img').count(), 0)
    assert.deepEqual(await dashboard.findings(), [])
    assert.equal(await dashboard.hasSidewaysScroll(), false)
  })
})

suite('people', () => {
  test('are invited, get a role, and are signed out', async () => {
    const { id } = await world.make('/users', { name: HOSTILE, email: 'alice@example.com' })
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit('/people', 'People')
    const card = page.getByRole('listitem', { name: 'alice@example.com' })
    await card.getByText('Not signed in.').waitFor()
    assert.equal(await card.getByRole('list', { name: 'API keys' }).count(), 0)
    const key = await world.make('/api_keys', { owner_id: id, description: 'deploys' })
    const own = card.getByRole('list', { name: 'API keys' }).getByRole('listitem')
    await own.getByText('Not used in the last 30 days.').waitFor()
    await world.server.api.get('/ip_policies', { token: String(key.token) })
    // Usage is stored every few seconds, and the page loads it again only after half a minute.
    const used = `/usage?by=api_key&api_key_id=${key.id}&window=30d`
    await until(async () => (await world.server.api.get(used)).body.series.length === 1)
    await page.reload()
    await own.getByText(/Last used .+, 1 request in 30 days\./).waitFor()
    await card.getByRole('button', { name: 'Invite' }).click()
    const dialog = page.getByRole('dialog', { name: 'Invitation' })
    assert.match(await dialog.getByLabel('Link').innerText(), /\/dashboard\/invitation#token=/)
    assert.deepEqual(await dashboard.findings(), [])
    await page.keyboard.press('Escape')
    await card.getByLabel('Role').selectOption('admin')
    await until(async () => (await world.server.api.get(`/users/${id}`)).body.role === 'admin')
    assert.equal(await page.locator('main img').count(), 0)
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
    await page.getByRole('button', { name: 'Sign out' }).first().click()
    await page.getByRole('dialog', { name: 'Sign out' }).getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('Your session has ended.').waitFor()
  })
})

suite('API keys of people', () => {
  test('show their last use, however many others are used more', async () => {
    const { api } = world.server
    const newKey = async (email: string): Promise<{ id: string; token: string; owner_id: string }> => {
      const { id: owner_id } = await world.make('/users', { name: email, email })
      return (await api.post('/api_keys', { owner_id })).body
    }
    const use = ({ token }: { token: string }) => api.get('/ip_policies', { token })
    const rare = await newKey('rare@example.com')
    const busy = await newKey('busy@example.com')
    const others = [busy]
    while (others.length < 100) others.push((await api.post('/api_keys', { owner_id: busy.owner_id })).body)
    for (const key of others) await Promise.all([use(key), use(key)])
    await use(rare)
    const used = `/usage?by=api_key&api_key_id=${rare.id}&window=30d`
    await until(async () => (await api.get(used)).body.series.length === 1)
    await using dashboard = await Dashboard.open(browser, api)
    await dashboard.visit('/people', 'People')
    const card = (email: string) => dashboard.page.getByRole('listitem', { name: email })
    await card('rare@example.com')
      .getByText(/Last used .+, 1 request in 30 days\./)
      .waitFor()
    assert.equal(await card('busy@example.com').getByText('2 requests in 30 days.').count(), 100)
    assert.deepEqual(dashboard.errors, [])
  })

  test('are loaded once, and only their use again', async () => {
    const { api } = world.server
    await using dashboard = await Dashboard.open(browser, api)
    const { page } = dashboard
    const asked: string[] = []
    page.on('request', request => void asked.push(request.url()))
    const askedFor = (path: string) => asked.filter(url => new URL(url).pathname === path)
    // The page before may still ask for the usage of endpoints.
    const usesAsked = () =>
      askedFor('/usage').filter(url => new URL(url).searchParams.get('by') === 'api_key')
    await page.clock.install()
    await dashboard.visit('/people', 'People')
    await page
      .getByText(/in the last 30 days\.|in 30 days\./)
      .first()
      .waitFor()
    const first = usesAsked().length
    assert.ok(first > 0)
    const again = page.waitForRequest(request => new URL(request.url()).pathname === '/usage')
    await page.clock.runFor(31_000)
    await again
    await until(() => usesAsked().length === 2 * first)
    const pages = askedFor('/api_keys')
    assert.ok(pages.length > 0)
    assert.deepEqual(pages, [...new Set(pages)], 'no page of the list is loaded twice')
  })

  test('of programs show their last use, too', async () => {
    const { api } = world.server
    const { id: owner_id } = await world.make('/bot_users', { name: 'deploy-bot' })
    await world.make('/service_users', { name: 'backup-service' })
    await world.make('/api_keys', { owner_id, description: 'deploys' })
    await using dashboard = await Dashboard.open(browser, api)
    await dashboard.visit('/people', 'People')
    const programs = dashboard.page.getByRole('region', { name: 'Programs' })
    const bot = programs.getByRole('listitem', { name: 'deploy-bot' })
    await bot.getByRole('link', { name: 'deploys' }).waitFor()
    await bot.getByText('Not used in the last 30 days.').waitFor()
    await programs.getByRole('listitem', { name: 'backup-service' }).getByText('No API key.').waitFor()
    assert.deepEqual(await dashboard.findings(), [])
  })
})

suite('sessions of browsers', () => {
  test('are named by browser and address, with their user, and their address is not broken', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api, { width: 800 })
    const { page } = dashboard
    await dashboard.visit('/dashboard_sessions', 'Dashboard sessions')
    const row = page.getByRole('row').filter({ hasText: 'Chrome on Linux at 127.0.0.1' }).first()
    const address = row.getByRole('cell').getByText('127.0.0.1', { exact: true })
    assert.equal(await address.evaluate(element => element.getClientRects().length), 1)
    await row.getByRole('cell').getByText('Admin', { exact: true }).waitFor()
    await row.getByRole('link', { name: 'Chrome on Linux at 127.0.0.1' }).click()
    await page.getByRole('heading', { level: 1, name: 'Chrome on Linux at 127.0.0.1' }).waitFor()
  })
})

suite('a connected agent', () => {
  test('has its metadata as its name, its tunnels, and the API call of each action', async () => {
    const agent = await world.agent({ metadata: 'web-7' })
    const forwardTo = await world.service((_, response) => response.end('hello'))
    await agent.listen({ proto: 'http', domain: 'seven.adit.localhost', forwardTo })
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit('/tunnel_sessions', 'Connected agents')
    await page.getByRole('link', { name: 'web-7' }).click()
    await page.getByRole('heading', { level: 1, name: 'web-7' }).waitFor()
    const tunnels = page.getByRole('region', { name: 'Tunnels of the agent' })
    // The tunnel and its endpoint, which have the same name.
    const links = tunnels.getByRole('link', { name: /^http:\/\/seven\.adit\.localhost/ })
    await until(async () => (await links.count()) === 2)
    assert.equal(await tunnels.locator('tbody').getByRole('row').count(), 1)
    const link = page.getByRole('region', { name: 'Link to the gateway' })
    await link.getByText(process.arch, { exact: true }).waitFor()
    await link.getByText(/^[\d.]+ ms$/).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    const dialog = page.getByRole('dialog', { name: 'Stop' })
    await dialog.getByText('As API call').click()
    await dialog
      .getByLabel('adit')
      .getByText(/^adit api tunnel-sessions stop ts_/)
      .waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })
})

suite('event deliveries', () => {
  test('show the last error, and are tested and sent again', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit('/event_deliveries', 'Event deliveries')
    await page.getByText('There are no deliveries yet.').waitFor()
    const port = await world.service((request, response) => {
      response.statusCode = 500
      response.end(HOSTILE)
      request.resume()
    })
    const target = { webhook: { url: `http://127.0.0.1:${port}/` } }
    const destination = await world.make('/event_destinations', { target, description: 'siem' })
    const sources = [{ type: 'ip_policy_created.v0' }]
    await world.make('/event_subscriptions', { sources, destination_ids: [destination.id] })
    const row = page.getByRole('row').filter({ hasText: destination.id })
    await row.getByRole('link', { name: 'siem (webhook)' }).waitFor()
    await row.getByRole('link', { name: 'ip_policy_created.v0' }).waitFor()
    await row.getByText('nothing sent yet').waitFor()
    await row.getByRole('button', { name: 'Test' }).press('Enter')
    await page.getByRole('dialog', { name: 'Test' }).getByRole('button', { name: 'Test' }).click()
    await page.getByRole('dialog', { name: 'Test' }).getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await world.make('/ip_policies')
    await row.getByText('failing since').waitFor()
    await row.locator('summary', { hasText: 'Last' }).click()
    const attempts = row.getByRole('list', { name: 'Attempts' }).getByRole('listitem')
    await attempts.first().getByText('500').waitFor()
    const table = page.getByRole('region', { name: 'Deliveries' })
    const isWhole = await table.evaluate(box => box.scrollWidth <= box.clientWidth)
    assert.ok(isWhole, 'its actions are within the page')
    await row.getByRole('button', { name: 'Redeliver' }).click()
    // Shown for seconds only.
    const notice = page.getByText('They are being sent.').waitFor()
    await page.getByRole('dialog', { name: 'Redeliver' }).getByRole('button', { name: 'Redeliver' }).click()
    await notice
    assert.equal(await page.locator('main img').count(), 0)
    assert.deepEqual(await dashboard.findings(), [])
    await dashboard.visit(`/event_destinations/${destination.id}`, 'siem')
    const fields = page.getByRole('region', { name: 'Fields' })
    await fields.getByText('Webhook', { exact: true }).waitFor()
    assert.equal(await fields.getByText('Datadog').count(), 0, 'only the kind of target that is set')
    await dashboard.visit('', 'Overview')
    const attention = page.getByRole('region', { name: 'Needs attention' })
    const problem = attention.getByRole('listitem').filter({ hasText: 'siem' })
    await problem.getByText(/The destination rejects events since/).waitFor()
    assert.equal(await problem.getByText(/\d{4}-\d\d-\d\dT/).count(), 0, 'times are as people read them')
    assert.equal(await problem.getByRole('time').count(), 1)
    assert.deepEqual(await dashboard.findings(), [])
  })
})

suite('the server', () => {
  test('shows its status and usage, on the overview as well', async () => {
    const busy = 'busy.example.org'
    await world.make('/reserved_domains', { domain: busy })
    const agent = await world.agent({ metadata: 'web-1' })
    const forwardTo = await world.service((_, response) => response.end('hello'))
    await agent.listen({ proto: 'https', domain: busy, forwardTo })
    // A page of tunnels does not have the first one any more.
    const others = await world.agent()
    for (let at = 0; at < 101; at++) await others.listen({ labels: { app: 'other' }, forwardTo })
    await until(async () => {
      await world.ask(busy)
      const { series } = (await world.server.api.get('/usage?by=endpoint&window=1h')).body
      return series.some(({ name }: { name: string }) => name.includes(busy))
    })
    await using dashboard = await Dashboard.open(browser, world.server.api, { colorScheme: 'dark' })
    const { page } = dashboard
    await page.getByText(/version 0\.\d+\.\d+, up \d+ (s|min)/).waitFor()
    const busiest = page.getByRole('region', { name: 'Busiest endpoints', exact: true })
    await busiest.getByRole('img', { name: 'Requests per minute of' }).first().waitFor()
    await busiest.getByRole('columnheader', { name: 'p95' }).waitFor()
    await busiest.getByRole('row', { name: busy }).getByRole('cell', { name: 'web-1' }).waitFor()
    const requests = await busiest.getByRole('link', { name: busy }).getAttribute('href')
    assert.match(requests ?? '', /requests\?filter=host%3Abusy\.example\.org$/)
    assert.deepEqual(await dashboard.findings(), [])
    await dashboard.visit(`/requests?filter=host:${busy}`, 'Traffic')
    await page.getByRole('option', { name: 'web-1' }).first().waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    await page.getByRole('option', { name: 'web-1' }).first().click()
    await page.getByRole('region', { name: 'Details' }).getByText('web-1').waitFor()
    const { tunnel_sessions: sessions } = (await world.server.api.get('/tunnel_sessions')).body
    const session = sessions.find(({ metadata }: { metadata: string }) => metadata === 'web-1')
    await dashboard.visit(`/credentials/${session.credential.id}`)
    const use = page.getByRole('region', { name: 'Use' })
    await use.getByRole('link', { name: /connected with it$/ }).waitFor()
    await use.getByText(/^Last traffic in the hour of .+ requests? in 30 days\.$/).waitFor()
    await dashboard.visit('/status', 'Status')
    await page.getByRole('region', { name: 'Table of Listeners' }).getByText('https').first().waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    await dashboard.visit('/usage', 'Usage')
    await page.getByRole('img', { name: 'Requests and errors per minute' }).waitFor()
    await page.getByRole('region', { name: 'Series' }).getByRole('columnheader', { name: 'p95' }).waitFor()
    await page.getByLabel('Time').selectOption('30d')
    await page.getByRole('img', { name: 'Requests and errors per hour' }).waitFor()
    await page.getByLabel('By').selectOption('credential')
    await page.locator('table, .empty').first().waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })
})
