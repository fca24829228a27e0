import assert from 'node:assert/strict'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { readBody, ask, gateway, reply } from './support.ts'
import {
  literalBlock,
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  headers,
  indexed,
  reference,
  RawPeer,
  uint32,
} from './raw-peer.ts'

const usual: [string, string][] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'shop.example'],
  [':path', '/'],
]

const post: [string, string][] = [[':method', 'POST'], ...usual.slice(1)]
const CANCEL = uint32(8)

/** What a hostile client sends in each round; stream ids increase by two from 1. */
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
      ? frame(FRAME.headers, END_STREAM, 1, literalBlock(usual))
      : frame(FRAME.continuation, 0, 1, literalBlock([['x-a', 'b']])),
  'window updates of zero': round =>
    Buffer.concat([
      headers(2 * round + 1, usual, { endStream: false }),
      frame(FRAME.window, 0, 2 * round + 1, uint32(0)),
    ]),
  'PRIORITY frames': round =>
    frame(FRAME.priority, 0, 2 * (round % 50) + 1, Buffer.concat([uint32(0), Buffer.from([round % 256])])),
  'references to a large table entry': round =>
    round === 0
      ? frame(
          FRAME.headers,
          END_HEADERS | END_STREAM,
          1,
          Buffer.concat([literalBlock(usual), indexed('x-big', 'a'.repeat(4000))]),
        )
      : frame(
          FRAME.headers,
          END_HEADERS | END_STREAM,
          2 * round + 1,
          Buffer.concat([literalBlock(usual), Buffer.alloc(4000, reference)]),
        ),
  'window updates of the connection': () => frame(FRAME.window, 0, 0, uint32(1)),
  'window updates of a stream': round =>
    round === 0 ? headers(1, usual, { endStream: false }) : frame(FRAME.window, 0, 1, uint32(1)),
  'frames of an unknown kind': () => frame(0x7f, 0, 0, Buffer.alloc(64)),
  PINGs: () => frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
  SETTINGS: () => frame(FRAME.settings, 0, 0),
}

// Far longer than any of them takes; what counts is that the connection ends at all.
const PATIENCE = 60_000

suite('a flood on one connection', () => {
  for (const [name, make] of Object.entries(floods))
    test(`of ${name} ends it, and harms no other client`, async () => {
      await using host = await gateway(async ({ body }) => {
        await readBody(body).catch(() => undefined)
        return reply(200, 'fine')
      })
      const honest = await host.client()
      const wire = await RawPeer.open(host)
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

  test('of rapid resets hardly reaches the services', async () => {
    await using host = await gateway(async () => reply(200, 'fine'))
    const wire = await RawPeer.open(host)
    let over = false
    void wire.gone.then(() => (over = true))
    for (let round = 0; !over && round < 1000; round++) {
      wire.send(floods['rapid resets']?.(round) ?? Buffer.alloc(0))
      if (round % 32 === 0) await setImmediate()
    }
    await wire.gone
    assert.ok(host.seen.length < 5, `${host.seen.length} requests were passed on`)
  })

  test('is not suspected of a client that updates its windows for every frame of a download', async () => {
    const megabytes = 32
    const content = Buffer.alloc(megabytes * 2 ** 20)
    await using host = await gateway(async () => {
      const body = bodyOf(content)
      return { head: { status: 200, reason: '', framing: body.framing, fields: Fields.none }, body }
    })
    const wire = await RawPeer.open(host)
    let [received, ended] = [0, false]
    wire.onFrame = ({ type, flags, payload }) => {
      if (type !== FRAME.data) return
      received += payload.length
      ended ||= (flags & END_STREAM) !== 0
      const update = uint32(Math.max(1, payload.length))
      wire.send(frame(FRAME.window, 0, 0, update), frame(FRAME.window, 0, 1, update))
    }
    wire.send(headers(1, usual, { endStream: true }))
    await wire.find(({ type, flags }) => type === FRAME.data && (flags & END_STREAM) !== 0)
    assert.deepEqual([received, ended], [content.length, true])
  })

  test('is not suspected of a client that sends content byte by byte', async () => {
    const pieces = 30_000
    await using host = await gateway(async ({ body }) =>
      reply(200, String((await readBody(body)).bytes.length)),
    )
    const wire = await RawPeer.open(host)
    wire.send(headers(1, post, { endStream: false }))
    for (let piece = 0; piece < pieces; piece++) {
      const more = wire.send(frame(FRAME.data, piece === pieces - 1 ? END_STREAM : 0, 1, Buffer.from('a')))
      if (!more) await once(wire.socket, 'drain')
    }
    const answer = await wire.find(({ type, stream }) => type === FRAME.data && stream === 1)
    assert.equal(answer?.payload.toString(), String(pieces))
  })

  test('is not suspected of a client whose uploads are refused', async () => {
    await using host = await gateway(async ({ body }) => {
      body.cancel()
      return reply(403, 'no')
    })
    const client = await host.client()
    for (let round = 0; round < 12; round++)
      assert.equal(
        (await ask(client, { ':path': '/', ':method': 'POST' }, Buffer.alloc(200_000))).status,
        403,
      )
    assert.equal(client.closed, false)
  })

  test('is not suspected of a client that resets and pings occasionally', async () => {
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
