import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { streamQueue, transferBothWays } from './transfer.ts'
import { sessionPair, RecordingSink, sessionWithPeer, frame, recordStream, uint32 } from './support.ts'

const MIB = 1_048_576
const WINDOW = 262_144

suite('flow control', () => {
  test('never sends a byte more than the window, the type counted too', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const stream = await session.open(3, Buffer.alloc(1000))
    assert.equal(stream.write(Buffer.alloc(MIB)), false)
    stream.end()
    const sent = (): number =>
      peer.frames
        .filter(({ id, kind }) => id === 2 && kind >> 4 === 1)
        .reduce((sum, { body }) => sum + body.length, 0)
    await until(sent, { fits: bytes => bytes >= WINDOW })
    await peer.settle()
    assert.equal(sent(), WINDOW)
    peer.send(frame(0x20, 2, uint32(1)))
    await peer.settle()
    assert.equal(sent(), WINDOW + 1)
    peer.send(frame(0x20, 2, uint32(2 * MIB)))
    const last = await peer.next(({ kind }) => kind === 0x11)
    assert.ok(last.body.length > 0, 'the last bytes carry the FIN')
    assert.equal(sent(), 1004 + MIB)
  })

  test('takes a frame as large as the window, and resets a stream with code 3 one byte beyond it', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const [full, over, exact] = [await session.open(3), await session.open(3), await session.open(3)]
    full.pause()
    peer.send(
      frame(0x10, 2, Buffer.alloc(WINDOW)),
      frame(0x10, 4, Buffer.alloc(WINDOW + 1)),
      frame(0x10, 6, 'alive'),
    )
    peer.send(frame(0x10, 2, 'x'))
    await peer.settle()
    assert.deepEqual([peer.framesOf(2).at(-1), peer.framesOf(4).at(-1)], ['0:00000003', '0:00000003'])
    assert.equal(over.closed, true)
    assert.equal(recordStream(exact).text, 'alive')
    assert.equal(session.unread, 0)
  })

  test('returns credit for what was read, in few frames, never an increment of 0', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const sink = recordStream(await session.open(3))
    for (let sent = 0; sent < 4 * MIB; sent += 8192) {
      peer.send(frame(0x10, 2, Buffer.alloc(8192)))
      if (sent % WINDOW === 0) await peer.settle()
    }
    await peer.settle()
    const credit = peer.frames.filter(({ kind }) => kind === 0x20).map(({ body }) => body.readUInt32BE())
    assert.equal(sink.size, 4 * MIB)
    assert.ok(credit.every(increment => increment >= WINDOW / 2))
    assert.ok(credit.reduce((sum, increment) => sum + increment, 0) >= 4 * MIB - WINDOW / 2)
  })

  test('resets a stream whose peer grants more than a window can be', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    await session.open(3)
    peer.send(frame(0x20, 2, uint32(0x7fff_ffff)))
    await peer.settle()
    assert.equal(peer.framesOf(2).at(-1), '0:00000003')
  })

  test('limits a stalled reader to one window, and stalls no other stream', async () => {
    const { accept, next } = streamQueue()
    const { gateway, agent } = sessionPair({}, { accept })
    const stalled = await gateway.open(3)
    assert.equal(stalled.write(Buffer.alloc(2 * MIB)), false)
    const paused = await next()
    await transferBothWays(gateway, next, [4, 3 * MIB])
    assert.equal(agent.unread, WINDOW - 4)
    assert.equal(paused.held, WINDOW - 4)
    const sink = recordStream(paused)
    stalled.end()
    await sink.whenEnded
    assert.equal(sink.size, 2 * MIB)
    assert.equal(agent.unread, 0)
  })

  test('gives slow readers no more credit beyond the memory limit of the session, until there is room again', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server', memoryLimit: WINDOW })
    const [idle, also, slow] = [await session.open(3), await session.open(3), await session.open(3)]
    const half = Buffer.alloc(WINDOW / 2)
    for (const id of [2, 4, 6]) peer.send(frame(0x10, id, half), frame(0x10, id, half))
    await peer.settle()
    let read = 0
    const data = (bytes: Buffer): void => {
      read += bytes.length
      if (read === half.length) slow.pause()
    }
    slow.attach(Object.assign(new RecordingSink(), { data }))
    await peer.settle()
    assert.equal(read, half.length)
    assert.deepEqual(peer.framesOf(6), ['12:00000003'], 'half was read, but there is no credit')
    recordStream(idle)
    also.abort()
    await peer.settle()
    assert.deepEqual(peer.framesOf(6).at(-1), `20:${uint32(half.length).toString('hex')}`)
  })

  test('gives those credit that read all, and takes new streams, however much others leave unread', async () => {
    const accepted: number[] = []
    const { session, peer } = sessionWithPeer({
      role: 'server',
      memoryLimit: WINDOW,
      accept: (_type, stream) => accepted.push(stream.id),
    })
    const [unread, busy] = [await session.open(3), await session.open(3)]
    await session.open(3)
    const sink = recordStream(busy)
    peer.send(frame(0x10, 2, Buffer.alloc(WINDOW)), frame(0x10, 6, Buffer.alloc(WINDOW)))
    peer.send(frame(0x10, 4, Buffer.alloc(WINDOW)), frame(0x12, 3, uint32(0)))
    await peer.settle()
    assert.equal(sink.size, WINDOW)
    assert.equal(unread.held, WINDOW)
    assert.deepEqual(peer.framesOf(4).at(-1), `20:${uint32(WINDOW).toString('hex')}`)
    assert.deepEqual(accepted, [3])
  })

  test('holds a flood of tiny frames in little more memory than their bytes', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const stream = await session.open(3)
    const flood = Buffer.concat(Array.from({ length: 1000 }, () => frame(0x10, 2, 'x')))
    for (let round = 0; round < 200; round++) peer.send(flood)
    await peer.settle()
    const pieces: Buffer[] = []
    stream.attach(Object.assign(new RecordingSink(), { data: (bytes: Buffer) => void pieces.push(bytes) }))
    const memory = new Set(pieces.map(({ buffer }) => buffer))
    assert.equal(
      pieces.reduce((sum, { length }) => sum + length, 0),
      200_000,
    )
    assert.ok([...memory].reduce((sum, { byteLength }) => sum + byteLength, 0) < 230_000)
  })

  test('keeps a small exchange fast beside a large one', async () => {
    const { accept, next } = streamQueue()
    const { gateway } = sessionPair({}, { accept })
    const bulk = await gateway.open(3)
    const taken = recordStream(await next())
    bulk.write(Buffer.alloc(64 * MIB))
    const small = await gateway.open(3, Buffer.from('ping'))
    const echo = await next()
    const received = recordStream(small)
    const sink = new RecordingSink()
    echo.attach(Object.assign(sink, { data: () => echo.end(Buffer.from('pong')) }))
    await received.whenEnded
    assert.equal(received.text, 'pong')
    assert.ok(taken.size < 16 * MIB, `${taken.size} bytes went first`)
  })
})
