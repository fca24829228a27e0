import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { suite, test } from 'node:test'
import { FrameWriter } from '#tunnel/writer.ts'
import { tlsPair } from './socket-pairs.ts'
import { Peer } from './support.ts'

/** The memory behind each chunk that the frames of a turn are written in. */
function memoryOf(): { readonly writer: FrameWriter; readonly turn: () => Promise<readonly number[]> } {
  let chunks: Buffer[] = []
  const socket = new Duplex({
    write: (chunk: Buffer, _, done) => {
      chunks.push(chunk)
      done()
    },
  })
  const nothing = (): void => undefined
  const writer = new FrameWriter(socket, nothing, nothing)
  return {
    writer,
    turn: async () => {
      await new Promise(setImmediate)
      const written = chunks
      chunks = []
      return written.map(({ buffer }) => buffer.byteLength)
    },
  }
}

suite('the memory that a session writes from', () => {
  test('is small for a heartbeat', async () => {
    const { writer, turn } = memoryOf()
    writer.data(3, 0, Buffer.alloc(4), false)
    assert.deepEqual(await turn(), [4096])
  })

  test('is that of many frames for a session that has sent many', async () => {
    const { writer, turn } = memoryOf()
    for (let frame = 0; frame < 3; frame++) writer.data(3, 0, Buffer.alloc(2000), false)
    assert.deepEqual(await turn(), [4096, 65_536])
    writer.data(3, 0, Buffer.alloc(4), false)
    assert.deepEqual(await turn(), [65_536])
  })
})

suite('the frames of one turn', () => {
  test('are one piece for a TLS socket, also large ones', async context => {
    const { accepted, outgoing } = await tlsPair()
    const nothing = (): void => undefined
    const writer = new FrameWriter(outgoing, nothing, nothing)
    const peer = new Peer(accepted)
    const write = context.mock.method(outgoing, 'write')
    const bodies = [2, 4, 6].map(id => Buffer.alloc(65_536, id))
    for (const body of bodies) writer.data(body[0] ?? 0, 1, body, false)
    await peer.next(({ id }) => id === 6)
    const sizes = write.mock.calls.map(({ arguments: [bytes] }) => bytes.length)
    assert.deepEqual(sizes, [3 * (8 + 65_536)])
    assert.deepEqual(
      peer.frames.map(({ body }) => body),
      bodies,
    )
    outgoing.destroy()
  })
})
