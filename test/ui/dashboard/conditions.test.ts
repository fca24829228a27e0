import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { CaptureWorld } from '../../telemetry/capture/support.ts'
import { startPostgres } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { Dashboard, PAGE_MS, closePages, launch } from './support.ts'

/** Hebrew and Arabic, from right to left, and an emoji of several code points. */
const MIXED = '\u202Eעברית العربية\u202C 👩‍👩‍👧‍👦'
const LABEL = 'a'.repeat(61)
/** 253 characters, the longest name that DNS has. */
const longest = (end: string): string =>
  `${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(253 - 3 * 62 - 1 - end.length)}.${end}`
const EDGE_HOST = longest('org')
const TUNNEL_HOST = longest('adit.localhost')

/** Pages that show nothing of the server before something is entered. */
const forms = ['/connect', '/explain', '/https_edges/new', '/event_destinations/new', '/api_keys/new']

/** Every page with a layout of its own, for a server whose names and texts are the longest there are. */
async function pagesOf(world: CaptureWorld): Promise<string[]> {
  const { api } = world.server
  const text = { description: MIXED, metadata: MIXED }
  const edge = await world.edge([EDGE_HOST], text)
  const route = await world.route(edge, `/${'p'.repeat(100)}`, await world.fixedResponse('hello'), text)
  const agent = await world.agent({ metadata: MIXED })
  const forwardTo = await world.service((_, response) => response.end('hello'))
  await agent.listen({ proto: 'http', domain: TUNNEL_HOST, forwardTo, metadata: MIXED })
  const { requestId } = await world.ask(`${EDGE_HOST}/${'p'.repeat(100)}/cart`)
  await world.captured(requestId)
  await world.askPlain(TUNNEL_HOST, `/${'q'.repeat(200)}`)
  const target = { webhook: { url: `http://127.0.0.1:${forwardTo}/` } }
  const destination = await world.make('/event_destinations', { ...text, target })
  await world.make('/event_subscriptions', {
    ...text,
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination.id],
  })
  const key = await world.make('/api_keys', text)
  await world.make('/bot_users', { name: MIXED })
  const found = async (path: string, list: string): Promise<{ id: string; hostport?: string }[]> =>
    (await api.get(path)).body[list]
  const endpoints = await until(() => found('/endpoints', 'endpoints'), { fits: all => all.length === 2 })
  const [session] = await found('/tunnel_sessions', 'tunnel_sessions')
  const [domain] = await found('/reserved_domains', 'reserved_domains')
  const [change] = await found(`/audit_events?object_id=${edge}`, 'audit_events')
  const [node] = await found('/nodes', 'nodes')
  return [
    '',
    '/requests',
    `/requests/${requestId}?replay`,
    '/captures',
    '/endpoints',
    ...endpoints.map(({ id }) => `/endpoints/${id}`),
    '/tunnels',
    '/tunnel_sessions',
    `/tunnel_sessions/${session?.id}`,
    '/reserved_domains',
    `/reserved_domains/${domain?.id}`,
    '/https_edges',
    `/https_edges/${edge}`,
    `/https_edge_routes/${route}?parent=${edge}`,
    `/protect?edge=${edge}`,
    '/event_deliveries',
    `/event_destinations/${destination.id}`,
    '/audit_events',
    `/audit_events/${change?.id}`,
    '/people',
    '/api_keys',
    `/api_keys/${key.id}`,
    '/dashboard_sessions',
    '/nodes',
    `/nodes/${node?.id}`,
    '/settings',
    '/status',
    '/usage',
    '/licences',
  ]
}

