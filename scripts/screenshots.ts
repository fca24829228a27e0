import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { CaptureWorld } from '../test/telemetry/capture/support.ts'
import { Dashboard, launch } from '../test/ui/dashboard/support.ts'
import { until } from '../test/support/until.ts'

// node scripts/screenshots.ts: takes the pictures of the documentation from a real server with sample traffic.
const folder = join(import.meta.dirname, '../docs/images')
const SHOP = 'shop.example.com'
const MAX_BYTES = 150_000
const SIZE = { width: 1080, height: 700 }

mkdirSync(folder, { recursive: true })
await using world = await CaptureWorld.start({ domain: 'example.com' })
const edge = await world.edge([SHOP], { description: 'Online shop' })
const service = await world.static((request, response) => {
  response.setHeader('content-type', 'application/json')
  if (request.url?.startsWith('/hooks')) response.statusCode = 500
  if (request.url?.startsWith('/old')) response.statusCode = 404
  response.end(JSON.stringify({ path: request.url, items: [{ sku: 'lamp', count: 2 }] }))
})
const { id: policy } = await world.make('/ip_policies', { description: 'Office' })
await world.make('/ip_policy_rules', { ip_policy_id: policy, cidr: '192.0.2.0/24', action: 'allow' })
await world.route(edge, '/', service, { compression: {}, description: 'All pages', capture: true })
await world.route(edge, '/admin', service, { ip_restriction: { ip_policy_ids: [policy] } })
const agent = await world.agent({ metadata: 'laptop of Alice' })
const forwardTo = await world.service((_, response) => response.end('hello'))
await agent.listen({ proto: 'http', domain: 'demo.example.com', forwardTo, metadata: 'development' })

const paths = ['/', '/cart', '/products/lamp', '/admin', '/old/page', '/search', '/products/chair']
async function visit(): Promise<void> {
  for (const path of paths) {
    await world.ask(`${SHOP}${path}`)
    await world.askPlain('demo.example.com', `/v1${path}`)
  }
}
await visit()
const browser = await launch()
try {
  await using light = await Dashboard.open(browser, world.server.api)
  const { body } = await until(() => world.server.api.get('/endpoints'), {
    fits: ({ body: found }) => found.endpoints.length > 1,
  })
  const online = body.endpoints.find(({ type }: { type: string }) => type === 'ephemeral')
  await light.visit('')
  // The chart shows what happens while the page is open.
  for (let round = 0; round < 8; round++) {
    await visit()
    await light.page.waitForTimeout(1000 + 400 * (round % 3))
  }
  await take(light.page, 'overview')
  const failed = await world.ask(`${SHOP}/hooks/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer of-the-sender' },
    body: JSON.stringify({ type: 'invoice.paid', id: 'in_1042', amount: 4200 }),
  })
  await world.captured(failed.requestId)
  await light.visit('/requests', 'Traffic')
  await light.page.locator(`[id="${failed.requestId}"]`).waitFor()
  await take(light.page, 'traffic')
  await light.visit(`/requests/${failed.requestId}`)
  await light.page.getByRole('tab').first().waitFor()
  await take(light.page, 'request')
  await light.visit(`/https_edges/${edge}`)
  await take(light.page, 'edge')
  await light.visit(`/endpoints/${online.id}`)
  await light.page.getByRole('region', { name: 'Recent requests' }).getByRole('listitem').first().waitFor()
  await take(light.page, 'endpoint')
  await using dark = await Dashboard.open(browser, world.server.api, { colorScheme: 'dark' })
  await dark.visit(`/requests/${failed.requestId}`)
  await dark.page.getByRole('tab').first().waitFor()
  await take(dark.page, 'request-dark')
} finally {
  await browser.close()
}

/** Writes a picture of what a window shows. */
async function take(page: Page, name: string): Promise<void> {
  await page.setViewportSize(SIZE)
  await page.locator('main .loading').waitFor({ state: 'detached' })
  const path = join(folder, `${name}.png`)
  await page.screenshot({ path, animations: 'disabled' })
  const { size } = statSync(path)
  if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes, more than ${MAX_BYTES}`)
  process.stdout.write(`${path}: ${size} bytes\n`)
}
