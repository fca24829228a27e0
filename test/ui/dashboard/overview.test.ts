import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { RequestCounter } from '#ui/dashboard/overview/figures.ts'
import type { EndedRequest } from '#contract/request-responder.ts'
import { addressOf, signIn } from '../../agent/support.ts'
import { createResource } from '../../support/each-store.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { until } from '../../support/until.ts'
import { Dashboard, closePages, launch } from './support.ts'

let server: TestServer
let browser: Browser
before(async () => {
  server = await startServer()
  browser = await launch()
})
after(async () => {
  await closePages(browser)
  await server[Symbol.asyncDispose]()
})

suite('the figures of the overview', () => {
  const request = (ms: number) =>
    ({ status: 200, modules_ms: 0, backend_ms: ms, content_ms: 0, response_bytes: 10 }) as EndedRequest

  test('are for the time since the page was opened, and at most for two minutes', () => {
    const counter = new RequestCounter(0)
    for (let at = 0; at < 20; at++) counter.add(request(500), 1000)
    assert.equal(counter.figures(10_000).perSecond, 2)
    assert.equal(counter.figures(10_000).p99, 500)
    for (let at = 0; at < 12; at++) counter.add(request(5), 200_000)
    const later = counter.figures(200_000)
    assert.equal(later.perSecond, 0.1)
    assert.equal(later.p99, 5, 'earlier requests are not counted any more')
  })
})

