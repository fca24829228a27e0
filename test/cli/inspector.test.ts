import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { buffer } from 'node:stream/consumers'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { visit as visitAny } from '../agent/support.ts'
import { webService } from './agent-support.ts'
import { run } from './run.ts'
import { LocalAgent } from './local-api-support.ts'
import { launchChromium } from '../support/chromium.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

let server: TestServer
let browser: Browser
before(async () => {
  server = await startServer()
  browser = await launchChromium()
})
after(async () => {
  await browser.close()
  await server[Symbol.asyncDispose]()
})

/** The inspector of an agent with one tunnel, in a browser. */
class Inspector implements AsyncDisposable {
  readonly page: Page
  readonly local: LocalAgent
  readonly url: string
  readonly errors: string[]
  readonly #context: BrowserContext

  private constructor(parts: Pick<Inspector, 'page' | 'local' | 'url' | 'errors'>, context: BrowserContext) {
    this.page = parts.page
    this.local = parts.local
    this.url = parts.url
    this.errors = parts.errors
    this.#context = context
  }

  static async open(port: string, environment: Record<string, string> = {}): Promise<Inspector> {
    const local = await LocalAgent.start(server, undefined, environment)
    const tunnel = { name: 'web', proto: 'http', addr: port, schemes: ['http'] }
    const { body } = await local.post('/api/tunnels', tunnel)
    const context = await browser.newContext({ viewport: { width: 1300, height: 800 } })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: local.url })
    const page = await context.newPage()
    page.setDefaultTimeout(120_000)
    const errors: string[] = []
    page.on('console', message => void (message.type() === 'error' && errors.push(message.text())))
    page.on('pageerror', error => void errors.push(String(error)))
    page.on('request', request => {
      const { protocol, origin } = new URL(request.url())
      if (protocol !== 'blob:' && protocol !== 'data:' && origin !== local.url) errors.push(request.url())
    })
    await page.goto(`${local.url}/`)
    assert.equal(page.url(), `${local.url}/inspect/http`)
    await page.locator('#status', { hasText: 'online' }).waitFor()
    return new Inspector({ page, local, url: String(body.public_url), errors }, context)
  }

  row(text: string) {
    return this.page.locator('.row', { hasText: text })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close()
    await this.local[Symbol.asyncDispose]()
  }
}

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

