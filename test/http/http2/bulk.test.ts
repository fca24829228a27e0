import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { BodySink } from '#http/body.ts'
import { answerOf, ManualBody, gateway, reply } from './support.ts'

const PIECE = Buffer.alloc(64 * 1024, 'x')
const COUNT = 1024
const TOTAL = PIECE.length * COUNT
// Windows, node's own buffers and the garbage of both ends, which run in this one process.
const ROOM = 60 * 1024 * 1024

const memory = (): number => {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

suite('64 MiB through an HTTP/2 connection', () => {
  test('are uploaded in bounded memory, however slowly they are read', async () => {
    let highest = 0
    const before = memory()
    await using host = await gateway(
      ({ body }) =>
        new Promise((resolve, reject) => {
          let size = 0
          const sink: BodySink = {
            data(bytes) {
              size += bytes.length
              highest = Math.max(highest, memory())
              body.pause()
              void setImmediate().then(() => body.resume())
            },
            end: () => resolve(reply(200, String(size))),
            fail: reject,
          }
          body.read(sink, false)
        }),
    )
    const stream = (await host.client()).request({ ':path': '/', ':method': 'PUT' })
    const answer = answerOf(stream)
    await pipeline(Readable.from(Array.from({ length: COUNT }, () => PIECE)), stream)
    assert.equal((await answer).text, String(TOTAL))
    assert.ok(highest - before < ROOM, `${highest - before} bytes were held`)
  })

  test('are downloaded in bounded memory', async () => {
    let highest = 0
    const before = memory()
    const fed = new ManualBody({ kind: 'length', length: TOTAL })
    await using host = await gateway(async () => ({
      head: { ...reply(200, '').head, framing: fed.framing },
      body: fed,
    }))
    const stream = (await host.client()).request({ ':path': '/' })
    let got = 0
    stream.on('data', (bytes: Buffer) => {
      got += bytes.length
      highest = Math.max(highest, memory())
    })
    const sink = await fed.started.promise
    let sent = 0
    const feed = (): void => {
      for (; sent < COUNT && !fed.paused; sent++) sink.data(PIECE)
      if (sent === COUNT) sink.end('')
    }
    fed.resumed = feed
    feed()
    await new Promise(resolve => stream.once('close', resolve))
    assert.equal(got, TOTAL)
    assert.ok(highest - before < ROOM, `${highest - before} bytes were held`)
  })
})
