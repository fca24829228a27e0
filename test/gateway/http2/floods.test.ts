import assert from 'node:assert/strict'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { all, ask, gateway, reply } from './support.ts'
import {
  block,
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  headers,
  indexed,
  reference,
  Wire,
  word,
} from './wire.ts'

const usual: [string, string][] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'shop.example'],
  [':path', '/'],
]

const CANCEL = word(8)

/** What a hostile visitor sends, round after round; the stream ids go up by two from 1. */
const floods: Record<string, (round: number) => Buffer> = {
  'rapid resets': round =>
    Buffer.concat([
      headers(2 * round + 1, usual, { endStream: true }),
      frame(FRAME.reset, 0, 2 * round + 1, CANCEL),
    ]),
  'DATA frames without data': round =>
    round === 0 ? headers(1, usual, { endStream: false }) : frame(FRAME.data, 0, 1),
  'CONTINUATION frames without end': round =>
    round === 0
      ? frame(FRAME.headers, END_STREAM, 1, block(usual))
      : frame(FRAME.continuation, 0, 1, block([['x-a', 'b']])),
  'window updates of zero': round =>
    Buffer.concat([
      headers(2 * round + 1, usual, { endStream: false }),
      frame(FRAME.window, 0, 2 * round + 1, word(0)),
    ]),
  'PRIORITY frames': round =>
    frame(FRAME.priority, 0, 2 * (round % 50) + 1, Buffer.concat([word(0), Buffer.from([round % 256])])),
  'references to a large table entry': round =>
    round === 0
      ? frame(
          FRAME.headers,
          END_HEADERS | END_STREAM,
          1,
          Buffer.concat([block(usual), indexed('x-big', 'a'.repeat(4000))]),
        )
      : frame(
          FRAME.headers,
          END_HEADERS | END_STREAM,
          2 * round + 1,
          Buffer.concat([block(usual), Buffer.alloc(4000, reference)]),
        ),
  PINGs: () => frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
  SETTINGS: () => frame(FRAME.settings, 0, 0),
}

// Far longer than any of them takes; what counts is that the connection ends at all.
const PATIENCE = 5000

suite('a flood on one connection', () => {
  for (const [name, make] of Object.entries(floods))
    test(`of ${name} ends it, and nobody else is hurt`, async () => {
      await using host = await gateway(async ({ body }) => {
        await all(body).catch(() => undefined)
        return reply(200, 'fine')
      })
      const honest = await host.client()
      const wire = await Wire.open(host)
      const started = performance.now()
      let over = false
      void wire.gone.then(() => (over = true))
      for (let round = 0; !over && performance.now() - started < PATIENCE; round++) {
        const more = wire.send(make(round))
        if (!more) await Promise.race([once(wire.socket, 'drain').catch(() => undefined), wire.gone])
        else if (round % 32 === 0) await setImmediate()
      }
      assert.ok(over, 'the connection is still open')
      const answer = await ask(honest, { ':path': '/' })
      assert.equal(answer.text, 'fine')
    })

  test('does not meet a visitor that resets and pings now and then', async () => {
    await using host = await gateway(() => new Promise(() => undefined))
    const client = await host.client()
    for (let round = 0; round < 40; round++) {
      const stream = client.request({ ':path': '/' })
      await setImmediate()
      stream.close(8)
      await new Promise(resolve => client.ping(resolve))
    }
    assert.equal(client.closed, false)
  })
})
