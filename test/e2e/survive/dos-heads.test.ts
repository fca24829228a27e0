import assert from 'node:assert/strict'
import { connect, type ClientHttp2Session } from 'node:http2'
import { after, before, suite, test } from 'node:test'
import { isLongRun, PeakMemory, reportFigures } from './measurements.ts'
import { allOf, HOST, World } from './world.ts'

const TIMES = 20
// A busy machine is slower; how slow is printed.
const QUICK_MS = isLongRun ? 1000 : 60_000

const repeat = (count: number, make: (at: number) => [string, string]): [string, string][] =>
  Array.from({ length: count }, (_, at) => make(at))

/** What is sent in a head, beside what every head has. */
const floods: Record<string, { readonly path?: string; readonly fields: [string, string][] }> = {
  'ten thousand fields': { fields: repeat(10_000, at => [`x-${at}`, 'v']) },
  'a field of 1 MiB': { fields: [['x-large', 'v'.repeat(1_048_576)]] },
  'a target of 100 KiB': { path: `/${'p'.repeat(102_400)}`, fields: [] },
  'two thousand cookies': { fields: repeat(2000, at => ['cookie', `name${at}=value`]) },
  'one cookie of 100 KiB': { fields: [['cookie', `a.1000000000=${'v'.repeat(102_400)}`]] },
}

async function http1(world: World, scheme: 'http' | 'https', name: string): Promise<number> {
  const { path = '/', fields } = floods[name] ?? { fields: [] }
  const socket = await world.connect(scheme)
  const lines = fields.map(([field, value]) => `${field}: ${value}\r\n`).join('')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n${lines}\r\n`)
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await allOf(socket))?.[1] ?? 0)
}

/** 0 when the stream, or the whole connection, was reset instead. */
async function http2(world: World, name: string): Promise<number> {
  const { path = '/', fields } = floods[name] ?? { fields: [] }
  const options = { servername: HOST, ca: world.ca, maxSendHeaderBlockLength: 16 * 1_048_576 }
  const session: ClientHttp2Session = connect(`https://127.0.0.1:${world.port('https')}`, options)
  session.on('error', () => undefined)
  const { promise, resolve } = Promise.withResolvers<number>()
  const headers: Record<string, string | string[]> = { ':path': path, ':authority': HOST }
  for (const [field, value] of fields) {
    const present = headers[field]
    headers[field] = present === undefined ? value : [...[present].flat(), value]
  }
  const stream = session.request(headers)
  stream.on('response', answer => resolve(answer[':status'] ?? 0))
  stream.on('error', () => undefined)
  stream.on('close', () => resolve(0))
  stream.resume()
  const status = await promise
  session.destroy()
  return status
}

suite('a request head that is too large', { timeout: 600_000 }, () => {
  let world: World
  before(async () => (world = await World.start()))
  after(() => world[Symbol.asyncDispose]())

  for (const name of Object.keys(floods))
    test(`with ${name} is rejected at once, and uses no memory`, async context => {
      // What the first ones take is code and pools.
      for (let warm = 0; warm < 5; warm++)
        await Promise.all([http1(world, 'http', name), http1(world, 'https', name), http2(world, name)])
      using memory = new PeakMemory(world.pid)
      const statuses = new Set<number>()
      let slowest = 0
      for (let round = 0; round < TIMES; round++)
        for (const ask of [
          () => http1(world, 'http', name),
          () => http1(world, 'https', name),
          () => http2(world, name),
        ]) {
          const begun = performance.now()
          statuses.add(await ask())
          slowest = Math.max(slowest, performance.now() - begun)
        }
      reportFigures(context, {
        statuses: [...statuses].join(' '),
        'slowest ms': slowest,
        'memory +KiB': memory.growth,
      })
      world.assertAlive()
      assert.deepEqual(
        [...statuses].filter(status => ![0, 400, 414, 431].includes(status)),
        [],
      )
      assert.ok(statuses.size > 1 || !statuses.has(0), 'no request gets a response')
      assert.ok(slowest < QUICK_MS, `one took ${slowest} ms`)
      assert.ok(memory.growth < 64 * 1024, `memory grew by ${memory.growth} KiB`)
    })
})
