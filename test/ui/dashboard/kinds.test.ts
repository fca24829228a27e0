import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { kinds } from '#contract/kinds/index.ts'
import { titleOf } from '#contract/names.ts'
import { createResource } from '../../support/each-store.ts'
import { MARKER, secretText } from '../../support/secrets.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { Dashboard, closePages, launch } from './support.ts'

let server: TestServer
let browser: Browser
before(async () => {
  server = await startServer({ dns_addr: '127.0.0.1:0', public_addresses: '127.0.0.1' })
  browser = await launch()
})
after(async () => {
  await closePages(browser)
  await server[Symbol.asyncDispose]()
})

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

suite('the dashboard', () => {
  test('shows a list of every kind, without console errors and serious accessibility findings', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    for (const [collection, kind] of Object.entries(kinds)) {
      if (kind.parent || collection === 'requests') continue
      const title = collection === 'tunnel_sessions' ? 'Connected agents' : titleOf(collection)
      await dashboard.visit(`/${collection}`, title)
      await dashboard.page.locator('table, .empty').first().waitFor()
    }
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })

  test('shows the records of a DNS zone as a table, with numbers as DNS has them', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    const [zone] = (await server.api.get('/dns_zones')).body.dns_zones
    await dashboard.visit(`/dns_zones/${zone.id}`, zone.domain)
    await page.getByText(/^\d{10}$/).waitFor()
    const table = page.getByRole('region', { name: 'Fields' }).getByRole('table')
    await table.getByRole('columnheader', { name: 'TTL' }).waitFor()
    assert.equal(await table.locator('tbody').getByRole('row').count(), zone.records.length)
    await table.getByRole('row', { name: 'NS' }).first().getByRole('cell', { name: '3600' }).waitFor()
    assert.deepEqual(await dashboard.findings(), [])
  })

  test('asks for the name of a new domain first, and opens the other fields for an error in them', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/reserved_domains/new', 'New reserved domain')
    await page.getByLabel('Name', { exact: true }).fill('first.example.org')
    const metadata = page.getByLabel('Metadata')
    assert.equal(await metadata.isVisible(), false)
    await page.getByText('More fields').click()
    await metadata.fill('x'.repeat(4097))
    await page.getByText('More fields').click()
    assert.equal(await metadata.isVisible(), false)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').waitFor()
    await page.locator('textarea:focus').waitFor()
    await metadata.fill('')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'first.example.org' }).waitFor()
    assert.deepEqual(await dashboard.findings(), [])
  })

  test('opens the people first of people and keys, and shows the section of every page', async () => {
    const edge = await createResource(server.api, '/edges/https', {})
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    const sections = page.getByRole('navigation', { name: 'Sections' })
    await sections.getByRole('link', { name: 'People and keys' }).click()
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor()
    await dashboard.visit(`/https_edge_routes/new?parent=${edge.id}`, 'New HTTPS edge route')
    await sections.getByRole('link', { name: 'HTTPS edges' }).waitFor()
  })

  test('names a backend without a description by what it does', async () => {
    const create = async (type: string, body: object): Promise<string> => {
      const response = await server.api.post(`/backends/${type}`, body)
      assert.equal(response.status, 201)
      return String(response.body.id)
    }
    const fixed = await create('http_response', { status_code: 503 })
    const group = await create('tunnel_group', { labels: { app: 'shop', env: 'test' } })
    await create('weighted', { backends: { [fixed]: 1, [group]: 2 } })
    await create('failover', { backends: [group] })
    const described = await create('weighted', { description: 'both', backends: { [fixed]: 1 } })
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    for (const [collection, title, name] of [
      ['http_response_backends', 'HTTP response backends', 'Status 503'],
      ['tunnel_group_backends', 'Tunnel group backends', 'app=shop, env=test'],
      ['weighted_backends', 'Weighted backends', '2 backends by weight'],
      ['failover_backends', 'Failover backends', '1 backend in order'],
    ] as const) {
      await dashboard.visit(`/${collection}`, title)
      await page.getByRole('link', { name, exact: true }).waitFor()
    }
    await dashboard.visit(`/weighted_backends/${described}`, 'both')
  })

  test('creates, changes and deletes a resource, with errors at their field', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/ip_policies', 'IP policies')
    await page.getByRole('link', { name: 'New' }).click()
    await page.getByLabel('Description').fill('x'.repeat(256))
    await page.getByRole('button', { name: 'Create' }).click()
    const field = page.locator('.field', { has: page.getByLabel('Description') })
    await field.getByRole('alert').getByText('255').waitFor()
    await page.getByLabel('Description').fill('the office')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'the office' }).waitFor()
    const { body } = await server.api.get('/ip_policies')
    const id = String(body.ip_policies[0].id)
    assert.ok(page.url().endsWith(`/dashboard/ip_policies/${id}`))
    await page.getByRole('link', { name: 'Add' }).click()
    await page.getByLabel('CIDR', { exact: false }).fill('10.0.0.0/8')
    await page.getByLabel('Action').selectOption('allow')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: '10.0.0.0/8' }).waitFor()
    await page.getByRole('link', { name: 'the office' }).click()
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Description').fill('the new office')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'the new office' }).waitFor()
    assert.equal((await server.api.get(`/ip_policies/${id}`)).body.description, 'the new office')
    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await server.api.get(`/ip_policies/${id}`)).status, 200)
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'IP policies' }).waitFor()
    assert.equal((await server.api.get(`/ip_policies/${id}`)).status, 404)
  })

  test('shows a token once, and the same call for a shell', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/credentials/new', 'New credential')
    await page.getByLabel('Description').fill("Alice's laptop")
    await page.getByRole('button', { name: 'Add to ACL' }).click()
    await page.getByLabel('ACL 1', { exact: true }).fill('bind:*.example.com')
    await page.getByRole('button', { name: 'Copy as API call' }).click()
    const dialog = page.getByRole('dialog', { name: 'API call' })
    await dialog.getByLabel('curl').getByText(`curl -X POST ${server.api.url}/credentials`).waitFor()
    const adit = await dialog.getByLabel('adit').innerText()
    assert.equal(
      adit,
      String.raw`adit api credentials create --json '{"description":"Alice'\''s laptop","acl":["bind:*.example.com"]}'`,
    )
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Create' }).click()
    const token = await page.getByRole('region', { name: 'Shown only once' }).locator('pre').innerText()
    assert.match(token, /^\w{20,}/)
    await page.reload()
    await page.getByRole('heading', { level: 1, name: "Alice's laptop" }).waitFor()
    assert.equal(await page.getByText(token).count(), 0)
    const fields = page.getByRole('region', { name: 'Fields' })
    await fields.getByText('ACL', { exact: true }).waitFor()
    assert.equal(await fields.getByText('Token', { exact: true }).count(), 0, 'not as if it had none')
    assert.deepEqual(dashboard.errors, [])
  })

  test('shows other resources by their names, also after these change', async () => {
    const { api } = server
    const bot = await createResource(api, '/bot_users', { name: 'Deployment' })
    const policy = await createResource(api, '/ip_policies', {
      description: 'Branch office',
      owner_id: bot.id,
    })
    const rule = { ip_policy_id: policy.id, action: 'allow' }
    const first = await createResource(api, '/ip_policy_rules', { ...rule, cidr: '192.0.2.0/24' })
    await createResource(api, '/ip_policy_rules', { ...rule, cidr: '198.51.100.0/24' })
    await using dashboard = await Dashboard.open(browser, api)
    const { page } = dashboard
    const lists: string[] = []
    page.on('request', request => void (request.url().includes('/ip_policies?') && lists.push(request.url())))
    const fields = page.getByRole('region', { name: 'Fields' })
    await dashboard.visit('/ip_policy_rules', 'IP policy rules')
    await page.getByRole('cell', { name: 'Branch office' }).nth(1).waitFor()
    assert.equal(lists.length, 1, 'one call for all names')
    await dashboard.visit(`/ip_policy_rules/${first.id}`)
    await fields.getByRole('link', { name: 'Branch office' }).click()
    await page.getByRole('heading', { level: 1, name: 'Branch office' }).waitFor()
    await fields.getByText('Owner', { exact: true }).waitFor()
    await fields.getByRole('link', { name: 'Deployment' }).waitFor()
    await api.patch(`/bot_users/${bot.id}`, { name: 'Release' })
    await fields.getByRole('link', { name: 'Release' }).waitFor()
    await api.delete(`/bot_users/${bot.id}`)
    // A resource outlives its owner.
    await fields.getByRole('link', { name: bot.id }).waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('shows changes of another browser', async () => {
    await using one = await Dashboard.open(browser, server.api)
    await using other = await Dashboard.open(browser, server.api)
    await one.visit('/reserved_domains', 'Reserved domains')
    const domain = await createResource(server.api, '/reserved_domains', { name: 'both.example.org' })
    const path = `/reserved_domains/${domain.id}`
    await one.page.getByRole('link', { name: 'both.example.org' }).click()
    await other.visit(`${path}/edit`)
    await other.page.getByLabel('Description').fill('of the other')
    await other.page.getByRole('button', { name: 'Save' }).click()
    await one.page.getByText('of the other').first().waitFor()
  })

  test('shows what a change changed and who made it, without secrets', async () => {
    const { api } = server
    const google = { client_id: 'first', client_secret: secretText('first application') }
    const edge = await createResource(api, '/edges/https', {})
    const routes = `/edges/https/${edge.id}/routes`
    const route = await createResource(api, routes, {
      match_type: 'path_prefix',
      match: '/',
      description: 'as it was',
      oauth: { provider: { google: { ...google, email_domains: ['example.com'] } } },
    })
    await api.put(`${routes}/${route.id}/oauth`, {
      provider: { google: { ...google, client_id: 'second', client_secret: secretText('second') } },
    })
    await using dashboard = await Dashboard.open(browser, api)
    const { page } = dashboard
    await dashboard.visit(`/audit_events?object_id=${route.id}`, 'Audit events')
    const table = page.getByRole('region', { name: 'Audit events' })
    await table.getByRole('row', { name: /HTTPS edge route created .* as it was .*127\.0\.0\.1/ }).waitFor()
    await table.getByRole('link', { name: 'HTTPS edge route updated' }).click()
    const changed = page.getByRole('region', { name: 'Changed fields', exact: true })
    const row = (name: string) => changed.getByRole('row', { name })
    await row('OAuth › Provider › Google › Client id').getByRole('cell', { name: 'second' }).waitFor()
    await row('OAuth › Provider › Google › Email domains')
      .getByRole('cell', { name: 'example.com' })
      .waitFor()
    assert.equal(await changed.getByText('as it was').count(), 0, 'it did not change')
    assert.equal(await page.getByText(MARKER).count(), 0)
    assert.deepEqual(await dashboard.findings(), [])
    await page.getByRole('link', { name: 'Requests that it affects' }).waitFor()
    await page.getByRole('link', { name: 'Change before this one' }).click()
    await page.getByRole('heading', { level: 1, name: 'HTTPS edge route created' }).waitFor()
    await page.getByRole('region', { name: 'Resource at that time' }).getByText('as it was').waitFor()
    assert.equal(await changed.count(), 0)
    const circumstances = page.getByRole('region', { name: 'Circumstances' })
    await circumstances.getByText(route.id).waitFor()
    await circumstances.getByRole('link', { name: 'as it was' }).click()
    await page.getByRole('heading', { level: 1, name: 'as it was' }).waitFor()
    await page.goBack()
    await circumstances.getByTitle(/^ak_/).getByRole('link').click()
    const use = page.getByRole('region', { name: 'Use' })
    await use.getByText(/^Last used .+ requests? in 30 days\.$/).waitFor()
    await use.getByText(/^Last change .+ from 127\.0\.0\.1:/).waitFor()
    await use.getByRole('link', { name: 'Changes with this key' }).click()
    await table.getByRole('link', { name: 'HTTPS edge route updated' }).first().waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('runs nothing of what it shows', async () => {
    const { api } = server
    const text = { description: HOSTILE, metadata: HOSTILE }
    const policy = await createResource(api, '/ip_policies', text)
    const edge = await createResource(api, '/edges/https', text)
    const bot = await createResource(api, '/bot_users', { name: HOSTILE })
    await createResource(api, `/edges/https/${edge.id}/routes`, {
      match_type: 'path_prefix',
      match: '/',
      ...text,
    })
    await using dashboard = await Dashboard.open(browser, api)
    const { page } = dashboard
    for (const path of [
      '/ip_policies',
      `/ip_policies/${policy.id}`,
      `/ip_policies/${policy.id}/edit`,
      `/https_edges/${edge.id}`,
      `/bot_users/${bot.id}`,
      '/audit_events',
    ]) {
      await dashboard.visit(path)
      await page.getByText('<img src=x').or(page.locator(`textarea`)).or(page.locator('td')).first().waitFor()
      assert.equal(await page.locator('main script, main img').count(), 0)
      assert.match(await page.title(), / · Adit$/)
    }
    assert.deepEqual(dashboard.errors, [])
  })

  test('can be used with the keyboard only: search, open, change', async () => {
    const policy = await createResource(server.api, '/ip_policies', { description: 'by keys' })
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Host name, id or page' }).waitFor()
    await page.keyboard.type(policy.id)
    await page.getByRole('option', { name: policy.id }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'by keys' }).waitFor()
    await page.getByRole('link', { name: 'Edit' }).focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('Description').focus()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('changed by keys')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'changed by keys' }).waitFor()
  })

  test('fits 375 px, in light and dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await using dashboard = await Dashboard.open(browser, server.api, { width: 375, colorScheme })
      for (const path of ['/ip_policies', '/https_edges/new', '/reserved_domains', '/audit_events']) {
        await dashboard.visit(path)
        await dashboard.page.locator('table, .empty, form.card').first().waitFor()
        assert.equal(await dashboard.hasSidewaysScroll(), false, path)
      }
      assert.deepEqual(await dashboard.findings(), [])
    }
  })

  test('returns to the page after an ended session', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/event_subscriptions', 'Event subscriptions')
    const { body } = await server.api.get('/dashboard_sessions')
    for (const { id } of body.dashboard_sessions) await server.api.delete(`/dashboard_sessions/${id}`)
    // The page notices it by itself, and then has no links to other pages.
    await page.getByText('Your session has ended.').waitFor()
    const link = await server.api.post('/dashboard/link')
    const { hash } = new URL(String(link.body.url))
    await page.goto(`${server.api.url}/dashboard/event_subscriptions${hash}`)
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Event subscriptions' }).waitFor()
    await page.locator('.menu summary').click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('adit dashboard').waitFor()
    assert.equal((await page.context().cookies()).length, 0)
  })
})
