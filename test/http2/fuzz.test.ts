import assert from 'node:assert/strict'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { literalBlock, END_HEADERS, END_STREAM, FRAME, frame, uint32 } from '../http/http2/raw-peer.ts'
import { ask } from '../http/http2/support.ts'
import { until } from '../support/until.ts'
import { ask as request, connectedPair } from './client-support.ts'
import { randomFrom, reader, serve } from './support.ts'

const LONG = process.env['TEST_LONG'] !== undefined
const FRAMES = LONG ? 1_000_000 : 20_000
const PER_CONNECTION = 200
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

const requestFields = literalBlock([
  [':method', 'POST'],
  [':scheme', 'https'],
  [':authority', 'shop.example'],
  [':path', '/'],
])

const responseFields = literalBlock([
  [':status', '200'],
  ['x-a', 'b'],
])

/** A frame as an honest peer could send it next, with its fields in header blocks. */
function honest(random: (below: number) => number, stream: number, fields: Buffer): Buffer {
  const kinds = [
    () => frame(FRAME.headers, END_HEADERS | random(2), stream, fields),
    () => frame(FRAME.data, random(2) * END_STREAM, stream, Buffer.alloc(random(300))),
    () => frame(FRAME.window, 0, random(2) * stream, uint32(1 + random(1000))),
    () => frame(FRAME.reset, 0, stream, uint32(8)),
    () => frame(FRAME.ping, random(2), 0, Buffer.alloc(8)),
    () =>
      frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, 1 + random(6)]), uint32(random(70_000))])),
    () => frame(FRAME.priority, 0, stream, Buffer.alloc(5)),
    () =>
      frame(FRAME.continuation, random(2) * END_HEADERS, stream, fields.subarray(0, random(fields.length))),
    () => frame(random(16), random(256), stream, Buffer.alloc(random(50))),
  ]
  return kinds[random(kinds.length)]?.() ?? Buffer.alloc(0)
}

/** Changes some bytes, or drops some, or repeats some. */
function mutated(random: (below: number) => number, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  for (let change = random(4); change > 0 && copy.length > 0; change--)
    copy[random(copy.length)] = random(256)
  if (random(10) === 0) return copy.subarray(0, random(copy.length))
  return random(10) === 0 ? Buffer.concat([copy, copy.subarray(random(copy.length))]) : copy
}

suite(`${FRAMES} frames of a client, most of them mutated`, { timeout: LONG ? 3_600_000 : 120_000 }, () => {
  for (const seed of [1, 2, 3, 4])
    test(`of the seed ${seed} only close connections, and leak nothing`, async () => {
      const random = randomFrom(seed)
      let open = 0
      await using host = await serve(stream => {
        open++
        stream.attach(reader({ end: () => stream.end(), closed: () => open-- }))
        stream.respond(200, undefined, 'x-a: b\r\n')
        stream.write(Buffer.alloc(random(3000)))
        stream.resume()
      })
      for (let sent = 0; sent < FRAMES / 4;) {
        const socket = await host.raw()
        const closed = new Promise(resolve => socket.once('close', resolve))
        socket.resume().on('end', () => socket.destroy())
        socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0)]))
        for (let round = 0; round < PER_CONNECTION && !socket.destroyed; round++, sent++) {
          const given = honest(random, 1 + 2 * random(20), requestFields)
          const more = socket.write(random(3) === 0 ? given : mutated(random, given))
          if (!more) await Promise.race([once(socket, 'drain').catch(() => undefined), closed])
          else if (random(20) === 0) await setImmediate()
        }
        socket.destroy()
        await closed
      }
      const client = await host.client()
      assert.equal((await ask(client, { ':path': '/' })).status, 200)
      client.destroy()
      await until(() => host.connections.every(connection => connection.open === 0))
      assert.equal(open, 0)
    })
})

suite(`${FRAMES} frames of a server, most of them mutated`, { timeout: LONG ? 3_600_000 : 120_000 }, () => {
  for (const seed of [5, 6, 7, 8])
    test(`of the seed ${seed} only close connections, and end every request`, async () => {
      const random = randomFrom(seed)
      for (let sent = 0; sent < FRAMES / 4;) {
        await using both = await connectedPair()
        const { wire, connection } = both
        const asked = Array.from({ length: 20 }, () => request(both, { ends: random(2) === 0 }))
        for (const { stream } of asked) stream.write(Buffer.alloc(random(3000)))
        for (let round = 0; round < PER_CONNECTION && connection.isOpen; round++, sent++) {
          const given = honest(random, 1 + 2 * random(20), responseFields)
          if (!wire.send(random(3) === 0 ? given : mutated(random, given))) break
          if (random(20) === 0) await setImmediate()
        }
        wire.socket.end()
        await both.closed
        assert.equal(connection.open, 0)
        for (const { reader: recorded } of asked)
          assert.equal(recorded.seen.filter(event => event.startsWith('closed')).length, 1)
      }
    })
})
