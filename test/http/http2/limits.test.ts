import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { ManualBody, gateway, reply } from './support.ts'
import { ACK, END_STREAM, FRAME, frame, headers, RawPeer, uint32 } from './raw-peer.ts'

const usual: [string, string][] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'shop.example'],
  [':path', '/'],
]
const post: [string, string][] = [[':method', 'POST'], ...usual.slice(1)]
const FLOW_CONTROL_ERROR = 3
const REFUSED_STREAM = 7
const MIB = 2 ** 20

const ended = (stream: number) => (seen: { type: number; flags: number; stream: number }) =>
  seen.type === FRAME.data && seen.stream === stream && (seen.flags & END_STREAM) !== 0

suite('limits of an HTTP/2 connection', () => {
  test('answers a PING for each frame of data, as gRPC measures the bandwidth', async () => {
    const body = bodyOf(Buffer.alloc(4 * MIB))
    const head = { status: 200, reason: '', framing: body.framing, fields: Fields.none }
    await using host = await gateway(async () => ({ head, body }))
    const wire = await RawPeer.open(host)
    let pings = 0
    wire.onFrame = ({ type, payload }) => {
      if (type !== FRAME.data || payload.length === 0) return
      pings++
      const credit = uint32(payload.length)
      wire.send(
        frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
        frame(FRAME.window, 0, 0, credit),
        frame(FRAME.window, 0, 1, credit),
      )
    }
    wire.send(headers(1, usual, { endStream: true }))
    assert.ok(await wire.find(ended(1)), 'the connection was closed')
    assert.ok(pings > 200, `${pings} PINGs were sent`)
  })

  test('sends no more than the windows allow, alternating between streams', async () => {
    const body = () => bodyOf(Buffer.alloc(MIB))
    const head = { status: 200, reason: '', framing: body().framing, fields: Fields.none }
    await using host = await gateway(async () => ({ head, body: body() }))
    const wire = await RawPeer.open(host)
    wire.send(headers(1, usual, { endStream: true }), headers(3, usual, { endStream: true }))
    wire.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8)))
    const received = (stream: number): number =>
      wire.frames
        .filter(seen => seen.type === FRAME.data && seen.stream === stream)
        .reduce((sum, { payload }) => sum + payload.length, 0)
    const total = (): number => received(1) + received(3)
    await wire.find(() => total() >= 65_535)
    assert.equal(total(), 65_535)
    wire.send(frame(FRAME.window, 0, 0, uint32(4 * MIB)))
    await wire.find(() => received(1) >= 65_535 && received(3) >= 65_535)
    assert.deepEqual([received(1), received(3)], [65_535, 65_535])
    wire.send(frame(FRAME.window, 0, 1, uint32(MIB)), frame(FRAME.window, 0, 3, uint32(MIB)))
    for (const stream of [1, 3]) await wire.find(ended(stream))
    assert.deepEqual([received(1), received(3)], [MIB, MIB])
    const order = wire.frames.filter(({ type }) => type === FRAME.data).slice(-40)
    const changes = order.filter(({ stream }, at) => at > 0 && stream !== order[at - 1]?.stream).length
    assert.ok(changes > 10, 'one stream waited for the other')
  })

  test('applies a changed initial window to open streams', async () => {
    await using host = await gateway(async () => reply(200, 'hello'))
    const wire = await RawPeer.open(host)
    const initial = (bytes: number): Buffer =>
      frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(bytes)]))
    wire.send(initial(0), headers(1, usual, { endStream: true }), frame(FRAME.ping, 0, 0, Buffer.alloc(8)))
    assert.equal(await wire.outcome(1), 200)
    await wire.find(({ type, flags }) => type === FRAME.ping && flags === ACK)
    assert.equal(
      wire.frames.some(({ type }) => type === FRAME.data),
      false,
    )
    wire.send(initial(3))
    const first = await wire.find(({ type }) => type === FRAME.data)
    assert.equal(first?.payload.toString(), 'hel')
    wire.send(initial(5))
    assert.equal((await wire.find(ended(1)))?.payload.toString(), 'lo')
  })

  test('resets a stream whose client exceeds its window', async () => {
    const fed = new ManualBody()
    await using host = await gateway(async () => ({
      head: { ...reply(200, '').head, framing: fed.framing },
      body: fed,
    }))
    const wire = await RawPeer.open(host)
    wire.send(headers(1, post, { endStream: false }))
    for (let sent = 0; sent <= 256 * 1024; sent += 16_384)
      wire.send(frame(FRAME.data, 0, 1, Buffer.alloc(16_384)))
    const reset = await wire.find(({ type }) => type === FRAME.reset)
    assert.equal(reset?.payload.readUInt32BE(), FLOW_CONTROL_ERROR)
  })

  test('refuses more streams than it allows, and serves the others', async () => {
    const proceed = Promise.withResolvers<void>()
    await using host = await gateway(async () => {
      await proceed.promise
      return reply(200, 'ok')
    })
    const wire = await RawPeer.open(host)
    for (let at = 0; at < 101; at++) wire.send(headers(2 * at + 1, usual, { endStream: true }))
    const reset = await wire.find(({ type }) => type === FRAME.reset)
    assert.deepEqual([reset?.stream, reset?.payload.readUInt32BE()], [201, REFUSED_STREAM])
    proceed.resolve()
    assert.equal(await wire.outcome(199), 200)
    assert.equal(host.seen.length, 100)
  })
})
