import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { FIN, frameTypes, putHeader, putWord, SYN } from '#tunnel/frame.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { startGateway, TestAgent } from './support.ts'

const UNKNOWN_TYPE = 77
// Far above what the agent itself has used, and odd as the streams of agents are.
const FIRST_ID = 100_001

function frame(type: number, flags: number, id: number, ...words: number[]): Buffer {
  const bytes = Buffer.alloc(8 + 4 * words.length)
  putHeader(bytes, 0, 4 * words.length, (type << 4) | flags, id)
  words.forEach((word, index) => putWord(bytes, 8 + 4 * index, word))
  return bytes
}

/** What one kind of flood sends as its frames number 0, 1, 2 ... */
const floods: Readonly<Record<string, (count: number) => Buffer>> = {
  'requests without content': count => frame(frameTypes.data, SYN, FIRST_ID + 2 * count, streamTypes.bind),
  'streams of an unknown type': count =>
    frame(frameTypes.data, SYN | FIN, FIRST_ID + 2 * count, UNKNOWN_TYPE),
  'streams without a type': count => frame(frameTypes.data, SYN | FIN, FIRST_ID + 2 * count),
  'streams that are reset at once': count =>
    Buffer.concat([
      frame(frameTypes.data, SYN, FIRST_ID + 2 * count, streamTypes.heartbeat),
      frame(frameTypes.rst, 0, FIRST_ID + 2 * count, 6),
    ]),
  'resets of streams that do not exist': count => frame(frameTypes.rst, 0, FIRST_ID + 2 * count, 6),
  'credit for streams that do not exist': () => frame(frameTypes.wndinc, 0, FIRST_ID, 1),
  'data for streams that do not exist': () => frame(frameTypes.data, 0, FIRST_ID, 1),
  'an unknown frame type': () => frame(9, 0, FIRST_ID, 1),
}

const FRAMES = 20_000

suite('an agent that floods', () => {
  for (const [name, make] of Object.entries(floods))
    test(`with ${name} is disconnected with a reason`, async () => {
      await using gateway = await startGateway()
      const agent = await TestAgent.signIn(gateway, gateway.source.credential().token)
      const bytes = Buffer.concat(Array.from({ length: FRAMES }, (_, count) => make(count)))
      agent.socket.write(bytes)
      const { code, message } = await agent.session.closed
      assert.equal(code, 'remote_gone_away')
      assert.match(message, /^(enhance_your_calm: The peer sent more than|protocol: There is no frame type)/)
      await gateway.listener.drain(0)
      assert.equal(gateway.directory.sessions.size, 0)
    })

  test('does not count frames of which an honest agent sends some', async () => {
    await using gateway = await startGateway()
    const agent = await TestAgent.signIn(gateway, gateway.source.credential().token)
    for (const make of Object.values(floods).slice(1, -1))
      agent.socket.write(Buffer.concat(Array.from({ length: 100 }, (_, count) => make(count))))
    assert.equal((await agent.bind('https', { Domain: 'calm' })).Error, '')
  })
})
