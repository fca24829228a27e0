import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { completions, parseFilter } from '#ui/dashboard/traffic/filter.ts'
import { createResource } from '../../support/each-store.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { until } from '../../support/until.ts'
import { Dashboard, closePages, launch } from './support.ts'

const HOST = 'shop.example.org'
const HOSTILE = '<img src=x onerror=document.title=1>'

let server: TestServer
let browser: Browser
/** Responds with 404 to everything. */
let service: Server
before(async () => {
  server = await startServer({ egress_allow: '127.0.0.0/8' })
  browser = await launch()
  service = createServer((_, response) => response.writeHead(404).end()).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const { api } = server
  const policy = await createResource(api, '/ip_policies', {})
  const rule = { ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'allow' }
  await createResource(api, '/ip_policy_rules', rule)
  await createResource(api, '/reserved_domains', { name: HOST })
  const backend = await createResource(api, '/backends/http_response', { body: 'hello', status_code: 200 })
  const edge = await createResource(api, '/edges/https', { hostports: [`${HOST}:443`] })
  const route = { match_type: 'path_prefix', backend: { backend_id: backend.id } }
  await createResource(api, `/edges/https/${edge.id}/routes`, { ...route, match: '/' })
  const { port } = service.address() as AddressInfo
  const { id: behind } = await createResource(api, '/backends/static', { address: `127.0.0.1:${port}` })
  await createResource(api, `/edges/https/${edge.id}/routes`, {
    ...route,
    match: '/unknown',
    backend: { backend_id: behind },
  })
  const guarded = { ...route, match: '/admin', ip_restriction: { ip_policy_ids: [policy.id] } }
  await createResource(api, `/edges/https/${edge.id}/routes`, guarded)
})
after(async () => {
  await closePages(browser)
  await server[Symbol.asyncDispose]()
  service.close()
})

/** A request over TLS, as edges expect it; its certificate is not checked. */
async function ask(path: string, host = HOST): Promise<number> {
  const { request } = await import('node:https')
  const { port } = server.bound.https ?? {}
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, servername: host, headers: { host } }
    request({ ...options, rejectUnauthorized: false }, response => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    })
      .once('error', reject)
      .end()
  })
}

suite('the filter of the traffic', () => {
  test('has filters of the API, and words', () => {
    assert.deepEqual(parseFilter(' status:5xx Cart host:a.example failed: '), {
      filters: { status: '5xx', host: 'a.example' },
      words: ['cart'],
    })
  })

  test('completes the last word', () => {
    assert.deepEqual(completions('status:5xx fail', []), [
      'status:5xx failed:any',
      'status:5xx failed:visitor',
      'status:5xx failed:edge',
      'status:5xx failed:tunnel',
      'status:5xx failed:agent',
      'status:5xx failed:upstream',
    ])
    assert.deepEqual(completions('host:s', ['shop.example.org', 'x']), ['host:shop.example.org'])
  })
})

suite('the page of a request at an edge', () => {
  test('names the missing route or backend instead of an agent', async () => {
    const name = 'bare.example.test'
    await server.api.post('/reserved_domains', { domain: name })
    const edge = await createResource(server.api, '/edges/https', { hostports: [`${name}:443`] })
    const empty = { match_type: 'path_prefix', match: '/empty' }
    await createResource(server.api, `/edges/https/${edge.id}/routes`, empty)
    await until(() => server.api.post('/requests/explain', { request_url: `https://${name}/empty` }), {
      fits: ({ body }) => typeof body.route_id === 'string',
    })
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    const steps = page.getByRole('list', { name: 'Path of the request' })
    for (const [path, missing] of [
      ['/nowhere', 'Route'],
      ['/empty/page', 'Backend'],
    ] as const) {
      assert.equal(await ask(path, name), 404)
      await dashboard.visit('/requests', 'Traffic')
      const row = page.getByRole('option', { name: path }).first()
      await row.getByText(`no ${missing.toLowerCase()} · ERR_ADIT_3200`).waitFor()
      await row.click()
      await steps.locator('li.failed', { hasText: missing }).getByText('stopped here').waitFor()
      assert.equal(await steps.getByText('Agent').count(), 0)
      const reason = page.getByRole('region', { name: 'Explanation' })
      await reason.getByText('The name belongs to an edge').waitFor()
    }
  })
})

