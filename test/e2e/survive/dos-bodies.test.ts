import assert from 'node:assert/strict'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { untilDrained, isLongRun, PeakMemory, reportFigures, sleep } from './measurements.ts'
import { ShortRequests } from './short-requests.ts'
import { allOf, HOST, World } from './world.ts'
import { steady, until } from '../../support/until.ts'

const MIB = 1_048_576
const BLOCK = Buffer.alloc(65_536, 'b')
const UPLOAD = (isLongRun ? 10_240 : 256) * MIB
const READERS = isLongRun ? 100 : 20
const DOWNLOAD = 1024 * MIB
const WARM_UP = (isLongRun ? 128 : 64) * MIB

/** In KiB: a window for each stream, and some for all. */
const allowance = (streams: number): number => 64 * streams + 64 * 1024

/** Reads a large answer to its end. */
async function download(world: World, scheme: 'http' | 'https'): Promise<void> {
  const socket = await world.connect(scheme)
  socket.write(`GET /bulk?bytes=${WARM_UP} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
  await once(socket.resume(), 'close')
}

suite('content that one side does not read', { timeout: 900_000 }, () => {
  test('is not buffered by the gateway: a large upload to a service that does not read', async context => {
    await using world = await World.start()
    await using shorts = new ShortRequests(world)
    shorts.start(20)
    await until(() => shorts.answered > 20)
    using memory = new PeakMemory(world.pid)
    const socket = await world.connect('https')
    const begun = performance.now()
    const answer = allOf(socket)
    socket.write(
      `POST /sink?every=${UPLOAD / 2} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nContent-Length: ${UPLOAD}\r\n\r\n`,
    )
    for (let sent = 0; sent < UPLOAD && !socket.destroyed; sent += BLOCK.length)
      if (!socket.write(BLOCK)) await untilDrained(socket)
    const text = await answer
    await shorts.stop()
    reportFigures(context, {
      'uploaded MiB': UPLOAD / MIB,
      'in ms': Math.round(performance.now() - begun),
      'memory +KiB': memory.growth,
      'honest p99 ms': shorts.p99,
    })
    assert.match(text, new RegExp(`^HTTP/1\\.1 200 .*\r\n\r\n.*${UPLOAD}`, 's'))
    assert.deepEqual(shorts.failures, [])
    assert.ok(memory.growth < allowance(1), `memory grew by ${memory.growth} KiB`)
  })

  test('is not buffered by the gateway: downloads whose clients have stopped reading', async context => {
    await using world = await World.start()
    await using shorts = new ShortRequests(world)
    shorts.start(20)
    // Memory that the first large downloads need once is not counted as memory for clients that stop reading.
    await Promise.all((['http', 'https'] as const).map(scheme => download(world, scheme)))
    await until(() => shorts.answered > 20)
    using memory = new PeakMemory(world.pid)
    const sockets = await Promise.all(
      Array.from({ length: READERS }, async (_, at) => {
        const socket = await world.connect(at % 2 === 0 ? 'http' : 'https')
        socket.write(`GET /bulk?bytes=${DOWNLOAD} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
        await once(socket, 'readable')
        return socket
      }),
    )
    // In MiB: the short requests make it grow by some KiB now and then.
    await steady(() => Math.round(memory.growth / 1024), 1000)
    if (isLongRun) await sleep(30_000)
    await shorts.stop()
    reportFigures(context, { readers: READERS, 'memory +KiB': memory.growth, 'honest p99 ms': shorts.p99 })
    assert.deepEqual(shorts.failures, [])
    assert.ok(memory.growth < allowance(READERS), `memory grew by ${memory.growth} KiB`)
    sockets.forEach(socket => socket.destroy())
    world.assertAlive()
  })
})
