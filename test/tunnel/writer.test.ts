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

  test('begin to leave before it ends when they are many', async context => {
    const { accepted, outgoing } = await tlsPair()
    context.after(() => outgoing.destroy())
    const nothing = (): void => undefined
    const writer = new FrameWriter(outgoing, nothing, nothing)
    const peer = new Peer(accepted)
    const write = context.mock.method(outgoing, 'write')
    const sizes = () => write.mock.calls.map(({ arguments: [bytes] }) => bytes.length)
    for (let id = 1; id <= 40; id++) writer.data(id, 0, Buffer.alloc(4, id), false)
    assert.deepEqual(sizes(), [24 * 12], 'the first part')
    await new Promise(setImmediate)
    assert.deepEqual(sizes(), [24 * 12, 16 * 12], 'the rest, when the turn ends')
    for (let id = 41; id <= 63; id++) writer.text(id, 0, 'text')
    await peer.next(({ id }) => id === 63)
    assert.deepEqual(sizes(), [24 * 12, 16 * 12, 23 * 12], 'a turn of few frames')
    assert.deepEqual(
      peer.frames.map(({ id }) => id),
      Array.from({ length: 63 }, (_, index) => index + 1),
    )
  })

  test('are one piece while earlier ones wait for the socket', async () => {
    const written: number[] = []
    let finish: () => void = () => undefined
    const socket = new Duplex({
      write: (chunk: Buffer, _, done) => {
        written.push(chunk.length)
        finish = done
      },
    })
    const nothing = (): void => undefined
    const writer = new FrameWriter(socket, nothing, nothing)
    writer.data(2, 0, Buffer.alloc(4), false)
    await new Promise(setImmediate)
    for (let frame = 0; frame < 40; frame++) writer.data(2, 0, Buffer.alloc(4), false)
    await new Promise(setImmediate)
    finish()
    assert.deepEqual(written, [12, 40 * 12])
  })

  test('that a stream adds at its end leave with the others', async () => {
    const written: number[] = []
    const socket = new Duplex({
      write: (chunk: Buffer, _, done) => {
        written.push(chunk.length)
        done()
      },
    })
    let waiting = 40
    const writer: FrameWriter = new FrameWriter(
      socket,
      () => {
        for (; waiting > 0; waiting--) writer.data(2, 0, Buffer.alloc(4), false)
      },
      () => undefined,
    )
    writer.schedule()
    await new Promise(setImmediate)
    assert.deepEqual(written, [40 * 12])
  })
})
