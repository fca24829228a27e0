import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { until } from '../support/until.ts'
import { tcpPair, tlsPair } from './socket-pairs.ts'
import { frame, hex, Peer, recordStream, RecordingSink, sessionWithPeer, uint32 } from './support.ts'

suite('frames on the wire', () => {
  test('open the first streams of an agent as 3 and 5, each type with SYN', async () => {
    const { session, peer } = sessionWithPeer({ role: 'client' })
    await session.open(streamTypes.heartbeat)
    await session.open(streamTypes.auth)
    await peer.settle()
    const wanted = hex('00000412 00000003 ffffffff 00000412 00000005 00000000')
    assert.deepEqual(peer.received.subarray(0, wanted.length), wanted)
  })

  test('half-close with an empty FIN', async () => {
    const { session, peer } = sessionWithPeer({ role: 'client' })
    await session.open(0)
    const stream = await session.open(0)
    stream.end()
    await peer.settle()
    assert.ok(peer.received.includes(hex('00000011 00000005')))
  })

  test('cancel a stream with RST 6', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const streams = await Promise.all(Array.from({ length: 8 }, () => session.open(3)))
    streams[7]?.reset('stream_cancelled')
    await peer.settle()
    assert.ok(peer.received.includes(hex('00000400 00000010 00000006')))
  })

  test('are GOAWAY with the last stream of the peer and the text, and nothing after it', async () => {
    const { session, peer } = sessionWithPeer({
      role: 'server',
      accept: (_, stream) => void recordStream(stream),
    })
    peer.send(frame(0x12, 15, uint32(0)))
    await peer.settle()
    session.close('none', 'restarting')
    await peer.next(({ kind }) => kind === 0x30)
    const wanted = hex('00001230 00000000 0000000f 00000000 72657374617274696e67')
    assert.deepEqual(peer.received.subarray(-wanted.length), wanted)
    assert.equal((await session.closed).code, 'none')
  })

  test('carry type, header and first bytes in one frame', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    await session.open(3, Buffer.from('header and bytes'))
    await peer.settle()
    assert.deepEqual(peer.framesOf(2), [`12:00000003${Buffer.from('header and bytes').toString('hex')}`])
  })

  test('are read whatever the size of the chunks they arrive in', async () => {
    for (const size of [1, 2, 3, 5, 7, 8, 9, 11, 64]) {
      const ears: RecordingSink[] = []
      const types: number[] = []
      const { session, peer } = sessionWithPeer({
        role: 'server',
        accept: (type, stream) => {
          types.push(type)
          ears.push(recordStream(stream))
        },
      })
      const own = await session.open(3)
      own.end(Buffer.alloc(10))
      const input = Buffer.concat([
        frame(0x12, 3, hex('0000')),
        frame(0x10, 3, hex('0007 68656c')),
        frame(0x20, 2, uint32(671)),
        frame(0x10, 3, ''),
        frame(0x12, 5, hex('ffffffff 01')),
        frame(0x11, 3, 'lo'),
        frame(0x00, 2, uint32(7)),
      ])
      for (let at = 0; at < input.length; at += size) peer.send(input.subarray(at, at + size))
      await peer.settle()
      assert.deepEqual(types, [7, 0xffff_ffff])
      assert.deepEqual([ears[0]?.text, ears[0]?.ended], ['hello', true])
      assert.deepEqual([ears[1]?.text, ears[1]?.ended], ['\u0001', false])
      assert.equal(session.streams, 2, 'the reset stream is gone')
    }
  })

  for (const [name, link] of Object.entries({ 'a plain socket': tcpPair, 'a TLS socket': tlsPair })) {
    test(`have their own bytes, small and large ones in any order, from ${name}`, async () => {
      const { accepted, outgoing } = await link()
      const peer = new Peer(outgoing)
      const sinks = new Map<number, RecordingSink>()
      const session = new MuxSession(accepted, {
        role: 'server',
        accept: (_, stream) => void sinks.set(stream.id, recordStream(stream)),
      })
      const ids = [3, 5, 7]
      peer.send(...ids.map(id => frame(0x12, id, uint32(0))))
      const sizes = [1, 300, 16_383, 40, 16_385, 65_536, 0, 7, 16_384, 90_000, 2, 20_000]
      const bodies = sizes.map((size, at) => ({ id: ids[at % 3] ?? 3, bytes: randomBytes(size) }))
      const input = Buffer.concat(bodies.map(({ id, bytes }) => frame(0x10, id, bytes)))
      for (let at = 0, size = 1; at < input.length; at += size, size = (size * 7) % 50_021)
        peer.send(input.subarray(at, at + size))
      await peer.settle()
      for (const id of ids) {
        const wanted = Buffer.concat(bodies.filter(body => body.id === id).map(({ bytes }) => bytes))
        assert.ok(Buffer.concat(sinks.get(id)?.pieces ?? []).equals(wanted), `stream ${id}`)
      }
      session.close()
    })

    test(`are passed on before their end has arrived, from ${name}`, async () => {
      const { accepted, outgoing } = await link()
      const peer = new Peer(outgoing)
      const sink = Promise.withResolvers<RecordingSink>()
      const session = new MuxSession(accepted, {
        role: 'server',
        accept: (_, stream) => sink.resolve(recordStream(stream)),
      })
      const body = randomBytes(60_000)
      const sent = frame(0x10, 3, body)
      peer.send(frame(0x12, 3, uint32(0)), sent.subarray(0, 30_008))
      const { pieces } = await sink.promise
      const received = (): Buffer => Buffer.concat(pieces)
      await until(received, { fits: bytes => bytes.equals(body.subarray(0, 30_000)) })
      peer.send(sent.subarray(30_008))
      await until(received, { fits: bytes => bytes.equals(body) })
      session.close()
    })
  }

  test('that credit 671 bytes allow exactly so many more', async () => {
    const { session, peer } = sessionWithPeer({ role: 'client' })
    await session.open(0)
    const stream = await session.open(0)
    assert.equal(stream.write(Buffer.alloc(300_000)), false)
    const sent = (): number =>
      peer.frames.filter(({ id }) => id === 5).reduce((sum, { body }) => sum + body.length, 0)
    await until(sent, { fits: bytes => bytes >= 262_144 })
    await peer.settle()
    assert.equal(sent(), 262_144)
    peer.send(hex('00000420 00000005 0000029f'))
    await peer.settle()
    assert.equal(sent(), 262_144 + 671)
  })

  const goaways = {
    'with its text': '00001230 00000000 0000000f 00000000 72657374617274696e67',
    'of a closing Go agent': '00001030 00000000 00000004 00000000 6e6f206572726f72',
    'whose length leaves the fixed part out': '00000530 00000000 0000000f 00000000 68656c6c6f',
  }
  for (const [name, bytes] of Object.entries(goaways))
    test(`take GOAWAY ${name} as the end and ignore what follows`, async () => {
      const { session, peer } = sessionWithPeer({
        role: 'server',
        accept: () => assert.fail('a stream after GOAWAY'),
      })
      const stream = await session.open(3)
      const sink = recordStream(stream)
      peer.send(hex(bytes), frame(0x12, 3, uint32(0)), hex('ffffffffffffffffffffff'))
      assert.equal((await session.closed).code, 'remote_gone_away')
      assert.equal(((await sink.whenClosed) as { code?: string }).code, 'remote_gone_away')
    })

  const malformed = {
    'an unknown frame type': frame(0x40, 3),
    'a frame type of 15': frame(0xf0, 0),
    'DATA of stream 0': frame(0x12, 0, uint32(0)),
    'a stream id of 32 bits': frame(0x12, 0x8000_0001, uint32(0)),
    'RST of 3 bytes': frame(0x00, 3, 'abc'),
    'RST of stream 0': frame(0x00, 0, uint32(1)),
    'WNDINC of 5 bytes': frame(0x20, 3, 'abcde'),
    'WNDINC that announces 16 MiB': hex('ffffff20 00000003'),
    'SYN of an id that is ours': frame(0x12, 2, uint32(0)),
    'SYN of a stream that is open': Buffer.concat([frame(0x12, 3, uint32(0)), frame(0x12, 3, uint32(0))]),
  }
  for (const [name, bytes] of Object.entries(malformed))
    test(`end only their own session when they are ${name}`, async () => {
      const accept = (): void => undefined
      const bad = sessionWithPeer({ role: 'server', accept })
      const good = sessionWithPeer({ role: 'server', accept })
      bad.peer.send(bytes)
      const reason = await bad.session.closed
      assert.ok(['protocol', 'frame_size'].includes(reason.code), reason.code)
      assert.equal((await bad.peer.next(({ kind }) => kind === 0x30)).body.readUInt32BE(4) % 7, 1)
      await good.peer.settle()
      await assert.rejects(bad.session.open(3), { code: reason.code })
    })
})
