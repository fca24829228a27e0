import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { reportFigures, sleep } from './measurements.ts'
import { ShortRequests } from './short-requests.ts'
import { TICK, TICK_MS } from './upstream.ts'
import { HOST, World } from './world.ts'
import { until } from '../../support/until.ts'

const WEBSOCKETS = 50
const DOWNLOADS = 20
const DOWNLOAD_MS = 3000

/** A WebSocket that exchanges messages all the time. */
class Talk {
  readonly socket: WebSocket
  echoes = 0
  closedAt: number | undefined

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('error', () => undefined)
    socket.on('message', () => {
      this.echoes++
      setTimeout(() => {
        if (socket.readyState === WebSocket.OPEN) socket.send('ping')
      }, 100)
    })
    socket.on('close', () => (this.closedAt = performance.now()))
    socket.send('ping')
  }

  static async open(world: World, scheme: 'ws' | 'wss'): Promise<Talk> {
    const port = world.port(scheme === 'ws' ? 'http' : 'https')
    const options = { headers: { host: HOST }, servername: HOST, ca: world.ca }
    const socket = new WebSocket(`${scheme}://127.0.0.1:${port}/`, options)
    await once(socket, 'open')
    return new Talk(socket)
  }
}

/** A download that is on its way for some seconds; resolves to the bytes that came. */
async function download(world: World, ms: number): Promise<() => Promise<number>> {
  const path = `/ticks?count=${ms / TICK_MS}`
  const asked = request({
    port: world.port('http'),
    host: '127.0.0.1',
    agent: false,
    path,
    headers: { host: HOST },
  })
  asked.on('error', () => undefined)
  asked.end()
  const { promise, resolve } = Promise.withResolvers<number>()
  let size = 0
  const [response] = await once(asked, 'response')
  response.on('data', (piece: Buffer) => (size += piece.length))
  response.on('error', () => undefined)
  response.on('close', () => resolve(size))
  return () => promise
}

/** Half of them by TLS. */
async function talks(world: World): Promise<Talk[]> {
  return Promise.all(
    Array.from({ length: WEBSOCKETS }, (_, at) => Talk.open(world, at % 2 === 0 ? 'ws' : 'wss')),
  )
}

const DRAIN_MS = 30_000
const EXIT_MS = 35_000

/** Stops a gateway with active WebSockets, and asserts that they get the full drain time. */
export async function stopWhileTalking(
  context: TestContext,
  environment: Record<string, string> = {},
): Promise<void> {
  await using world = await World.start({ environment })
  const spoken = await talks(world)
  const begun = performance.now()
  const code = await world.gateway.end('SIGTERM')
  const lasted = performance.now() - begun
  await until(() => spoken.every(({ closedAt }) => closedAt !== undefined), {
    what: 'all are closed',
  })
  const first = Math.min(...spoken.map(({ closedAt = 0 }) => closedAt - begun))
  reportFigures(context, {
    'first WebSocket cut after ms': Math.round(first),
    'exit after ms': Math.round(lasted),
    code: code ?? -1,
  })
  assert.equal(code, 0)
  assert.ok(first > DRAIN_MS - 1000, `a WebSocket was cut after ${first} ms`)
  assert.ok(lasted < EXIT_MS, `it took ${lasted} ms`)
}

/** Stops a gateway under all kinds of traffic, and asserts that no request fails. */
export async function stopUnderLoad(
  context: TestContext,
  environment: Record<string, string> = {},
): Promise<void> {
  await using world = await World.start({ environment })
  await using shorts = new ShortRequests(world)
  const spoken = await talks(world)
  shorts.start(300)
  // A gateway in production is warm: while its code is being compiled, every turn of its event loop takes milliseconds.
  await sleep(1000)
  const downloads = await Promise.all(Array.from({ length: DOWNLOADS }, () => download(world, DOWNLOAD_MS)))
  const begun = performance.now()
  const ended = world.gateway.end('SIGTERM')
  await until(() => shorts.refused > 20, { what: 'connections are refused' })
  await shorts.stop()
  const sizes = await Promise.all(downloads.map(size => size()))
  // Active WebSockets get the same time before they are closed.
  assert.equal(spoken.filter(({ closedAt }) => closedAt !== undefined).length, 0, 'WebSockets were cut')
  const before = spoken.map(({ echoes }) => echoes)
  await until(() => spoken.every(({ echoes }, at) => echoes > (before[at] ?? 0)), {
    what: 'all still talk',
  })
  spoken.forEach(({ socket }) => socket.close())
  const code = await ended
  reportFigures(context, {
    answered: shorts.answered,
    failed: shorts.failures.length,
    crossed: shorts.crossed,
    queued: shorts.queued,
    refused: shorts.refused,
    'exit after ms': Math.round(performance.now() - begun),
  })
  assert.deepEqual(shorts.failures, [])
  assert.deepEqual(new Set(sizes), new Set([(DOWNLOAD_MS / TICK_MS) * TICK.length]))
  assert.equal(code, 0)
}
