import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { sessionWithPeer, frame, recordStream, uint32 } from './support.ts'

const WINDOW = 262_144
const PROXY = 3

suite('the streams of a session, divided among clients', () => {
  test('are never all of one client, and a newcomer has one at once', async () => {
    const { session } = sessionWithPeer({ role: 'server', maxOpen: 100 })
    const greedy = Array.from({ length: 100 }, () => session.open(PROXY, undefined, { client: 'greedy' }))
    greedy.forEach(opened => opened.catch(() => undefined))
    await Promise.all(greedy.slice(0, 50))
    assert.equal(session.streams, 50)
    await session.open(PROXY, undefined, { client: 'modest' })
    assert.equal(session.streams, 51)
    session.close()
  })

  test('leave room for a newcomer also when twenty clients take what they can', async () => {
    const { session } = sessionWithPeer({ role: 'server', maxOpen: 1000 })
    const clients = Array.from({ length: 20 }, (_, number) => `greedy-${number}`)
    for (let round = 0; round < 60; round++)
      for (const client of clients) void session.open(PROXY, undefined, { client }).catch(() => undefined)
    await new Promise(setImmediate)
    assert.ok(session.streams > 950 && session.streams < 1000, `${session.streams} are open`)
    await Promise.all(
      Array.from({ length: 10 }, (_, number) =>
        session.open(PROXY, undefined, { client: `modest-${number}` }),
      ),
    )
    session.close()
  })

  test('are opened for the one first that has fewest, and in order for each', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server', maxOpen: 2 })
    await session.open(PROXY, undefined, { client: 'a' })
    const own = await session.open(PROXY)
    const order: string[] = []
    const wait = async (client: string, name: string): Promise<void> => {
      const stream = await session.open(PROXY, undefined, { client })
      order.push(name)
      stream.end()
      peer.send(frame(0x11, stream.id))
      recordStream(stream)
    }
    const all = [wait('a', 'a1'), wait('a', 'a2'), wait('b', 'b1'), wait('b', 'b2')]
    own.end()
    peer.send(frame(0x11, own.id))
    recordStream(own)
    await Promise.all(all)
    assert.equal(order[0], 'b1')
    assert.deepEqual(
      order.filter(name => name.startsWith('a')),
      ['a1', 'a2'],
    )
  })

  test('that are kept idle make room for one that is needed', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server', maxOpen: 2 })
    const idle = recordStream(await session.open(PROXY, undefined, { client: 'a' }))
    const kept = await session.open(PROXY, undefined, { client: 'b' })
    kept.rest()
    const used = session.open(PROXY, undefined, { client: 'c' })
    await peer.settle()
    assert.deepEqual(peer.framesOf(4).slice(1), ['11:'])
    assert.equal(peer.framesOf(6).length, 0, 'the agent may have no more than it can take')
    peer.send(frame(0x11, 4))
    await used
    assert.deepEqual([idle.ended, kept.closed, session.streams], [false, true, 2])
  })

  test('that are not read are taken from a client that has many, for one that waits', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server', maxOpen: 3 })
    const unread = await session.open(PROXY, undefined, { client: 'greedy' })
    const quiet = await session.open(PROXY, undefined, { client: 'greedy' })
    const others = await session.open(PROXY, undefined, { client: 'modest' })
    const sink = recordStream(unread)
    unread.pause()
    others.pause()
    peer.send(frame(0x10, unread.id, 'x'), frame(0x10, others.id, 'x'))
    const fresh = session.open(PROXY, undefined, { client: 'late' })
    const error = await sink.whenClosed
    assert.equal((error as { code?: string }).code, 'streams_exhausted')
    peer.send(frame(0x11, unread.id))
    await fresh
    assert.deepEqual([quiet.closed, others.closed], [false, false])
  })

  test('are not taken from a client that has no more than the one that waits would have', async () => {
    const { session } = sessionWithPeer({ role: 'server', maxOpen: 2 })
    await session.open(PROXY, undefined, { client: 'a' })
    await session.open(PROXY, undefined, { client: 'b' })
    const wait = { client: 'c', signal: AbortSignal.timeout(1500) }
    await assert.rejects(session.open(PROXY, undefined, wait), { name: 'TimeoutError' })
  })

  test('wait in a queue in which the client that has most makes room for another', async () => {
    const { session } = sessionWithPeer({ role: 'server', maxOpen: 1, maxWaiting: 10 })
    await session.open(PROXY)
    const greedy = Array.from({ length: 10 }, () => session.open(PROXY, undefined, { client: 'greedy' }))
    greedy.slice(0, 9).forEach(waiting => waiting.catch(() => undefined))
    const signal = AbortSignal.timeout(50)
    const modest = session.open(PROXY, undefined, { client: 'modest', signal })
    await assert.rejects(greedy[9] ?? modest, { code: 'streams_exhausted' })
    await assert.rejects(session.open(PROXY, undefined, { client: 'greedy' }), { code: 'streams_exhausted' })
    await assert.rejects(modest, { name: 'TimeoutError' })
    session.close()
  })

  test('that are given up while the peer waits for credit get some, and are reset when it is used', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const stream = await session.open(PROXY)
    peer.send(frame(0x10, 2, Buffer.alloc(WINDOW)))
    await peer.settle()
    stream.abort()
    await peer.settle()
    assert.deepEqual(peer.framesOf(2).slice(1), ['11:', `20:${uint32(WINDOW).toString('hex')}`])
    peer.send(frame(0x10, 2, Buffer.alloc(WINDOW)))
    await peer.settle()
    assert.equal(peer.framesOf(2).at(-1), '0:00000006')
    assert.equal(session.streams, 0)
  })
})
