import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { signIn } from '../../agent/support.ts'
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

/** The paths that the page requests from now on. */
function requestsOf(page: Page): string[] {
  const paths: string[] = []
  page.on('request', request => paths.push(new URL(request.url()).pathname))
  return paths
}

suite('what goes online and offline', () => {
  test('is shown at once, and is not polled', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await page.clock.install()
    await dashboard.visit('/endpoints', 'Endpoints')
    const empty = page.getByText('There are no endpoints yet')
    await empty.getByRole('link', { name: 'Connect an agent' }).waitFor()
    await using agent = await signIn(server)
    const tunnel = await agent.listen({ forwardTo: 1, proto: 'http' })
    await page.getByRole('link', { name: tunnel.url }).waitFor()
    const requested = requestsOf(page)
    // Every interval of the page ends, of which this request is one.
    const polled = page.waitForRequest(request => new URL(request.url()).pathname === '/captures')
    await page.clock.fastForward('10:00')
    await polled
    assert.deepEqual(
      requested.filter(path => ['/endpoints', '/tunnels', '/tunnel_sessions'].includes(path)),
      [],
    )
    await tunnel.close()
    await empty.waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('changes the counts of the overview, and the page of the endpoint', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    const agent = await signIn(server)
    const tunnel = await agent.listen({ forwardTo: 1, proto: 'http' })
    await page.getByText('1 Agents connected').waitFor()
    await page.getByText('1 Endpoints online').click()
    await page.getByRole('link', { name: tunnel.url }).click()
    await page.getByRole('heading', { level: 1, name: tunnel.url }).waitFor()
    await page.getByText('Agent at 127.0.0.1').waitFor()
    await agent.close()
    await page.getByText('It does not exist any more').first().waitFor()
  })

  test('in a burst does not load the page again for each change', async () => {
    await using dashboard = await Dashboard.open(browser, server.api)
    const { page } = dashboard
    await dashboard.visit('/tunnels', 'Tunnels')
    await page.getByText('There are no tunnels yet').waitFor()
    const requested = requestsOf(page)
    await using agent = await signIn(server)
    const count = 60
    await Promise.all(Array.from({ length: count }, () => agent.listen({ forwardTo: 1, proto: 'http' })))
    const rows = page.getByRole('region', { name: 'Tunnels' }).locator('tbody').getByRole('row')
    await until(async () => (await rows.count()) === count)
    const loads = requested.filter(path => path === '/tunnels').length
    assert.ok(loads <= count / 5, `the list was loaded ${loads} times for ${count} tunnels`)
  })
})
