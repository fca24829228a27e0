import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { FakeDns } from '../../acme/fake-dns.ts'
import { World } from '../../e2e/edges/world.ts'
import { secretText } from '../../support/secrets.ts'
import { Dashboard, closePages, launch } from './support.ts'

const HOST = 'edge.example.org'
const HOSTILE = '<img src=x onerror=document.title=1>'

let world: World
let browser: Browser
let edge: string
let resolvers: readonly [FakeDns, FakeDns]
before(async () => {
  resolvers = [await FakeDns.start(), await FakeDns.start()]
  world = await World.start({ acme_dns: resolvers.map(({ at }) => at).join() })
  browser = await launch()
  edge = await world.edge([HOST], { description: HOSTILE })
  const [one, other] = [await world.fixedResponse('one'), await world.fixedResponse('other', 201)]
  const group = await world.make('/backends/tunnel_group', { labels: { app: 'none' }, description: HOSTILE })
  const weighted = await world.make('/backends/weighted', { backends: { [one]: 3, [group.id]: 1 } })
  await world.route(edge, '/', weighted.id)
  await world.route(edge, '/admin', other, {
    compression: {},
    user_agent_filter: { deny: ['curl'] },
    response_headers: { add: { a: 'b' } },
    request_headers: { add: { a: 'b' } },
    circuit_breaker: {},
    oauth: {
      provider: {
        google: {
          client_id: 'own',
          client_secret: secretText('own application'),
          email_domains: ['example.com'],
        },
      },
    },
    ip_restriction: { ip_policy_ids: [(await world.make('/ip_policies')).id] },
  })
})
after(async () => {
  await closePages(browser)
  await world[Symbol.asyncDispose]()
  for (const resolver of resolvers) resolver[Symbol.dispose]()
})

suite('the edge page', () => {
  test('shows routes in match order, modules in run order, and the backends', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/https_edges/${edge}`, HOSTILE)
    const routes = page.locator('.routes > li')
    await routes.nth(1).waitFor()
    assert.match(await routes.nth(0).innerText(), /^\/admin/)
    const chips = page.getByRole('list', { name: 'route /admin', exact: true }).getByRole('button')
    const shown = (await chips.allInnerTexts()).filter(name => name !== 'Backend')
    const { body } = await world.server.api.post('/requests/explain', {
      request_url: `https://${HOST}/admin`,
    })
    assert.deepEqual(
      shown.map(name => name.toLowerCase().replaceAll(' ', '_')),
      body.modules.map(({ name }: { name: string }) => name),
    )
    const tree = routes.nth(1).locator('.backend').first()
    await tree.getByText('weight 3 (75 %)').waitFor()
    await tree.getByText('responds with 200').waitFor()
    await tree.getByText('no agent online').waitFor()
    assert.equal(await page.locator('main img').count(), 0)
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })

  test('adds, changes and removes a module by forms of the contract', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/https_edges/${edge}`, HOSTILE)
    await page.getByLabel('Add a module to route /', { exact: true }).selectOption('compression')
    const dialog = page.getByRole('dialog', { name: 'Compression' })
    assert.deepEqual(await dashboard.findings(), [])
    await dialog.getByRole('button', { name: 'Save' }).click()
    // The module can be shown before: while the dialog is open, keys reach nothing else.
    await dialog.waitFor({ state: 'detached' })
    const chips = page.getByRole('list', { name: 'route /', exact: true })
    await chips.getByRole('button', { name: 'Compression', exact: true }).press('Enter')
    await dialog.getByLabel('Enabled').uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await chips.getByRole('button', { name: 'Compression (off)' }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog', { name: 'Remove' }).getByRole('button', { name: 'Remove' }).click()
    await chips.getByRole('button', { name: /Compression/ }).waitFor({ state: 'detached' })
    assert.deepEqual(dashboard.errors, [])
  })

  test('explains which route matches, by the real router', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api, { width: 375 })
    const { page } = dashboard
    await dashboard.visit(`/https_edges/${edge}`, HOSTILE)
    const form = page.getByRole('region', { name: 'Which route matches this request?' })
    await form.getByLabel('URL').fill(`https://${HOST}/admin/users`)
    await form.getByLabel('Client address').fill('192.0.2.7')
    await form.getByRole('button', { name: 'Explain' }).press('Enter')
    const result = form.getByRole('status', { name: 'Explanation' })
    await result.getByRole('link', { name: 'route /admin (path prefix)' }).waitFor()
    await result.locator('li.failed', { hasText: 'IP restriction' }).getByText('rejects').waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    assert.equal(await dashboard.hasSidewaysScroll(), false)
    await dashboard.visit('/explain', 'Which route matches?')
    assert.equal(await page.getByRole('heading', { name: 'Which route matches' }).count(), 1)
    await page.getByLabel('URL').fill('nonsense')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByRole('alert').waitFor()
  })

  test('without routes shows what to do', async () => {
    const { id } = await world.make('/edges/https', {})
    await using dashboard = await Dashboard.open(browser, world.server.api)
    await dashboard.visit(`/https_edges/${id}`)
    await dashboard.page.getByText('There is no route').waitFor()
    await dashboard.page.getByText('This edge has no address yet').waitFor()
    assert.deepEqual(await dashboard.findings(), [])
  })
})

suite('the domain page', () => {
  test('shows the required record, the progress, and checks again', async () => {
    const { id } = await world.make('/reserved_domains', {
      domain: 'setup.example.org',
      description: HOSTILE,
    })
    const [first, second] = resolvers
    first.aliases.set('setup.example.org', 'old.example.net')
    second.fails = true
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/reserved_domains/${id}`, 'setup.example.org')
    const setup = page.getByRole('region', { name: 'Setup' })
    const answers = setup.getByRole('list', { name: 'Answers of DNS resolvers' })
    await answers.getByLabel(`Records of ${first.at}`).getByText('old.example.net').waitFor()
    await answers.getByText(`${second.at} does not answer: ESERVFAIL`).waitFor()
    await setup.getByRole('list', { name: 'Progress' }).getByText('DNS record', { exact: true }).waitFor()
    await setup.getByText('adit http 3000 --domain setup.example.org').waitFor()
    // There is none.
    assert.equal(await page.getByRole('button', { name: 'Delete certificate', exact: true }).count(), 0)
    const again = page.waitForResponse(response => response.url().endsWith(`/${id}/check`))
    await setup.getByRole('button', { name: 'Check now' }).click()
    assert.equal((await again).status(), 200)
    assert.equal(await page.locator('main img').count(), 0)
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })
})
