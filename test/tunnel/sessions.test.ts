import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { suite, test } from 'node:test'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { sessionPair, sessionWithPeer, frame, recordStream, uint32 } from './support.ts'
import { until } from '../support/until.ts'

const NUDGE = '00000420 7ffffffe 00000001'.replaceAll(' ', '')

suite('a session', () => {
  test('keeps at most so many streams open, and opens the next in order when one is finished both ways', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server', maxOpen: 2, maxWaiting: 2 })
    const first = await session.open(3)
    await session.open(3)
    const order: string[] = []
    const third = session.open(3).then(() => order.push('third'))
    const fourth = session.open(3).then(() => order.push('fourth'))
    await assert.rejects(session.open(3), { code: 'streams_exhausted' })
    first.end()
    await peer.settle()
    assert.deepEqual(order, [], 'a stream the agent has not finished still counts')
    peer.send(frame(0x11, 2), frame(0x00, 4, uint32(7)))
    recordStream(first)
    await Promise.all([third, fourth])
    assert.deepEqual(order, ['third', 'fourth'])
    assert.equal(session.streams, 2)
  })

  test('has room for 480 streams by default, which is below what kills an agent', async () => {
    const { session } = sessionWithPeer({ role: 'server' })
    await Promise.all(Array.from({ length: 480 }, () => session.open(3)))
    const next = session.open(3, undefined, { signal: AbortSignal.timeout(5) })
    await assert.rejects(next, { name: 'TimeoutError' })
    assert.equal(session.streams, 480)
  })

  test('refuses streams of the peer above its limit with RST 5', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server', maxAccepted: 2, accept: () => undefined })
    peer.send(...[3, 5, 7].map(id => frame(0x12, id, uint32(0))))
    await peer.settle()
    assert.deepEqual([peer.framesOf(5), peer.framesOf(7)], [[], ['0:00000005']])
    assert.equal(session.streams, 2)
  })

  test('writes the frames of one turn at once', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const chunks: number[] = []
    peer.socket.on('data', (chunk: Buffer) => chunks.push(chunk.length))
    const streams = await Promise.all([session.open(3), session.open(3)])
    for (const stream of streams) stream.end(Buffer.from('x'))
    await peer.next(({ id, kind }) => id === 4 && kind === 0x11)
    assert.deepEqual(chunks, [12 + 12 + 9 + 9])
  })

  test('gives each of many streams a turn soon when the link is slow', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const streams = await Promise.all(Array.from({ length: 64 }, () => session.open(3)))
    await peer.settle()
    const opened = peer.frames.length
    peer.socket.pause()
    for (const stream of streams) stream.write(Buffer.alloc(200_000))
    peer.socket.resume()
    const sent = () => peer.frames.slice(opened).reduce((sum, { body }) => sum + body.length, 0)
    await until(sent, { fits: bytes => bytes >= 1_000_000 })
    const begun = new Set<number>()
    for (let at = opened, bytes = 0; bytes < 1_000_000; at++) {
      const { id, body } = peer.frames[at] ?? { id: 0, body: Buffer.alloc(1_000_000) }
      begun.add(id)
      bytes += body.length
    }
    assert.equal(begun.size, 64, 'of 64 streams have sent some of the first megabyte')
  })

  test('sends a frame when input causes no output, only where enabled, and never in response to such a frame', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    recordStream(await session.open(3))
    await peer.next()
    peer.send(frame(0x10, 2, 'quiet'))
    await peer.settle()
    assert.ok(!peer.received.toString('hex').includes(NUDGE))
    session.ackImmediately = true
    peer.send(frame(0x10, 2, 'loud'))
    await peer.next(({ id, body }) => id === 0x7fff_fffe && body.readUInt32BE() === 1)
    const before = peer.frames.length
    peer.send(Buffer.from(NUDGE, 'hex'))
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    session.ackImmediately = false
    await peer.settle()
    assert.equal(peer.frames.length, before + 1, 'only the answer to the stray frame')
  })

  test('does not nudge when it had something to send', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    session.ackImmediately = true
    const stream = await session.open(3)
    await peer.next()
    stream.attach({
      data: bytes => void stream.write(Buffer.from(bytes)),
      end: () => stream.end(),
      closed: () => undefined,
    })
    peer.send(frame(0x11, 2, 'echo'))
    await peer.next(({ kind }) => kind === 0x11)
    assert.ok(!peer.received.toString('hex').includes(NUDGE))
  })

  test('drains: opens nothing more, waits for its streams but not for heartbeats, then closes', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const stream = await session.open(3)
    await session.open(streamTypes.heartbeat)
    recordStream(stream)
    const drained = session.drain(60_000)
    await assert.rejects(session.open(3), { code: 'session_closed' })
    stream.end(Buffer.from('the rest'))
    peer.send(frame(0x11, 2))
    await drained
    assert.equal((await session.closed).code, 'none')
    assert.equal((await peer.next(({ kind }) => kind === 0x30)).body.readUInt32BE(4), 0)
    assert.deepEqual(peer.framesOf(2).at(-1), `11:${Buffer.from('the rest').toString('hex')}`)
  })

  test('stops draining when the time is over', async () => {
    const { session } = sessionWithPeer({ role: 'server' })
    const sink = recordStream(await session.open(3))
    await session.drain(5)
    assert.equal(((await sink.whenClosed) as { code?: string }).code, 'session_closed')
  })

  test('fails its streams and what waits to be opened when the connection is lost', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server', maxOpen: 1 })
    const sink = recordStream(await session.open(3))
    const waiting = session.open(3)
    peer.socket.destroy()
    await assert.rejects(waiting, { code: 'peer_eof' })
    assert.equal(((await sink.whenClosed) as { code?: string }).code, 'peer_eof')
    assert.equal((await session.closed).code, 'peer_eof')
    assert.equal(session.streams, 0)
  })

  test('notifies the other end that it leaves', async () => {
    const { gateway, agent } = sessionPair()
    agent.close('none', 'bye')
    const reason = await gateway.closed
    assert.deepEqual([reason.code, reason.message], ['remote_gone_away', 'bye'])
  })

  test('reports the streams that a leaving peer has not read, if that peer is trusted', async () => {
    for (const trustsLastId of [true, false]) {
      const { session, peer } = sessionWithPeer({ role: 'server', trustsLastId })
      const [read, unread] = await Promise.all([session.open(3), session.open(3)])
      const ears = [read, unread].map(recordStream)
      peer.send(frame(0x30, 0, Buffer.concat([uint32(read.id), uint32(0)])))
      const errors = (await Promise.all(ears.map(sink => sink.whenClosed))) as { code?: string }[]
      const codes = errors.map(({ code }) => code)
      assert.deepEqual(codes, ['remote_gone_away', trustsLastId ? 'stream_refused' : 'remote_gone_away'])
    }
  })

  test('answers little to a peer that floods it and does not read', async () => {
    const [near, far] = duplexPair()
    const session = new MuxSession(near, { role: 'server', accept: () => undefined })
    const flood = Buffer.concat(Array.from({ length: 10_000 }, (_, index) => frame(0x10, 2 * index + 1, 'x')))
    for (let round = 0; round < 30; round++) far.write(flood)
    await until(() => far.writableLength === 0)
    session.close()
    const answers = Buffer.concat((await far.toArray()) as Buffer[])
    assert.ok(answers.length < 1_048_576, `${answers.length} bytes of answers were kept`)
  })
})