suite('the inspector', () => {
  test('lists requests as they come and shows their parts, formatted', async () => {
    await using service = await webService((request, response) => {
      response.setHeader('content-type', 'application/json')
      response.statusCode = request.url === '/bad' ? 500 : 200
      response.end('{"a":[1,2]}')
    })
    await using inspector = await Inspector.open(service.port)
    const { page, url } = inspector
    await visitAny(`${url}/hook?x=1`, {
      method: 'POST',
      body: 'name=value&more=1',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    await visitAny(`${url}/bad`)
    await inspector.row('/bad').waitFor()
    await inspector.row('/hook').click()
    const detail = page.locator('#detail')
    await detail.getByText('POST /hook?x=1').waitFor()
    await detail.getByText('name = value').waitFor()
    // It is drawn again when the end of the response is reported.
    await until(() => detail.locator('pre').last().innerText(), {
      fits: text => text === '{\n  "a": [\n    1,\n    2\n  ]\n}',
    })
    await detail.getByText(/adit requests why rq_\w+/).waitFor()
    await detail.getByRole('tab', { name: 'Headers' }).first().click()
    await detail.getByRole('rowheader', { name: 'Content-Type' }).first().waitFor()
    await detail.getByRole('tab', { name: 'Raw' }).first().click()
    await detail.getByText('POST /hook?x=1 HTTP/1.1').waitFor()
    await page.locator('#filter').fill('status:5xx')
    await page.getByText('1 of 2 requests').waitFor()
    assert.equal(await inspector.row('/hook').count(), 0)
    await page.locator('#filter').fill('-path:bad method:post')
    await inspector.row('/hook').waitFor()
    assert.equal(await inspector.row('/bad').count(), 0)
    assert.deepEqual(inspector.errors, [])
  })

  test('shows what the gateway noted of a request', async () => {
    await using service = await webService((_, response) => response.end('x'))
    const api = { ADIT_API_URL: server.api.url, ADIT_API_KEY: server.api.token }
    await using inspector = await Inspector.open(service.port, api)
    await visitAny(`${inspector.url}/why`)
    await inspector.row('/why').click()
    await inspector.page
      .locator('#detail')
      .getByText(/modules [\d.]+ ms · upstream [\d.]+ ms/)
      .waitFor()
    const { body } = await inspector.local.get('/api/requests/http')
    const [id] = body.requests[0].request.headers['Adit-Request-Id']
    assert.equal((await inspector.local.get(`/api/gateway/requests/${id}`)).body.request.path, '/why')
    const other = await inspector.local.get('/api/gateway/requests/rq_unknown')
    assert.deepEqual([other.status, other.body.details.err], [404, 'no captured request has this id'])
    assert.deepEqual(inspector.errors, [])
    await using alone = await Inspector.open(service.port)
    await visitAny(`${alone.url}/why`)
    await alone.row('/why').click()
    await alone.page.locator('#detail').getByText('adit requests why rq_').waitFor()
    assert.deepEqual(alone.errors, [])
  })

  test('can be used with the keyboard only: choose, replay, edit, compare, copy, clear', async () => {
    const seen: string[] = []
    await using service = await webService(async (request, response) => {
      seen.push(`${request.method} ${request.url} ${(await buffer(request)).toString()}`)
      response.end(`line one\nanswer ${seen.length}\n`)
    })
    await using inspector = await Inspector.open(service.port)
    const { page, url } = inspector
    await visitAny(`${url}/hook`, { method: 'POST', body: "it's" })
    await inspector.row('/hook').waitFor()
    await page.keyboard.press('j')
    await page.locator('#detail').getByText('POST /hook', { exact: true }).waitFor()
    await page.keyboard.press('r')
    await inspector.row('replay').waitFor()
    // A row is there as soon as the request begins.
    await until(() => seen.length === 2)
    assert.deepEqual(seen, ["POST /hook it's", "POST /hook it's"])
    await page.keyboard.press('e')
    const dialog = page.getByRole('dialog', { name: 'Edit and replay' })
    await dialog.getByLabel('Path').fill('/changed')
    await dialog.getByLabel('Body').fill('new <b>body</b>')
    await page.keyboard.press('Control+Enter')
    await inspector.row('/changed').waitFor()
    await until(() => seen.length === 3)
    assert.equal(seen[2], 'POST /changed new <b>body</b>')
    await page.keyboard.press('k')
    await page.locator('#detail').getByText('Replay of').waitFor()
    await page.keyboard.press('d')
    const diff = page.getByRole('dialog', { name: 'Response diff' })
    await diff.getByText('- answer 1').waitFor()
    await diff.getByText('+ answer 2').waitFor()
    await diff.getByText('  line one', { exact: false }).waitFor()
    await page.keyboard.press('Escape')
    await diff.waitFor({ state: 'detached' })
    await page.keyboard.press('c')
    await page.getByText('Copied').waitFor()
    const command = String(await page.evaluate('navigator.clipboard.readText()'))
    assert.ok(command.startsWith(`curl '${url}/hook'`), command)
    const resolved = command.replace('curl ', `curl -s --resolve '${new URL(url).host}:127.0.0.1' `)
    const { stdout } = await run('sh', ['-c', resolved])
    assert.equal(stdout, 'line one\nanswer 4\n')
    assert.equal(seen[3], "POST /hook it's")
    await page.getByText('4 requests').waitFor()
    await page.keyboard.press('?')
    const keys = page.getByRole('dialog', { name: 'Keys' })
    await keys.getByText('export as HAR').waitFor()
    // Without a wait: focus can still be in the closed dialog when the next key arrives.
    await page.keyboard.press('Escape')
    await page.keyboard.press('Shift+X')
    await keys.waitFor({ state: 'hidden' })
    await page.getByText('0 requests').waitFor()
    assert.deepEqual((await inspector.local.get('/api/requests/http')).body.requests, [])
    assert.deepEqual(inspector.errors, [])
  })

  test('shows the request that was chosen last, whose details may arrive first', async () => {
    await using service = await webService((_, response) => response.end('here'))
    await using inspector = await Inspector.open(service.port)
    const { page, url } = inspector
    for (const path of ['/first', '/second']) {
      await visitAny(url + path)
      await inspector.row(path).getByText('200').waitFor()
    }
    const [asked, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(
      '**/api/requests/http/*',
      async route => {
        asked.resolve()
        await late.promise
        await route.continue()
      },
      { times: 1 },
    )
    await inspector.row('/first').click()
    await asked.promise
    await inspector.row('/second').click()
    const detail = page.locator('#detail')
    await detail.getByText('GET /second').waitFor()
    const arrived = page.waitForEvent('requestfinished')
    late.resolve()
    await (await arrived).response()
    // What the response causes is drawn by the second frame at the latest.
    await page.evaluate('new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    assert.equal(await detail.getByText('GET /first').count(), 0)
  })

  test('exports what is shown as HAR', async () => {
    await using service = await webService((_, response) => response.end(Buffer.from([0, 1, 255])))
    await using inspector = await Inspector.open(service.port)
    const { page, url } = inspector
    await visitAny(`${url}/one?q=2`)
    await visitAny(`${url}/two`)
    await inspector.row('/two').waitFor()
    await page.locator('#filter').fill('/one')
    await page.getByText('1 of 2 requests').waitFor()
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#har').click()])
    const { log } = JSON.parse(readFileSync(await download.path(), 'utf8'))
    assert.equal(log.version, '1.2')
    assert.equal(log.entries.length, 1)
    const [entry] = log.entries
    assert.deepEqual([entry.request.method, entry.request.url], ['GET', `${url}/one?q=2`])
    assert.deepEqual(entry.request.queryString, [{ name: 'q', value: '2' }])
    assert.deepEqual(entry.response.content, { size: 3, mimeType: '', text: 'AAH/', encoding: 'base64' })
    assert.ok(entry.time >= entry.timings.wait)
  })

  test('runs nothing of what it shows', async () => {
    await using service = await webService((_, response) => {
      response.setHeader('content-type', 'image/svg+xml')
      response.setHeader('x-hostile', HOSTILE)
      response.end('<svg xmlns="http://www.w3.org/2000/svg"><script>document.title=3</script></svg>')
    })
    await using inspector = await Inspector.open(service.port)
    const { page, url } = inspector
    const path = `/${encodeURIComponent(HOSTILE)}?${HOSTILE.replaceAll(/[ <>"]/g, escape)}`
    await visitAny(url + path, {
      method: 'POST',
      body: HOSTILE,
      headers: { 'content-type': 'text/html', 'user-agent': HOSTILE },
    })
    await inspector.row('POST').click()
    const detail = page.locator('#detail')
    await detail.getByText(HOSTILE).first().waitFor()
    await detail.locator('img').waitFor()
    for (const name of ['Headers', 'Raw', 'Hex', 'Body'])
      for (const tab of await detail.getByRole('tab', { name }).all()) await tab.click()
    assert.equal(await page.title(), 'Inspector · Adit')
    assert.equal(await page.locator('#detail script').count(), 0)
    assert.deepEqual(inspector.errors, [])
  })

  test('keeps up with many requests', async context => {
    await using service = await webService((_, response) => response.end())
    await using inspector = await Inspector.open(service.port)
    const { page, url, local } = inspector
    await page.evaluate(
      'window.slow = 0; new PerformanceObserver(list => { for (const e of list.getEntries()) window.slow = Math.max(window.slow, e.duration) }).observe({ type: "longtask" })',
    )
    await visitAny(`${url}/many`)
    const [{ id }] = (await local.get('/api/requests/http')).body.requests
    for (let round = 0; round < 30; round++)
      await Promise.all(Array.from({ length: 10 }, () => local.post('/api/requests/http', { id })))
    await page.getByText('301 requests').waitFor()
    // How long the page was busy at most depends on what else the machine does; it is judged in long runs.
    const slow = Number(await page.evaluate('window.slow'))
    context.diagnostic(`longest task ${slow} ms`)
    if (process.env['TEST_LONG'] === '1') assert.ok(slow < 500)
  })

  test('has pages with a strict policy, on every path that was known', async () => {
    await using local = await LocalAgent.start(server)
    for (const path of ['/inspect/http', '/status']) {
      const { status, headers } = await local.get(path)
      assert.equal(status, 200)
      assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; script-src 'self';/)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
    }
    for (const path of ['/', '/http/in']) assert.equal((await local.get(path)).status, 302)
    for (const path of ['/ui/../cli/agent/run.js', '/ui/%2e%2e/package.json', '/ui/', '/nothing'])
      assert.equal((await local.get(path)).status, 404)
  })
})
