import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startPostgres, type TestPostgres } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { CaptureWorld } from '../../telemetry/capture/support.ts'
import { Dashboard, closePages, launch } from './support.ts'

const HOST = 'journey.example.org'

let postgres: TestPostgres
let world: CaptureWorld
let browser: Browser
before(async () => {
  postgres = await startPostgres()
  world = await CaptureWorld.start({ database_url: await postgres.newDatabase(), workers: '2' })
  browser = await launch()
})
after(async () => {
  await closePages(browser)
  await world[Symbol.asyncDispose]()
  await postgres.stop()
})

// The other files run with one process on SQLite; matrix.test.ts runs them with all combinations.
suite('the dashboard of two processes on PostgreSQL', () => {
  test('shows traffic, explains, captures and replays a request, and others see its changes', async () => {
    const edge = await world.edge([HOST])
    const service = await world.static(async (request, response) => {
      const isGood = (await text(request)).includes('good')
      response.writeHead(isGood ? 200 : 500).end(isGood ? 'accepted' : 'rejected')
    })
    await world.route(edge, '/', service)
    const hook = (path: string) => world.ask(`${HOST}${path}`, { method: 'POST', body: 'bad' })
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard

    // Each connection may be of another process: all of them appear.
    await dashboard.visit('/requests?filter=path:/live', 'Traffic')
    await page.locator('main').getByText('Live', { exact: true }).waitFor()
    const sent = await Promise.all(Array.from({ length: 8 }, (_, at) => hook(`/live/${at}`)))
    for (const { requestId } of sent) await page.locator(`[id="${requestId}"]`).waitFor()

    await page.locator(`[id="${sent[0]?.requestId}"]`).click()
    await page.getByRole('heading', { level: 1, name: '/live/0' }).waitFor()
    const steps = page.getByRole('list', { name: 'Path of the request' })
    await steps.locator('li.failed', { hasText: 'Service' }).getByText('responded with 500').waitFor()
    await page
      .getByRole('region', { name: 'Explanation' })
      .getByText('The service responded with 500')
      .waitFor()
    await page.getByRole('button', { name: `Capture ${HOST} for 10 minutes` }).click()
    await page.getByText('Capture on until').waitFor()
    // The process that gets the request may not have the rule yet.
    const failed = await until(async () => {
      const { requestId } = await hook('/failed')
      return (await world.isCaptured(requestId)) && { requestId }
    })
    await world.captured(failed.requestId)

    await dashboard.visit(`/requests/${failed.requestId}?replay`, '/failed')
    const replay = page.getByRole('region', { name: 'Replay' })
    await replay.getByLabel('Body', { exact: true }).fill('good')
    await replay.getByRole('button', { name: 'Send' }).click()
    const result = replay.getByRole('status', { name: 'Result' })
    await result.getByLabel('Response diff').locator('.added', { hasText: 'accepted' }).waitFor()
    await result.getByRole('link', { name: 'show the request' }).click()
    await page.locator('pre[aria-label="Request body"]', { hasText: 'good' }).waitFor()

    await using other = await Dashboard.open(browser, world.server.api)
    await other.visit(`/https_edges/${edge}`)
    await dashboard.visit(`/https_edges/${edge}/edit`)
    await page.getByLabel('Description').fill('of the first browser')
    await page.getByRole('button', { name: 'Save' }).click()
    await other.page.getByRole('heading', { level: 1, name: 'of the first browser' }).waitFor()

    await dashboard.visit('/usage', 'Usage')
    await page.getByRole('region', { name: 'Series' }).getByText(HOST).waitFor()
    assert.deepEqual([...dashboard.errors, ...other.errors], [])
  })
})