suite('the overview', () => {
  test('of an empty installation shows how to start the first agent, and that it connects', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await page.getByRole('heading', { level: 2, name: 'Open your first tunnel' }).waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    await page.getByRole('link', { name: 'Connect an agent' }).first().click()
    await page.getByLabel('Name of the machine').fill('laptop of Alice')
    await page.getByLabel('May open').fill('*.alice.example.com')
    await page.getByRole('button', { name: 'Create its token' }).click()
    const commands = await page.getByLabel('Commands').innerText()
    const [, authtoken, address] =
      /^adit config add-authtoken (\S+)\nadit http 3000 --server (\S+)$/.exec(commands) ?? []
    assert.equal(address, addressOf(server))
    assert.ok(authtoken, commands)
    await page.getByText('npm run package').waitFor()
    await page.getByText('Waiting for your agent').waitFor()
    for (const [tab, text] of [
      ['Linux', 'adit config add-authtoken'],
      ['Windows', 'adit config add-authtoken'],
      ['Docker', `docker run -e ADIT_AUTHTOKEN=${authtoken}`],
      ['ssh -R', 'ssh -p '],
      ['Node', `forward({ server: '${address}', authtoken: '${authtoken}', forwardTo: 3000 })`],
      ['Kubernetes', `--env=ADIT_AUTHTOKEN=${authtoken} -- http my-service:3000 --server ${address}`],
    ] as const) {
      await page.getByRole('tab', { name: tab }).click()
      await page.getByLabel('Commands').getByText(text).waitFor()
    }
    const { credentials } = (await server.api.get('/credentials')).body
    const found = credentials.find(
      ({ description }: { description: string }) => description === 'laptop of Alice',
    )
    assert.deepEqual(found.acl, ['bind:*.alice.example.com'])
    assert.deepEqual(await dashboard.findings(), [])
    await using agent = await signIn(server, { authtoken })
    assert.ok(agent)
    await page.getByText('Connected from 127.0.0.1').waitFor()
    await page.getByText(new RegExp(`\\d ms, ${process.platform} ${process.arch}, version`)).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('1 Agents connected').waitFor()
    await page
      .getByRole('region', { name: 'Recent changes' })
      .getByText('tunnel credential created')
      .waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })

  test('keeps the card of the first tunnel until the page is left, and shows that the agent is connected', async () => {
    await until(async () => (await server.api.get('/tunnel_sessions')).body.tunnel_sessions.length === 0)
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    const card = page.getByRole('region', { name: 'First tunnel' })
    await card.getByLabel('Name of the machine').fill('first machine')
    await card.getByRole('button', { name: 'Create its token' }).click()
    const commands = await card.getByLabel('Commands').innerText()
    const authtoken = /add-authtoken (\S+)/.exec(commands)?.[1] ?? ''
    await using agent = await signIn(server, { authtoken })
    assert.ok(agent)
    await page.getByText('1 Agents connected').waitFor()
    await card.getByText('Connected: show the endpoints').waitFor()
    await card.getByText('Connected from 127.0.0.1').waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    await page.getByRole('link', { name: 'Traffic', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Traffic' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('1 Agents connected').waitFor()
    assert.equal(await card.count(), 0)
  })

  test('counts endpoints beyond a page, and the domains that need attention', async () => {
    await using many = await startServer()
    await createResource(many.api, '/reserved_domains', { domain: '*.many.example.org' })
    await createResource(many.api, '/reserved_domains', { domain: 'one.example.org' })
    for (const edge of ['a', 'b'])
      await createResource(many.api, '/edges/https', {
        hostports: Array.from({ length: 60 }, (_, at) => `${edge}${at}.many.example.org:443`),
      })
    const { problems } = await until(async () => (await many.api.get('/status')).body, {
      fits: ({ online, problems: found }) => online.endpoints === 120 && found.length > 0,
    })
    const ids = new Set(problems.map(({ resource_id: id }: { resource_id: string }) => id))
    await using dashboard = await Dashboard.open(browser, many.api)
    const { page } = dashboard
    await page.getByRole('link', { name: '120 Endpoints online' }).waitFor()
    await page.getByRole('link', { name: `2 Domains ● ${ids.size} of them need attention` }).waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })

  test('shows members nothing that only admins may open', async () => {
    await using dashboard = await Dashboard.openAsMember(browser, server.api)
    const { page } = dashboard
    const navigation = page.getByRole('navigation', { name: 'Sections' })
    await navigation.getByRole('link', { name: 'Events', exact: true }).click()
    await navigation.getByRole('link', { name: 'Event deliveries' }).waitFor()
    assert.equal(await navigation.getByRole('link', { name: 'Audit events' }).count(), 0)
    await navigation.getByRole('link', { name: 'People and keys' }).click()
    await navigation.getByRole('link', { name: 'API keys' }).waitFor()
    assert.equal(await navigation.getByRole('link', { name: 'Users', exact: true }).count(), 0)
    assert.deepEqual(dashboard.errors, [])
  })

  test('fits 375 px', async () => {
    await using dashboard = await Dashboard.open(browser, server.api, { width: 375, colorScheme: 'dark' })
    await dashboard.page
      .getByRole('region', { name: 'Recent changes' })
      .getByRole('listitem')
      .first()
      .waitFor()
    assert.equal(await dashboard.hasSidewaysScroll(), false)
    assert.deepEqual(await dashboard.findings(), [])
  })

  test('shows all columns of a table on a phone too', async () => {
    await using dashboard = await Dashboard.open(browser, server.api, { width: 390, colorScheme: 'dark' })
    const { page } = dashboard
    await dashboard.visit('/settings', 'Settings')
    await page.getByLabel('Also defaults').check()
    const table = page.getByRole('region', { name: 'Settings' })
    await table.getByRole('rowheader', { name: 'capture_masking', exact: true }).waitFor()
    const isWide = "(box => box.scrollWidth > box.clientWidth)(document.querySelector('.table-box'))"
    assert.equal(await page.evaluate(isWide), false)
    assert.equal(await dashboard.hasSidewaysScroll(), false)
    assert.deepEqual(await dashboard.findings(), [])
    await dashboard.visit('/audit_events', 'Audit events')
    const change = page.getByRole('row').filter({ has: page.getByRole('rowheader') })
    await change.first().getByText('127.0.0.1', { exact: true }).waitFor()
    assert.equal(await page.evaluate(isWide), false)
    assert.deepEqual(await dashboard.findings(), [])
    await page.getByLabel('Until').fill('2020-01-31T10:00')
    await page.getByText('Nothing matches.').waitFor()
    await page.getByLabel('Since').fill('2020-01-31T10:00')
    await page.getByLabel('Until').fill('')
    await change.first().waitFor()
  })

  test('links to the settings of the server and their source', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/settings', 'Settings')
    const row = (name: string) =>
      page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) })
    await row('rate_limit').getByText('--rate-limit').waitFor()
    assert.equal(await row('capture_masking').count(), 0)
    await page.getByLabel('Also defaults').check()
    await row('capture_masking').getByText('default', { exact: true }).waitFor()
    await page.getByLabel('Filter').fill('masked')
    await row('rate_limit').waitFor({ state: 'detached' })
    assert.deepEqual(await dashboard.findings(), [])
    await dashboard.visit('/licences', 'Licences')
    await page.getByText(/^preact 11\./).click()
    await page.getByLabel('Licence of preact', { exact: true }).getByText('The MIT License').waitFor()
    assert.deepEqual(dashboard.errors, [])
  })
})
