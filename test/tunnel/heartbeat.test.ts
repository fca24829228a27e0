import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { answerHeartbeat, startHeartbeat } from '#tunnel/heartbeat.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { until } from '../support/until.ts'
import { sessionPair, sessionWithPeer, frame, type Frame, hex, uint32 } from './support.ts'

const short = { intervalMs: 10, limitMs: 100 }
const isBeat =
  (of: number) =>
  ({ id, kind }: Frame) =>
    id === of && kind === 0x10

suite('a heartbeat', () => {
  test('of the peer is echoed four bytes to a frame, however it is split, and never with FIN', async () => {
    const { session, peer } = sessionWithPeer({
      role: 'server',
      accept: (_, stream) => answerHeartbeat(stream),
    })
    peer.send(
      frame(0x12, 3, uint32(streamTypes.heartbeat)),
      frame(0x10, 3, hex('0a0b0c0d 01')),
      frame(0x10, 3, hex('020304')),
    )
    await peer.settle()
    assert.deepEqual(peer.framesOf(3), ['10:0a0b0c0d', '10:01020304'])
    peer.send(frame(0x11, 3))
    await peer.settle()
    assert.deepEqual(peer.framesOf(3).at(-1), '0:00000006')
    assert.equal(session.streams, 0)
  })

  test('of ours is a type alone, then beats of four bytes, one at a time', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const heartbeat = startHeartbeat(session, { intervalMs: 5, limitMs: 60_000 })
    const first = await peer.next(isBeat(2))
    assert.equal(peer.framesOf(2)[0], '12:ffffffff')
    for (let round = 0; round < 5; round++) await peer.settle()
    assert.equal(peer.frames.filter(isBeat(2)).length, 1, 'the first beat is still under way')
    peer.send(frame(0x10, 2, first.body))
    const second = await peer.next(isBeat(2))
    assert.equal(second.body.length, 4)
    assert.ok(heartbeat.latencyMs !== undefined && heartbeat.latencyMs >= 0)
    session.close()
  })

  test('finds a peer dead that is silent for the limit, and not before', async () => {
    const { session } = sessionWithPeer({ role: 'server' })
    const start = performance.now()
    startHeartbeat(session, short)
    const reason = await session.closed
    const waited = performance.now() - start
    assert.equal(reason.code, 'peer_eof')
    assert.ok(waited >= 95, `${waited} ms`)
  })

  test('does not count silence from before its start', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const start = session.lastInput + 2 * short.limitMs
    await until(() => performance.now() > start)
    startHeartbeat(session, short)
    await peer.next(isBeat(2))
    assert.equal((await session.closed).code, 'peer_eof', 'silence after that counts')
    assert.ok(performance.now() >= start + short.limitMs)
  })

  test('does not count the time in which its own process was blocked', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    startHeartbeat(session, short)
    await peer.next(isBeat(2))
    const blockedUntil = performance.now() + 3 * short.limitMs
    while (performance.now() < blockedUntil);
    // Timers that were due run now, before anything is read.
    await new Promise(resolve => setTimeout(resolve, 1))
    assert.equal(await Promise.race([session.closed, peer.settle()]), undefined)
    assert.equal((await session.closed).code, 'peer_eof', 'silence after that counts')
  })

  test('keeps a session whose peer echoes, or sends anything at all', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    startHeartbeat(session, short)
    const start = performance.now()
    while (performance.now() - start < 300) await peer.settle()
    assert.equal(await Promise.race([session.closed, peer.settle()]), undefined)
    session.close()

    const { gateway, agent } = sessionPair({}, { accept: (_, stream) => answerHeartbeat(stream) })
    const heartbeats = [startHeartbeat(gateway, short), startHeartbeat(agent, { ...short, limitMs: 60_000 })]
    await new Promise(resolve => setTimeout(resolve, 250))
    await until(() => heartbeats[0]?.latencyMs)
    await gateway.open(3)
    agent.close()
  })

  test('is opened again when the peer resets its stream', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    startHeartbeat(session, { intervalMs: 5, limitMs: 60_000 })
    await peer.next(isBeat(2))
    peer.send(frame(0x00, 2, uint32(7)))
    await peer.next(isBeat(4))
    peer.send(frame(0x11, 4))
    await peer.next(({ id, kind }) => id === 4 && kind === 0x00)
    assert.ok(!peer.frames.some(({ kind }) => kind === 0x11))
    session.close()
  })
})