suite('the traffic page', () => {
  test('shows requests as they end, filtered, with the keyboard only', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/requests', 'Traffic')
    await page.locator('main').getByText('Live', { exact: true }).waitFor()
    await ask('/cart')
    await page.getByRole('option', { name: '/cart' }).waitFor()
    await ask('/admin/users')
    await page.getByRole('option', { name: '/admin/users' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.insertText('status:403')
    await page.getByRole('option', { name: '/cart' }).waitFor({ state: 'detached' })
    await page.getByRole('option', { name: '/admin/users' }).waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    await page.keyboard.press('Escape')
    assert.equal(await page.getByLabel('Filter').inputValue(), 'status:403')
    await page.keyboard.press('j')
    await page.getByRole('option', { name: '/admin/users', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: '/admin/users' }).waitFor()
    const steps = page.getByRole('list', { name: 'Path of the request' })
    await steps.locator('li.failed', { hasText: 'IP restriction' }).getByText('stopped here').waitFor()
    await steps.locator('li.not_reached', { hasText: 'Backend' }).waitFor()
    const station = (name: string) => steps.getByRole('listitem').filter({ hasText: name })
    await station('Gateway')
      .getByRole('link', { name: `${HOST}:443` })
      .waitFor()
    await station('Route').getByRole('link', { name: '/admin', exact: true }).waitFor()
    const explanation = page.getByRole('region', { name: 'Explanation' })
    await explanation.getByText('The module IP restriction responded with 403').waitFor()
    await explanation.getByText(/^No IP policy of [a-z.]+ allows the address 127\.0\.0\.1\.$/).waitFor()
    await explanation.getByText('Add a rule that allows the address to one of the IP policies').waitFor()
    await explanation.getByRole('link', { name: 'Edit the route' }).waitFor()
    await explanation.getByText(/^The route was last changed .+ by /).waitFor()
    const related = page.getByRole('region', { name: 'Related' })
    await related.getByRole('tab', { name: /^Same client \((more than )?\d+\)$/ }).waitFor()
    await related.getByRole('tab', { name: /^Same route \((more than )?\d+\)$/ }).click()
    await related.getByRole('link', { name: 'GET /admin/users' }).first().waitFor()
    await related.getByRole('tab', { name: /^Audit \(\d+\)$/ }).click()
    await related.getByRole('link', { name: 'HTTPS edge route created' }).waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })

  test('shows a request that the service rejected as one that reached it', async () => {
    await ask('/unknown')
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/requests?filter=path:/unknown', 'Traffic')
    const row = page.getByRole('option', { name: '/unknown' }).first()
    assert.equal(await row.locator('.reason').innerText(), 'service')
    await row.click()
    const steps = page.getByRole('list', { name: 'Path of the request' }).getByRole('listitem')
    await steps.filter({ hasText: 'Service' }).getByText('responded').waitFor()
    await steps.filter({ hasText: 'Gateway' }).getByText('passed').waitFor()
    const explanation = page.getByRole('region', { name: 'Explanation' })
    await explanation.getByText('The service responded with 404.').waitFor()
    await explanation.getByText('Compare the request with what the service accepts').waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('shows the command that starts an endpoint that is offline', async () => {
    const host = 'gone.adit.localhost'
    await ask('/offline', host)
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit(`/requests?filter=host:${host}`, 'Traffic')
    await page.getByRole('option', { name: '/offline' }).first().click()
    const explanation = page.getByRole('region', { name: 'Explanation' })
    await explanation.getByLabel('Command').getByText(`adit http 3000 --name ${host}`).waitFor()
    assert.deepEqual(await dashboard.findings(), [])
  })

  test('names its columns, and does not cut the module that rejected a request at 1280 px', async () => {
    await ask('/admin/reason')
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/requests?filter=path:/admin/reason', 'Traffic')
    const row = page.getByRole('option', { name: '/admin/reason' }).first()
    const reason = row.locator('.reason')
    assert.equal(await reason.innerText(), 'IP restriction')
    const cut = await page.evaluate(`(() => {
      const box = document.querySelector('.row .reason')
      const range = document.createRange()
      range.setStart(box.firstChild, 0)
      range.setEnd(box.firstChild, 'IP restriction'.length)
      return range.getBoundingClientRect().right - box.getBoundingClientRect().right
    })()`)
    assert.ok(Number(cut) <= 0, `${Number(cut)} px are cut`)
    const left = async (place: string): Promise<number | undefined> =>
      (await page.locator(place).first().boundingBox())?.x
    for (const name of ['time', 'host', 'path', 'client', 'agent', 'reason'])
      assert.equal(await left(`.titles .${name}`), await left(`.row .${name}`), name)
    assert.deepEqual(dashboard.errors, [])
  })

  test('shows the keys only on a device that has some', async () => {
    for (const isTouch of [false, true]) {
      await using dashboard = await Dashboard.open(browser, server.api, { width: 800, isTouch })
      const { page } = dashboard
      await dashboard.visit('/requests', 'Traffic')
      assert.equal(await page.getByText('Keys: j and k choose').isVisible(), !isTouch)
      assert.equal(await page.locator('.search kbd').isVisible(), !isTouch)
    }
  })

  test('pauses, continues and clears', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/requests?filter=path:/paused', 'Traffic')
    await page.locator('main').getByText('Live', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await ask('/paused')
    await page.getByText('Paused, 1 new').waitFor()
    assert.equal(await page.locator('.row').count(), 0)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('option', { name: '/paused' }).waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('No requests yet.').waitFor()
  })

  test('shows a request once that ends before the list of earlier ones has arrived, and newest first', async () => {
    await ask('/twice/earlier')
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    const list = Promise.withResolvers<void>()
    await page.route(
      url => url.pathname === '/requests',
      async route => {
        await list.promise
        await route.continue()
      },
    )
    await dashboard.visit('/requests?filter=path:/twice', 'Traffic')
    await page.locator('main').getByText('Live', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await ask('/twice/later')
    await page.getByText('Paused, 1 new').waitFor()
    const listed = page.waitForResponse(response => new URL(response.url()).pathname === '/requests')
    list.resolve()
    await (await listed).finished()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.locator('.row').nth(1).waitFor()
    const paths = await page.locator('.row .path').allInnerTexts()
    assert.deepEqual(paths, ['/twice/later', '/twice/earlier'])
    assert.deepEqual(dashboard.errors, [])
  })

  test('runs nothing of paths and notes, and fits 375 px', async () => {
    await ask(`/${HOSTILE.replaceAll(/[ <>"]/g, encodeURIComponent)}`)
    await using dashboard = await Dashboard.open(browser, server.api, { width: 375, colorScheme: 'dark' })
    const { page } = dashboard
    await dashboard.visit('/requests?filter=onerror', 'Traffic')
    await page.locator('.row').first().click()
    await page.getByRole('list', { name: 'Path of the request' }).waitFor()
    assert.equal(await page.locator('main img').count(), 0)
    assert.match(await page.title(), / · Adit$/)
    assert.equal(await dashboard.hasSidewaysScroll(), false)
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])
  })

  test('opens the request that was pressed, though others have moved it away', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/requests?filter=path:/press', 'Traffic')
    await page.locator('main').getByText('Live', { exact: true }).waitFor()
    await ask('/press/this')
    const pressed = page.getByRole('option', { name: '/press/this' })
    await pressed.hover()
    await page.mouse.down()
    await page.getByRole('option', { name: '/press/this', selected: true }).waitFor()
    for (let at = 0; at < 5; at++) await ask(`/press/later/${at}`)
    await page.locator('.row').nth(5).getByText('/press/this').waitFor()
    await page.mouse.up()
    await page.getByRole('heading', { level: 1, name: '/press/this' }).waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('keeps few elements for many requests, and reuses them', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/requests?filter=path:/many', 'Traffic')
    await page.locator('main').getByText('Live', { exact: true }).waitFor()
    const send = async (count: number): Promise<void> => {
      for (let sent = 0; sent < count; sent += 10)
        await Promise.all(Array.from({ length: 10 }, (_, at) => ask(`/many/${sent + at}`)))
    }
    const height = () => page.locator('.spacer').evaluate(element => element.clientHeight)
    await send(100)
    await until(height, { what: 'rows for 100 requests', fits: found => found === 100 * 28 })
    // The list measures its box only after it was shown for the first time.
    const shown = await page.locator('.requests').evaluate(box => Math.ceil(box.clientHeight / 28) + 8)
    const count = await until(() => page.locator('.row').count(), { fits: found => found === shown })
    assert.ok(count < 80)
    await page.evaluate(`document.querySelectorAll('.row').forEach(row => (row.wasThere = true))`)
    await send(200)
    await until(height, { what: 'rows for 300 requests', fits: found => found === 300 * 28 })
    assert.equal(
      await page.evaluate(`[...document.querySelectorAll('.row')].filter(row => row.wasThere).length`),
      count,
    )
    assert.equal(await page.locator('.row').count(), count)
  })
})
