import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { headerEdits } from '#ui/dashboard/capture/header-edits.ts'
import { secretText } from '../../support/secrets.ts'
import { until } from '../../support/until.ts'
import { CaptureWorld } from '../../telemetry/capture/support.ts'
import { Dashboard, closePages, launch } from './support.ts'

const HOST = 'hooks.example.org'
const HOSTILE = '<img src=x onerror=document.title=1>'
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let world: CaptureWorld
let browser: Browser
before(async () => {
  world = await CaptureWorld.start()
  browser = await launch()
  const edge = await world.edge([HOST])
  const service = await world.static(async (request, response) => {
    const body = await text(request)
    const path = request.url ?? ''
    if (path === '/pixel') response.setHeader('content-type', 'image/png').end(Buffer.from(PIXEL, 'base64'))
    else if (path === '/zipped') {
      response.setHeader('content-type', 'application/json').setHeader('content-encoding', 'gzip')
      response.end(gzipSync('{"was":"zipped"}'))
    } else if (body.includes('"good"')) response.end('accepted')
    else {
      response.statusCode = 500
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ problem: HOSTILE }))
    }
  })
  await world.route(edge, '/', service)
})
after(async () => {
  await closePages(browser)
  await world[Symbol.asyncDispose]()
})

const hook = (path = '/hook') =>
  world.ask(`${HOST}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer of-the-sender',
      'x-hostile': HOSTILE,
    },
    body: '{"kind":"bad","of":1}',
  })

const bodyOf = (page: Page, label: string) => page.locator(`pre[aria-label="${label} body"]`)

suite('the edits of headers', () => {
  test('name only what differs', () => {
    const old = 'A: 1\nB: 2\nb: 3\nAuthorization: [masked]'
    assert.deepEqual(headerEdits(old, old), [])
    assert.deepEqual(headerEdits(old, 'A: 2\nB: 2\nAuthorization: [masked]\nNew: x'), [
      { name: 'A', value: '2' },
      { name: 'B', value: '2' },
      { name: 'New', value: 'x' },
    ])
    assert.deepEqual(headerEdits('A: 1', ''), [{ name: 'A', value: null }])
  })
})

suite('captured requests', () => {
  test('capture is turned on from a request, and a failed webhook is found, edited, replayed and compared', async () => {
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    const { requestId } = await hook()
    await until(async () => (await world.server.api.get(`/requests/${requestId}`)).status === 200)
    await dashboard.visit(`/requests/${requestId}`, '/hook')
    await page.getByText('They were not captured').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Capture on' }).count(), 0)
    await page.getByRole('button', { name: `Capture ${HOST} for 10 minutes` }).click()
    await page.getByText('Capture on until').waitFor()
    await page.getByRole('link', { name: 'Capture on' }).waitFor()
    await world.until(() => hook('/warm-up'), true)
    const failed = await hook()
    await world.captured(failed.requestId)

    await dashboard.visit('/requests?filter=path:/hook', 'Traffic')
    await page.locator(`[id="${failed.requestId}"]`).click()
    await bodyOf(page, 'Request').getByText('"kind": "bad"').waitFor()
    await bodyOf(page, 'Response').getByText(HOSTILE).waitFor()
    await page.getByRole('tablist', { name: 'Request' }).getByRole('tab', { name: 'Body' }).focus()
    await page.keyboard.press('ArrowRight')
    const headers = page.locator('.headers')
    await headers.getByText('[masked]').waitFor()
    await headers.getByText(HOSTILE).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.locator('pre', { hasText: '00000000  7b 22 6b' }).waitFor()
    assert.deepEqual(await dashboard.findings(), [])

    await page.getByRole('button', { name: 'Replay' }).click()
    const replay = page.getByRole('region', { name: 'Replay' })
    await replay.getByLabel('Body', { exact: true }).fill('{"kind":"good"}')
    await replay.getByRole('button', { name: 'Send' }).click()
    const result = replay.getByRole('status', { name: 'Result' })
    await result.getByText('200', { exact: true }).first().waitFor()
    await result.getByRole('heading', { name: /^Result: 200 in [\d.]+ ms/ }).waitFor()
    const diff = result.getByLabel('Response diff')
    await diff.locator('.added', { hasText: 'accepted' }).waitFor()
    await diff.locator('.removed', { hasText: '500' }).waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    await result.getByRole('link', { name: 'show the request' }).click()
    await bodyOf(page, 'Request').getByText('"kind": "good"').waitFor()
    const time = page.getByRole('region', { name: 'Time' })
    for (const part of ['Modules', 'Backend', 'Body']) await time.getByText(part, { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Details' }).getByRole('link', { name: failed.requestId }).click()
    await bodyOf(page, 'Request').getByText('"kind": "bad"').waitFor()
    await time.getByText('TLS handshake', { exact: true }).waitFor()
    assert.equal(await page.locator('main img').count(), 0)
    assert.deepEqual(dashboard.errors, [])
  })

  test('are shown decompressed and as images, and copied as curl and HAR', async () => {
    const zipped = await world.ask(`${HOST}/zipped`)
    const pixel = await world.ask(`${HOST}/pixel`)
    const posted = await hook('/it%27s')
    for (const { requestId } of [zipped, pixel, posted]) await world.captured(requestId)
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/requests/${zipped.requestId}`, '/zipped')
    await bodyOf(page, 'Response').getByText('"was": "zipped"').waitFor()
    await page.getByText('decompressed from gzip').waitFor()
    await dashboard.visit(`/requests/${pixel.requestId}`, '/pixel')
    await page.getByRole('img', { name: 'Response body' }).waitFor()
    await dashboard.visit(`/requests/${posted.requestId}`)
    await page.getByRole('button', { name: 'As curl' }).click()
    const command = await page.getByRole('dialog', { name: 'curl' }).getByLabel('Command').innerText()
    assert.match(command, /^curl 'https:\/\/hooks\.example\.org\/it%27s' \\\n/)
    assert.match(command, /--data-raw '\{"kind":"bad","of":1\}'$/)
    assert.doesNotMatch(command, /of-the-sender/)
    await page.keyboard.press('Escape')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save as HAR' }).click()
    const { log } = JSON.parse(await readFile(await (await download).path(), 'utf8'))
    assert.deepEqual(
      [log.entries[0].request.url, log.entries[0].response.status],
      ['https://hooks.example.org/it%27s', 500],
    )
    assert.deepEqual(dashboard.errors, [])
  })

  test('are replayed to another endpoint', async () => {
    const edge = await world.edge(['other.example.org'])
    await world.route(edge, '/', await world.fixedResponse('elsewhere'))
    const { requestId } = await hook('/moved')
    await world.captured(requestId)
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/requests/${requestId}?replay`)
    const replay = page.getByRole('region', { name: 'Replay' })
    const target = replay.getByLabel('Send it to')
    const choice = target.locator('option', { hasText: 'https://other.example.org' })
    await choice.waitFor({ state: 'attached' })
    await target.selectOption((await choice.getAttribute('value')) ?? '')
    await replay.getByRole('button', { name: 'Send' }).click()
    const result = replay.getByRole('status', { name: 'Result' })
    await result.getByLabel('Response diff').locator('.added', { hasText: 'elsewhere' }).waitFor()
    await result.getByRole('link', { name: 'show the request' }).click()
    await page.getByRole('heading', { level: 1, name: 'https://other.example.org/moved' }).waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('are replayed to one of many endpoints, found by its name', async () => {
    await world.make('/reserved_domains', { domain: '*.many.example.org' })
    for (const part of ['one', 'two']) {
      const hostports = Array.from({ length: 60 }, (_, at) => `${part}-${at}.many.example.org:443`)
      const { id } = await world.make('/edges/https', { hostports })
      await world.route(id, '/', await world.fixedResponse(`from ${part}`))
    }
    await world.capture({ host: HOST }, () => hook('/warm-up'))
    const { requestId } = await hook('/found')
    await world.captured(requestId)
    await using dashboard = await Dashboard.open(browser, world.server.api, { width: 375 })
    const { page } = dashboard
    await dashboard.visit(`/requests/${requestId}?replay`)
    const replay = page.getByRole('region', { name: 'Replay' })
    await replay.getByText('and more').waitFor()
    const target = replay.getByLabel('Send it to')
    for (const name of ['one-7.', 'two-42.']) {
      await replay.getByLabel('Find an endpoint').fill(name)
      await replay.getByText('1 found').waitFor()
      const choice = target.locator('option', { hasText: `https://${name}many.example.org` })
      await target.selectOption((await choice.getAttribute('value')) ?? '')
    }
    // The choice stays while something else is searched for.
    await replay.getByLabel('Find an endpoint').fill('nothing has this name')
    await replay.getByText('0 found').waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    assert.equal(await dashboard.hasSidewaysScroll(), false)
    await replay.getByRole('button', { name: 'Send' }).click()
    const result = replay.getByRole('status', { name: 'Result' })
    await result.getByLabel('Response diff').locator('.added', { hasText: 'from two' }).waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('are signed again, where the route verifies webhooks', async () => {
    const edge = await world.edge(['signed.example.org'])
    await world.route(edge, '/', await world.fixedResponse('verified'), {
      webhook_verification: { provider: 'github', secret: secretText('webhook secret') },
    })
    const unsigned = () => world.ask('signed.example.org/', { method: 'POST', body: '{"x":1}' })
    await world.capture({ host: 'signed.example.org' }, unsigned)
    const { requestId, status } = await unsigned()
    assert.equal(status, 403)
    await world.captured(requestId)
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/requests/${requestId}?replay`)
    const replay = page.getByRole('region', { name: 'Replay' })
    await replay.getByLabel('Sign it again').check()
    await replay.getByRole('button', { name: 'Send' }).click()
    const result = replay.getByRole('status', { name: 'Result' })
    await result.getByLabel('Response diff').locator('.added', { hasText: 'verified' }).waitFor()
    assert.deepEqual(dashboard.errors, [])
  })

  test('say why all requests of a route are captured', async () => {
    const edge = await world.edge(['always.example.org'])
    const route = await world.route(edge, '/', await world.fixedResponse('fine'), { capture: true })
    await using dashboard = await Dashboard.open(browser, world.server.api)
    const { page } = dashboard
    await dashboard.visit(`/https_edges/${edge}`)
    await page.getByText('Capture on, by the option capture of the route').waitFor()
    await page.getByRole('link', { name: 'Capture on' }).click()
    const always = page.getByRole('region', { name: 'Captured all the time' })
    await always.getByRole('link', { name: 'always.example.org/', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'always.example.org' }).waitFor()
    await page.getByRole('link', { name: 'Capture on' }).click()
    await always.waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    await world.change(`/edges/https/${edge}/routes/${route}`, { capture: false })
    await always.waitFor({ state: 'detached' })
    assert.deepEqual(dashboard.errors, [])
  })

  test('all failed ones of the traffic page are replayed', async () => {
    const failed = [await hook('/all/1'), await hook('/all/2')]
    for (const { requestId } of failed) await world.captured(requestId)
    await using dashboard = await Dashboard.open(browser, world.server.api, { width: 375 })
    const { page } = dashboard
    await dashboard.visit('/requests?filter=path:/all', 'Traffic')
    for (const { requestId } of failed) await page.locator(`[id="${requestId}"]`).waitFor()
    await page.getByRole('button', { name: 'Replay failed' }).click()
    const dialog = page.getByRole('dialog', { name: 'Replay failed requests' })
    await dialog.getByRole('button', { name: 'Send 2 requests' }).click()
    for (const path of ['/all/1', '/all/2'])
      await dialog
        .getByRole('listitem')
        .filter({ hasText: `POST ${path}: 500 → 500` })
        .waitFor()
    const replays = await dialog.getByRole('link').evaluateAll(links => links.map(link => link.href))
    assert.equal(replays.length, 2)
    await dialog.getByRole('button', { name: 'Close' }).click()
    for (const url of replays) await page.locator(`[id="${url.slice(url.lastIndexOf('/') + 1)}"]`).waitFor()
    // Their replays have failed as well, and are no reason for a third round.
    await page.getByRole('button', { name: 'Replay failed' }).click()
    await dialog.getByRole('button', { name: 'Send 2 requests' }).waitFor()
    assert.deepEqual(await dashboard.findings(), [])
    assert.equal(await dashboard.hasSidewaysScroll(), false)
    assert.deepEqual(dashboard.errors, [])
  })
})
