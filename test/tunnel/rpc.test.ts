import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  authAnswer,
  authRequest,
  emptyRequest,
  plainAnswer,
  unbindRequest,
  updateRequest,
} from '#tunnel/messages.ts'
import { call, serve, type RpcOptions } from '#tunnel/rpc.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { sessionPair, sessionWithPeer, frame, uint32 } from './support.ts'

/** A gateway that answers Unbind, and what became of each answer. */
function unbinding(
  options?: RpcOptions,
): ReturnType<typeof sessionWithPeer> & { ids: string[]; faults: unknown[] } {
  const ids: string[] = []
  const faults: unknown[] = []
  const handle = async ({ Id }: { Id: string }): Promise<object> => {
    if (Id === 'broken') throw new Error('secret detail')
    ids.push(Id)
    return { Error: '', Extra: null }
  }
  const accept = (_: number, stream: TunnelStream): void =>
    void serve(stream, { request: unbindRequest, handle }, options).catch((error: unknown) =>
      faults.push(error),
    )
  return { ...sessionWithPeer({ role: 'server', accept }), ids, faults }
}

const answerOn = (id: number) => (candidate: { id: number; kind: number }) =>
  candidate.id === id && candidate.kind === 0x11

suite('a remote call', () => {
  test('is answered before the agent has finished, by one object and FIN in one frame', async () => {
    const { session, peer, ids } = unbinding()
    peer.send(frame(0x12, 13, uint32(2)), frame(0x10, 13, '{"Id":"tl_'), frame(0x10, 13, 'probe_4"}\n'))
    const answer = await peer.next(answerOn(13))
    assert.equal(answer.body.toString('hex'), '7b224572726f72223a22222c224578747261223a6e756c6c7d')
    assert.deepEqual(ids, ['tl_probe_4'])
    peer.send(frame(0x11, 13))
    await peer.settle()
    assert.equal(session.streams, 0)
  })

  const broken = {
    'no JSON': 'hello',
    'JSON that is no object': '[1]',
    'truncated and finished': '{"Id":"x',
    'of the wrong type': '{"Id":7}',
    'with a name too long': JSON.stringify({ Id: 'x'.repeat(257) }),
    'larger than the limit': `{"Id":"x","Other":"${'y'.repeat(2000)}"}`,
    'answered by a handler that fails': '{"Id":"broken"}',
  }
  for (const [name, request] of Object.entries(broken))
    test(`that is ${name} is answered with an error, and the session lives`, async () => {
      const { peer, faults } = unbinding({ limit: 1000 })
      peer.send(frame(0x12, 3, uint32(2)), frame(0x11, 3, request))
      const { body } = await peer.next(answerOn(3))
      const { Error: text } = JSON.parse(body.toString()) as { Error: string }
      assert.ok(text !== '' && !text.includes('secret'))
      await peer.settle()
      assert.equal(faults.length, 1)
    })

  test('that does not come in time is answered with an error', async () => {
    const { peer } = unbinding({ deadlineMs: 10 })
    peer.send(frame(0x12, 3, uint32(2)), frame(0x10, 3, '{"Id"'))
    assert.match((await peer.next(answerOn(3))).body.toString(), /10 ms/)
  })

  test('reads braces and quotes inside texts as text, in pieces of any size', async () => {
    const id = 'a"}{\\"]['
    const request = Buffer.from(` ${JSON.stringify({ Other: { List: [[{}], 'ü"'] }, Id: id })}`)
    for (const size of [1, 2, 3, 7, 100]) {
      const { peer, ids } = unbinding()
      peer.send(frame(0x12, 3, uint32(2)))
      for (let at = 0; at < request.length; at += size)
        peer.send(frame(0x10, 3, request.subarray(at, at + size)))
      await peer.next(answerOn(3))
      assert.deepEqual(ids, [id])
    }
  })

  test('of ours sends type and request in one frame, and takes an answer that is not finished', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const request = { Version: '2.0.0', PermitMajorVersion: false }
    const answered = call(session, { type: streamTypes.update, request, answer: plainAnswer })
    const first = await peer.next()
    assert.equal(first.kind, 0x12)
    assert.equal(first.body.subarray(4).toString(), '{"Version":"2.0.0","PermitMajorVersion":false}')
    peer.send(frame(0x10, 2, '{"error":"no'), frame(0x10, 2, 'pe"}'))
    assert.deepEqual(await answered, { Error: 'nope' })
    await peer.next(answerOn(2))
    await peer.next(({ id, kind }) => id === 2 && kind === 0x00)
    assert.equal(session.streams, 0, 'an agent that never finishes is reset')
  })

  test('of ours fails on a timeout, or when the stream ends without a response', async () => {
    const { session, peer } = sessionWithPeer({ role: 'server' })
    const stop = { type: streamTypes.stop, request: {}, answer: plainAnswer }
    await assert.rejects(call(session, stop, { deadlineMs: 5 }), { code: 'write_timeout' })
    const refused = call(session, stop)
    await peer.next(({ id }) => id === 4)
    peer.send(frame(0x11, 4))
    await assert.rejects(refused, { name: 'MessageError' })
    const reset = call(session, stop)
    await peer.next(({ id }) => id === 6)
    peer.send(frame(0x00, 6, uint32(5)))
    await assert.rejects(reset, { code: 'stream_refused' })
  })

  test('passes between both ends of ours', async () => {
    const readers = new Map([
      [streamTypes.auth as number, authRequest],
      [streamTypes.update, updateRequest],
      [streamTypes.restart, emptyRequest],
    ])
    const accept = (type: number, stream: TunnelStream): void => {
      const request = readers.get(type) ?? emptyRequest
      const handle = async (message: object): Promise<object> => ({
        ClientId: JSON.stringify(message).slice(0, 30),
      })
      void serve(stream, { request, handle })
    }
    const { gateway, agent } = sessionPair({ accept }, { accept })
    const auth = { type: streamTypes.auth, request: { version: ['3', '2'] }, answer: authAnswer }
    assert.equal((await call(agent, auth)).ClientId, '{"Version":["3","2"],"ClientId')
    const restart = { type: streamTypes.restart, request: {}, answer: plainAnswer }
    assert.deepEqual(await call(gateway, restart), { Error: '' })
  })
})