/** Shows a page as a link does. */
const open = (page: Page, path: string): Promise<unknown> =>
  page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(`/dashboard${path}`)}); dispatchEvent(new PopStateEvent('popstate'))`,
  )

const heading = (page: Page) => page.locator('main').getByRole('heading', { level: 1 })
const alerts = (page: Page) => page.locator('main').getByRole('alert')

/** Resolves when the page has all that it shows. */
async function complete(page: Page): Promise<void> {
  await heading(page).waitFor()
  await page.locator('main:has(.loading)').waitFor({ state: 'detached' })
}

/** Another tab of the same browser, with the same session. */
async function newTab({ page, url }: Dashboard): Promise<Page> {
  const tab = await page.context().newPage()
  tab.setDefaultTimeout(PAGE_MS)
  await tab.goto(`${url}/dashboard/`)
  return tab
}

let world: CaptureWorld
let browser: Browser
let pages: readonly string[]
before(async () => {
  world = await CaptureWorld.start({ traffic_full_capture: 'on' })
  browser = await launch()
  pages = await pagesOf(world)
})
after(async () => {
  await closePages(browser)
  await world[Symbol.asyncDispose]()
})

// At once, because each waits for the browser and the server most of the time.
suite('every page of the dashboard', { concurrency: true }, () => {
  for (const width of [1280, 375])
    test(`fits ${width} px with 253-character names, right-to-left text and emoji`, async () => {
      assert.deepEqual([EDGE_HOST.length, TUNNEL_HOST.length], [253, 253])
      await using dashboard = await Dashboard.open(browser, world.server.api, { width })
      const { page } = dashboard
      for (const path of [...pages, ...forms]) {
        await open(page, path)
        await complete(page)
        assert.deepEqual(await alerts(page).allInnerTexts(), [], path)
        assert.equal(await dashboard.hasSidewaysScroll(), false, path)
      }
      assert.deepEqual(dashboard.errors, [])
    })

  test('redirects to sign-in when the session has ended, and is shown again afterwards', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const context = dashboard.page.context()
    const tabs = [dashboard.page, ...(await Promise.all([newTab(dashboard), newTab(dashboard)]))]
    const cookies = await context.cookies()
    for (let first = 0; first < pages.length; first += tabs.length) {
      const shown = tabs.flatMap((page, at) => {
        const path = pages[first + at]
        return path === undefined ? [] : [{ page, path }]
      })
      await context.clearCookies()
      await Promise.all(
        shown.map(async ({ page, path }) => {
          await open(page, path)
          await page.getByText('Your session has ended.').waitFor()
        }),
      )
      await context.addCookies(cookies)
      await Promise.all(
        shown.map(async ({ page, path }) => {
          await page.reload()
          await complete(page)
          assert.equal(await page.evaluate('location.pathname + location.search'), `/dashboard${path}`)
          assert.deepEqual(await alerts(page).allInnerTexts(), [], path)
        }),
      )
    }
  })

  test('shows that the network is lost, and its data when it is back', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    const notice = page.getByRole('status').getByText('The server does not respond.')
    await open(page, '/connect')
    await page.context().setOffline(true)
    await notice.waitFor()
    for (const path of pages) {
      await open(page, path)
      await alerts(page).first().waitFor()
      assert.ok((await page.getByRole('navigation', { name: 'Sections' }).getByRole('link').count()) > 5)
    }
    await page.context().setOffline(false)
    await notice.waitFor({ state: 'detached' })
    // The last page could not load its code, so the document is loaded again.
    await page.getByRole('heading', { level: 1, name: 'Licences' }).waitFor()
    for (const path of pages) {
      await open(page, path)
      await complete(page)
      await alerts(page).first().waitFor({ state: 'detached' })
    }
  })

  test('shows that the database is unavailable, and its data when it is back', async () => {
    const postgres = await startPostgres()
    try {
      await using own = await CaptureWorld.start({
        database_url: await postgres.newDatabase(),
        traffic_full_capture: 'on',
      })
      const all = await pagesOf(own)
      await using dashboard = await Dashboard.open(browser, own.server.api)
      const { page } = dashboard
      for (const path of all) {
        await open(page, path)
        await complete(page)
      }
      await postgres.crash()
      for (const path of all) {
        await open(page, path)
        await heading(page).waitFor()
        await alerts(page).getByText('The database cannot be reached').first().waitFor()
      }
      await postgres.restart()
      for (const path of all) {
        await open(page, path)
        await complete(page)
        await alerts(page).first().waitFor({ state: 'detached' })
      }
    } finally {
      await postgres.stop()
    }
  })
})
