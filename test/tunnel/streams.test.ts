import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { asDuplex } from '#tunnel/duplex.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { sessionPair, RecordingSink, sessionWithPeer, frame, hex, recordStream, uint32 } from './support.ts'

suite('a stream', () => {
  test('never has SYN and FIN in one frame', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const stream = await session.open(3)
    stream.end()
    await peer.settle()
    assert.deepEqual(peer.framesOf(2), ['12:00000003', '11:'])
  })

  test('is free when both sides have finished, in either order', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const ours = await session.open(3)
    const theirs = await session.open(3)
    const sinks = [recordStream(ours), recordStream(theirs)]
    ours.end()
    peer.send(frame(0x11, 4))
    await peer.settle()
    assert.equal(session.streams, 2)
    peer.send(frame(0x11, 2))
    theirs.end()
    await peer.settle()
    assert.equal(session.streams, 0)
    assert.deepEqual(await Promise.all(sinks.map(({ whenClosed }) => whenClosed)), [undefined, undefined])
    assert.ok(sinks.every(({ ended }) => ended))
  })

  test('keeps receiving after its own end, and sending after the end of the peer', async () => {
    const accepted = Promise.withResolvers<TunnelStream>()
    const { gateway, agent } = sessionPair({}, { accept: (_, stream) => accepted.resolve(stream) })
    const near = await gateway.open(3, Buffer.from('request'))
    const received = recordStream(near)
    near.end()
    const far = await accepted.promise
    const asked = recordStream(far)
    await asked.whenEnded
    assert.equal(asked.text, 'request')
    far.write(Buffer.from('ans'))
    far.end(Buffer.from('wer'))
    await received.whenClosed
    assert.equal(received.text, 'answer')
    await asked.whenClosed
    assert.deepEqual([gateway.streams, agent.streams], [0, 0])
  })

  test('answers stray data with RST 4 and leaves other stray frames alone', async () => {
    const { peer } = sessionWithPeer({ role: 'server', accept: () => undefined })
    peer.send(
      frame(0x11, 21),
      frame(0x00, 23, uint32(6)),
      frame(0x20, 25, uint32(5)),
      frame(0x20, 27, uint32(0)),
    )
    peer.send(frame(0x10, 29, 'data'), frame(0x11, 31, 'data'))
    await peer.settle(33)
    assert.deepEqual(
      peer.frames.map(({ kind, id, body }) => [kind, id, body.readUInt32BE()]),
      [29, 31, 33].map(id => [0, id, 4]),
    )
  })

  test('refuses data after the end of the peer with RST 4, but not a second empty FIN', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const sink = recordStream(await session.open(3))
    peer.send(frame(0x11, 2), frame(0x11, 2))
    await peer.settle()
    assert.deepEqual(peer.framesOf(2), ['12:00000003'])
    peer.send(frame(0x10, 2, 'late'))
    await peer.settle()
    assert.deepEqual(peer.framesOf(2), ['12:00000003', '0:00000004'])
    assert.equal(sink.text, '')
  })

  test('that ends before its type is whole is reset, and the session lives', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server', accept: () => assert.fail('accepted') })
    peer.send(frame(0x13, 3), frame(0x13, 5, 'abc'), frame(0x12, 7, 'ab'), frame(0x11, 7, 'c'))
    await peer.settle()
    assert.deepEqual(
      [3, 5, 7].map(id => peer.framesOf(id)),
      [['0:00000001'], ['0:00000001'], ['0:00000001']],
    )
    assert.equal(session.streams, 0)
  })

  test('given up sends FIN, throws input away, and RST 6 only when that keeps coming', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const quiet = await session.open(3)
    const loud = await session.open(3)
    quiet.abort()
    loud.abort()
    peer.send(frame(0x10, 2, Buffer.alloc(100_000)), frame(0x10, 4, Buffer.alloc(100_000)))
    await peer.settle()
    assert.equal(session.streams, 2)
    peer.send(frame(0x11, 2), frame(0x10, 4, Buffer.alloc(100_000)))
    await peer.settle()
    assert.deepEqual(peer.framesOf(2), ['12:00000003', '11:'])
    assert.deepEqual(peer.framesOf(4), ['12:00000003', '11:', '0:00000006'])
    assert.deepEqual([session.streams, session.unread], [0, 0])
  })

  test('given up is reset at its first byte where the peer is known to free it', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server', maxDiscarded: 0 })
    const stream = await session.open(3)
    stream.abort()
    await peer.settle()
    assert.deepEqual(
      peer.framesOf(2),
      ['12:00000003', '11:'],
      'the service may not have read the request yet',
    )
    peer.send(frame(0x10, 2, 'x'))
    await peer.settle()
    assert.deepEqual(peer.framesOf(2), ['12:00000003', '11:', '0:00000006'])
    assert.equal(session.streams, 0)
  })

  test('reset by the peer gives its reader the code, also a later reader', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const [first, second] = [await session.open(3), await session.open(3)]
    const sink = recordStream(first)
    peer.send(frame(0x10, 4, 'unread'), frame(0x00, 2, uint32(9)), frame(0x00, 4, uint32(7777)))
    await peer.settle()
    assert.equal(((await sink.whenClosed) as { code?: string }).code, 'accept_queue_full')
    assert.equal(((await recordStream(second).whenClosed) as { code?: string }).code, 'unknown')
    assert.equal(first.write(Buffer.from('ignored')), true)
    assert.equal(session.unread, 0)
  })

  test('whose reader throws ends its session with an internal error, not the process', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const stream = await session.open(3)
    stream.attach(Object.assign(new RecordingSink(), { data: () => assert.fail('a fault of ours') }))
    peer.send(frame(0x10, 2, 'x'))
    assert.equal((await session.closed).code, 'internal')
  })

  test('can change its reader in the middle of a piece', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const stream = await session.open(3)
    const second = new RecordingSink()
    stream.attach(
      Object.assign(new RecordingSink(), {
        data: (bytes: Buffer) => {
          stream.detach(bytes.subarray(2))
          stream.attach(second)
        },
      }),
    )
    peer.send(frame(0x11, 2, 'abcdef'))
    await peer.settle()
    assert.deepEqual([second.text, second.ended], ['cdef', true])
  })

  test('as a Duplex passes bytes and ends both ways, and gives up when destroyed', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const duplex = asDuplex(await session.open(3))
    const other = asDuplex(await session.open(3))
    duplex.end('to agent')
    peer.send(frame(0x10, 2, 'from '), frame(0x11, 2, 'agent'))
    const text = await duplex.setEncoding('utf8').toArray()
    assert.equal(text.join(''), 'from agent')
    other.destroy()
    await peer.settle()
    assert.deepEqual(peer.framesOf(2), [
      '12:00000003',
      `10:${Buffer.from('to agent').toString('hex')}`,
      '11:',
    ])
    assert.deepEqual(peer.framesOf(4), ['12:00000003', '11:'])
  })

  test('is accepted with the four bytes of its type in any pieces', async () => {
    const types: number[] = []
    const { peer } = sessionWithPeer({ role: 'server', accept: type => void types.push(type) })
    peer.send(frame(0x12, 3), frame(0x10, 3, hex('00')), frame(0x10, 3, hex('00000a7b')))
    await peer.settle()
    assert.deepEqual(types, [10])
  })
})
