import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser, Page, Route } from 'playwright-core'
import { kinds } from '#contract/kinds/index.ts'
import { CaptureWorld } from '../../telemetry/capture/support.ts'
import { startPostgres } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { TestAgent } from '../../gateway/agents/support.ts'
import { Dashboard, closePages, launch } from './support.ts'

const LONG = process.env['TEST_LONG'] === '1'
const SCRIPT = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>`
const LINK = 'javascript:window.ran=1'
const MIXED = '\u202Eעברית العربية\u202C 👩‍👩‍👧‍👦'
const LABEL = 'a'.repeat(61)
/** 253 characters, the longest name that DNS has. */
const LONGEST = `${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(253 - 3 * 62 - '.org'.length)}.org`

/** Resolves when no part of the page is loading. */
const loaded = (page: Page) => page.locator('main:has(.loading)').waitFor({ state: 'detached' })

/** Resources whose every text is hostile, and the pages that show them. */
async function hostileResources(url: string): Promise<string[]> {
  const text = { description: SCRIPT, metadata: SCRIPT }
  const pages: string[] = []
  const make = async (path: string, collection: string, body: object): Promise<string> => {
    const { id } = await world.make(path, { ...text, ...body })
    pages.push(`/${collection}`, `/${collection}/${id}`)
    return id
  }
  const target = { webhook: { url: `${url}?${encodeURI(SCRIPT)}` } }
  const destination = await make('/event_destinations', 'event_destinations', { target, format: 'json' })
  await make('/event_subscriptions', 'event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination],
  })
  await make('/credentials', 'credentials', {})
  await make('/backends/tunnel_group', 'tunnel_group_backends', { labels: { app: '<b>' } })
  await make('/backends/http_response', 'http_response_backends', {
    body: SCRIPT,
    headers: { 'x-a': SCRIPT },
  })
  await make('/api_keys', 'api_keys', {})
  // Its delivery fails with the text of the destination.
  await world.make('/ip_policies', { description: SCRIPT })
  const failing = async () => (await world.server.api.get('/event_deliveries')).body.event_deliveries
  await until(failing, { fits: all => all.some(({ last_error: error }: { last_error: unknown }) => error) })
  return [...pages, '/event_deliveries', '/captures', '/status', '/settings']
}

let world: CaptureWorld
let browser: Browser
before(async () => {
  world = await CaptureWorld.start({ traffic_full_capture: 'on' })
  browser = await launch()
})
after(async () => {
  await closePages(browser)
  await world[Symbol.asyncDispose]()
})

suite('the dashboard', () => {
  test('shows every page while there is no data', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    const lists = Object.entries(kinds).flatMap(([name, { verbs, parent }]) =>
      verbs.some(verb => verb === 'list') && parent === undefined ? [name] : [],
    )
    for (const each of [
      '',
      ...lists,
      'connect',
      'explain',
      'licences',
      'password',
      'people',
      'settings',
      'status',
      'usage',
    ]) {
      await dashboard.visit(`/${each}`)
      await loaded(page)
      assert.equal(await page.getByRole('alert').count(), 0, each)
    }
    assert.deepEqual(dashboard.errors, [])
  })

  test('has no serious accessibility findings on any kind of page, in light and dark', async () => {
    const host = 'accessible.example.org'
    const edge = await world.edge([host])
    const route = await world.route(edge, '/', await world.fixedResponse('hello'), { compression: {} })
    const { requestId } = await world.ask(`${host}/page`)
    await world.captured(requestId)
    const policy = await world.make('/ip_policies', { description: 'first' })
    await world.change(`/ip_policies/${policy.id}`, { description: 'second' })
    const { api } = world.server
    const { endpoints } = (await api.get('/endpoints')).body
    const endpoint = endpoints.find(({ hostport }: { hostport: string }) => hostport.startsWith(host))
    const { reserved_domains: domains } = (await api.get('/reserved_domains')).body
    const domain = domains.find((each: { domain: string }) => each.domain === host)
    const { audit_events: changes } = (await api.get(`/audit_events?object_id=${policy.id}`)).body
    await using dashboard = await Dashboard.open(browser, api)
    const { page } = dashboard
    for (const path of [
      '',
      '/requests',
      `/requests/${requestId}?replay`,
      '/captures',
      `/endpoints/${endpoint.id}`,
      `/protect?endpoint=${endpoint.id}`,
      `/https_edges/${edge}`,
      `/https_edge_routes/${route}/edit?parent=${edge}`,
      `/reserved_domains/${domain.id}`,
      '/ip_policies',
      `/ip_policies/${policy.id}`,
      '/audit_events',
      `/audit_events/${changes[0].id}`,
      '/event_deliveries',
      '/event_destinations/new',
      '/api_keys',
      '/dashboard_sessions',
      '/nodes',
      ...['connect', 'explain', 'password', 'people', 'settings', 'status', 'usage', 'licences'].map(
        name => `/${name}`,
      ),
      '/nothing/here',
    ]) {
      await dashboard.visit(path)
      await loaded(page)
      assert.deepEqual(await dashboard.findings(), [], path)
      await page.emulateMedia({ colorScheme: 'dark' })
      assert.deepEqual(await dashboard.findings(['color-contrast']), [], `${path} in dark mode`)
      await page.emulateMedia({ colorScheme: 'light' })
    }
    assert.deepEqual(dashboard.errors, [])
  })

  test('offers to drain a node, and shows why a lone one does not', async () => {
    const { nodes } = (await world.server.api.get('/nodes')).body
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit('/nodes', 'Nodes')
    await page.getByRole('region', { name: 'Nodes' }).getByRole('link', { name: nodes[0].name }).click()
    await page.getByRole('button', { name: 'Drain' }).click()
    const dialog = page.getByRole('dialog', { name: 'Drain' })
    await dialog.getByText('Stops a node without failed requests').waitFor()
    await dialog.getByRole('button', { name: 'Drain' }).click()
    await dialog.getByRole('alert').getByText('ERR_ADIT_').waitFor()
  })

  test('requires a new sign-in when its session has ended, and shows why', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    const { body } = await world.server.api.get('/dashboard_sessions')
    for (const { id } of body.dashboard_sessions) await world.server.api.delete(`/dashboard_sessions/${id}`)
    await page.getByText(/session has ended/i).waitFor()
    await page
      .getByRole('button', { name: /sign in/i })
      .first()
      .waitFor()
  })

  test('shows that the network is lost, keeps its data, and continues afterwards', async () => {
    await world.make('/ip_policies', { description: 'kept while offline' })
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit('/ip_policies', 'IP policies')
    await page.getByText('kept while offline').waitFor()
    const notice = page.getByText('The server does not respond')
    await page.context().setOffline(true)
    await notice.first().waitFor()
    assert.equal(await page.getByText('kept while offline').count(), 1)
    await world.make('/ip_policies', { description: 'made meanwhile' })
    await page.context().setOffline(false)
    await page.getByText('made meanwhile').waitFor()
    await notice.first().waitFor({ state: 'detached' })
  })

  test('is not loaded again for a page that was left', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    const isBack = Promise.withResolvers<Route>()
    let attempts = 0
    await page.route('**/dashboard/licences', async route => {
      attempts++
      if (attempts === 1) await route.abort('internetdisconnected')
      else isBack.resolve(route)
    })
    await page.context().setOffline(true)
    await page.evaluate(
      `history.pushState(null, '', '/dashboard/licences'); dispatchEvent(new PopStateEvent('popstate'))`,
    )
    await page.getByText('This page could not be loaded.').waitFor()
    await page.context().setOffline(false)
    const route = await isBack.promise
    await dashboard.visit('/connect', 'Connect an agent')
    const navigations: string[] = []
    page.on('request', request => request.isNavigationRequest() && navigations.push(request.url()))
    const answered = page.waitForResponse(response => response.url().endsWith('/dashboard/licences'))
    await route.fulfill({ status: 200 })
    await answered
    // Whatever the page does about that response, it does before this one.
    await page.evaluate(`fetch(location.href, { method: 'HEAD' }).then(() => undefined)`)
    assert.deepEqual(navigations, [])
  })

  test('shows that the database is unavailable, and continues when it is back', async () => {
    const postgres = await startPostgres()
    try {
      await using own = await CaptureWorld.start({ database_url: await postgres.newDatabase() })
      await own.make('/ip_policies', { description: 'kept meanwhile' })
      await using dashboard = await Dashboard.open(browser, own.server.api)
      const { page } = dashboard
      await dashboard.visit('/ip_policies', 'IP policies')
      const kept = page.getByText('kept meanwhile')
      await kept.waitFor()
      await page.evaluate('window.isSamePage = true')
      await postgres.crash()
      const notice = page.getByRole('alert').getByText('The database cannot be reached')
      for (const [path, heading] of [
        ['/reserved_domains', 'Domains'],
        ['/ip_policies', 'IP policies'],
      ] as const) {
        await dashboard.visit(path, heading)
        await notice.first().waitFor()
      }
      // A page that is loaded anew has no script that could try again.
      const another = await page.context().newPage()
      another.setDefaultTimeout(120_000)
      await another.goto(`${dashboard.url}/dashboard/ip_policies`)
      await another.getByRole('heading', { level: 1, name: 'Not available' }).waitFor()
      await another.getByText('The database cannot be reached').waitFor()
      await postgres.restart()
      await another.getByRole('heading', { level: 1, name: 'IP policies' }).waitFor()
      await another.close()
      await kept.waitFor()
      await notice.first().waitFor({ state: 'detached' })
      await own.make('/ip_policies', { description: 'made afterwards' })
      await page.getByText('made afterwards').waitFor()
      assert.equal(await page.evaluate('window.isSamePage'), true)
    } finally {
      await postgres.stop()
    }
  })

  test('fits the longest names, and shows text of any script', async () => {
    assert.equal(LONGEST.length, 253)
    const domain = await world.make('/reserved_domains', { domain: LONGEST, metadata: MIXED })
    const policy = await world.make('/ip_policies', { description: MIXED, metadata: 'm'.repeat(4096) })
    await using dashboard = await Dashboard.open(browser, world.server.api, { width: 375 })
    const { page } = dashboard
    for (const [path, text] of [
      ['/reserved_domains', LONGEST],
      [`/reserved_domains/${domain.id}`, LONGEST],
      [`/ip_policies/${policy.id}`, MIXED],
      [`/ip_policies/${policy.id}/edit`, ''],
    ] as const) {
      await dashboard.visit(path)
      await page.locator('main').getByText(text).first().waitFor()
      assert.equal(await dashboard.hasSidewaysScroll(), false, path)
    }
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })

  test('shows the current page in its navigation, and breaks no word of a button, at 375 px', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api, { width: 375 })
    const { page } = dashboard
    for (const [path, title] of [
      ['/people', 'People'],
      ['/nodes', 'Nodes'],
      ['/settings', 'Settings'],
      ['/audit_events', 'Audit events'],
    ] as const) {
      await dashboard.visit(path, title)
      await loaded(page)
      await until(async () => {
        const entry = page
          .getByRole('navigation', { name: 'Sections' })
          .getByRole('link', { name: title, exact: true })
        const { x, width } = (await entry.boundingBox()) ?? { x: -1, width: 0 }
        return x >= 0 && x + width <= 375
      })
      for (const button of await page.locator('header, main').getByRole('button').all()) {
        const { height } = (await button.boundingBox()) ?? { height: 0 }
        assert.ok(height < 48, `${await button.innerText()} at ${path} is ${height} px high`)
      }
      assert.equal(await dashboard.hasSidewaysScroll(), false, path)
    }
  })

  test('SEC-xss: runs nothing that clients, agents or API callers have written', async () => {
    const host = 'hostile.adit.localhost'
    const agent = await world.agent({ metadata: SCRIPT, userAgent: SCRIPT.replaceAll(/[^\w<>=]/g, '') })
    const forwardTo = await world.service((_, response) => {
      response.setHeader('content-type', 'text/html')
      response.setHeader('content-disposition', `attachment; filename="${SCRIPT.replaceAll('"', "'")}"`)
      response.setHeader('x-hostile', SCRIPT)
      response.end(SCRIPT)
    })
    await agent.listen({ proto: 'http', domain: host, forwardTo, metadata: `${SCRIPT} ${LINK}` })
    const edge = await world.edge(['hostile.example.org'], { description: SCRIPT, metadata: LINK })
    const backend = await world.static((_, response) => response.writeHead(500).end(SCRIPT))
    await world.route(edge, '/', backend, { description: SCRIPT, metadata: LINK })
    const headers = { 'user-agent': SCRIPT, referer: LINK, 'x-hostile': SCRIPT, cookie: SCRIPT }
    const path = `/${encodeURI(SCRIPT)}?q='"<script>window.ran=1</script>`.replaceAll(' ', '%20')
    const sent = await world.ask(`hostile.example.org${path}`, { method: 'POST', body: SCRIPT, headers })
    const through = await until(() => world.askPlain(host, path), {
      fits: ({ text }) => text === SCRIPT,
    })
    for (const { requestId } of [sent, through]) await world.captured(requestId)
    const { body: online } = await world.server.api.get('/endpoints')
    const endpoint = online.endpoints.find(({ hostport }: { hostport: string }) => hostport.startsWith(host))
    const policy = await world.make('/ip_policies', { description: SCRIPT, metadata: LINK })
    await world.change(`/ip_policies/${policy.id}`, { metadata: SCRIPT })
    const { audit_events: changes } = (await world.server.api.get(`/audit_events?object_id=${policy.id}`))
      .body
    const user = await world.make('/users', { name: SCRIPT, email: 'hostile@example.com' })
    const { port = 0 } = world.server.bound.agent ?? {}
    const raw = await TestAgent.connect({ port, rootPem: String(world.ca) }, { serverName: 'localhost' })
    const { ClientId: session, Error: refusal } = await raw.auth(world.server.authtoken, {
      OS: SCRIPT,
      Arch: SCRIPT,
      Version: SCRIPT,
      UserAgent: SCRIPT,
      Metadata: SCRIPT,
    })
    assert.equal(refusal, '')
    const others = await hostileResources(
      `http://127.0.0.1:${await world.service((_, it) => it.writeHead(500).end(SCRIPT))}/`,
    )
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    for (const each of [
      '/requests',
      `/requests/${sent.requestId}?replay`,
      `/requests/${through.requestId}?replay`,
      '/tunnel_sessions',
      `/tunnel_sessions/${session}`,
      ...others,
      '/usage',
      `/tunnels/${endpoint.tunnel.id}`,
      '/tunnels',
      `/endpoints/${endpoint.id}`,
      `/https_edges/${edge}`,
      `/ip_policies/${policy.id}`,
      `/ip_policies/${policy.id}/edit`,
      '/ip_policies',
      `/users/${user.id}`,
      '/people',
      '/audit_events',
      `/audit_events/${changes[0].id}`,
      `/protect?edge=${edge}`,
      '',
    ]) {
      await dashboard.visit(each)
      await loaded(page)
      for (const tab of await page.getByRole('tab').all()) await tab.click()
      if (each.endsWith(session)) await page.locator('main').getByText(SCRIPT).first().waitFor()
      assert.equal(await page.evaluate('window.ran'), undefined, each)
      assert.equal(await page.locator('main img, main script, a[href^="javascript:"]').count(), 0, each)
    }
    assert.deepEqual(dashboard.errors, [], 'no policy was violated')
    raw.drop()
  })

  test('pages through 10,000 endpoints', { skip: !LONG && 'takes long; TEST_LONG=1' }, async () => {
    await world.make('/reserved_domains', { domain: '*.many.example.org' })
    for (let edge = 0; edge < 100; edge++)
      await world.make('/edges/https', {
        hostports: Array.from({ length: 100 }, (_, at) => `e${edge}-${at}.many.example.org:443`),
      })
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit('/endpoints', 'Endpoints')
    await page.getByText('.many.example.org').first().waitFor()
    assert.equal(await page.locator('tbody tr').count(), 100)
    await page.getByRole('searchbox', { name: 'Filter' }).fill('e7-42.many')
    await page.getByText('e7-42.many.example.org').first().waitFor()
    for (const path of ['', '/https_edges', '/requests', '/usage', '/status', '/explain', '/audit_events']) {
      await dashboard.visit(path)
      await loaded(page)
      assert.equal(await page.getByRole('alert').count(), 0, path)
    }
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Host name, id or page' }).fill('e99-99.many')
    await page.getByRole('option', { name: 'e99-99.many.example.org' }).click()
    await page.getByRole('heading', { level: 1, name: 'e99-99.many.example.org' }).waitFor()
    assert.deepEqual(dashboard.errors, [])
  })
})
