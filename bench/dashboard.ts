import { Agent, get } from 'node:http'
import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { bundleDashboard } from '#api/dashboard/bundle.ts'
import { World } from '../test/e2e/edges/world.ts'
import { launchChromium } from '../test/support/chromium.ts'
import { openDashboard } from './support/dashboard-page.ts'
import type { Row } from './support/row.ts'

const ROUNDS = 5
const RATE = 500
const SECONDS = 10
const TICK_MS = 20
/** "Fast 3G", in bytes per second. */
const NETWORK = {
  offline: false,
  latency: 150,
  downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 750_000 / 8,
}

/** The dashboard in a browser: size, time until it can be used, and long tasks while traffic is shown. */
export async function* dashboard(): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const world = parts.use(await World.start())
  const agent = await world.agent()
  const forwardTo = await world.service((_, response) => response.end('hello'))
  await agent.listen({ proto: 'http', domain: 'bench.adit.localhost', forwardTo })
  const browser = parts.use(await launchChromium())

  const { files } = await bundleDashboard()
  const size = [...files.values()].reduce((sum, text) => sum + gzipSync(text).length, 0) / 1000
  yield {
    name: 'all files of the dashboard, compressed',
    ours: `${files.size} files`,
    peer: '',
    figure: size,
    unit: 'kB',
    target: { atMost: 150 },
  }
  for (const [name, figure] of Object.entries(await timesToUse(browser, world)))
    yield {
      name: `${name}, fast 3G, empty cache`,
      ours: `median of ${ROUNDS}`,
      peer: '',
      figure,
      unit: 's',
      target: { atMost: 1 },
    }
  const tasks = await longTasks(browser, world)
  yield {
    name: `longest task on the traffic page, ${RATE} requests/s`,
    ours: `${tasks.length} over 50 ms`,
    peer: '',
    figure: Math.max(0, ...tasks),
    unit: 'ms',
    target: { atMost: 50 },
  }
}

/** What the overview shows, in the order in which it does. */
const shown = {
  'until the overview can be used': 'h1',
  'until the overview has its figures': '.tiles strong',
}

/** Keeps the time at which each part of the page is first there; a test that polls for it would add its interval. */
const watch = `new MutationObserver(() => {
  for (const selector of ${JSON.stringify(Object.values(shown))})
    if (document.querySelector(selector)) (window.seen ??= {})[selector] ??= performance.now()
}).observe(document, { childList: true, subtree: true })`

/** The medians of the seconds from the request for the page to each of its parts. */
async function timesToUse(browser: Browser, world: World): Promise<Record<string, number>> {
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await using signedIn = await openDashboard(browser, world.server.api)
    const { page } = signedIn
    const session = await page.context().newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Network.setCacheDisabled', { cacheDisabled: true })
    await session.send('Network.emulateNetworkConditions', NETWORK)
    await page.addInitScript(watch)
    await page.goto(`${world.server.api.url}/dashboard`)
    await page.locator(shown['until the overview has its figures']).first().waitFor()
    rounds.push((await page.evaluate('window.seen')) as Record<string, number>)
  }
  return Object.fromEntries(
    Object.entries(shown).map(([name, selector]) => [
      name,
      medianOf(rounds.map(round => (round[selector] ?? Number.NaN) / 1000)),
    ]),
  )
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN

/** The durations, in milliseconds, of the tasks that block the page for more than 50 ms. */
async function longTasks(browser: Browser, world: World): Promise<number[]> {
  await using signedIn = await openDashboard(browser, world.server.api)
  const { page } = signedIn
  await page.goto(`${world.server.api.url}/dashboard/requests`)
  await page.getByRole('heading', { level: 1, name: 'Traffic' }).waitFor()
  await page.evaluate(
    `window.tasks = []; new PerformanceObserver(list => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' })`,
  )
  await send(world)
  return (await page.evaluate('window.tasks')) as number[]
}

/** Sends requests at the rate, for as long as it is measured. */
async function send(world: World): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })
  const port = world.server.bound.http?.port
  const visit = async (): Promise<void> => {
    const headers = { host: 'bench.adit.localhost' }
    const request = get({ host: '127.0.0.1', port, path: '/page', headers, agent })
    const [response] = await once(request, 'response')
    await once(response.resume(), 'end')
  }
  const start = performance.now()
  const pending: Promise<void>[] = []
  while (performance.now() - start < SECONDS * 1000) {
    const due = ((performance.now() - start) / 1000) * RATE
    while (pending.length < due) pending.push(visit())
    await new Promise(resolve => setTimeout(resolve, TICK_MS))
  }
  await Promise.all(pending)
  agent.destroy()
}
