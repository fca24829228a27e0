import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { suite, test } from 'node:test'
import { FrameWriter } from '#tunnel/writer.ts'

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
