import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { suite, test } from 'node:test'
import { type FrameSink, Output } from '#http2/output.ts'
import { DATA, DEFAULT_FRAME_SIZE, END_STREAM, FRAME_HEAD } from '#http2/protocol.ts'

/** Copies what is written and completes at once. */
class Written implements FrameSink {
  readonly writableLength = 0
  readonly writes: Buffer[] = []

  write(bytes: Buffer, written: () => void): void {
    this.writes.push(Buffer.from(bytes))
    written()
  }

  end(): void {
    assert.fail('nothing ends here')
  }
}

const FRAME_BYTES = FRAME_HEAD + DEFAULT_FRAME_SIZE

suite('frames of HTTP/2', () => {
  test('of one turn are one write, as much as may wait', async () => {
    const sink = new Written()
    const output = new Output(sink, () => undefined)
    for (let stream = 1; stream <= 15; stream += 2) {
      const content = Buffer.alloc(DEFAULT_FRAME_SIZE, stream)
      output.frame(DATA, 0, stream, content, 0, content.length)
    }
    assert.ok(output.endLast(15), 'the last frame can still end its stream')
    await setImmediate()
    assert.deepEqual(
      sink.writes.map(({ length }) => length),
      [7 * FRAME_BYTES, FRAME_BYTES],
    )
    const all = Buffer.concat(sink.writes)
    for (let at = 0; at < 8; at++) {
      const frame = all.subarray(at * FRAME_BYTES, (at + 1) * FRAME_BYTES)
      assert.equal(frame.readUInt32BE(5), 2 * at + 1)
      assert.equal(frame[4], at === 7 ? END_STREAM : 0)
      assert.deepEqual(frame.subarray(FRAME_HEAD), Buffer.alloc(DEFAULT_FRAME_SIZE, 2 * at + 1))
    }
  })

  test('of different kinds follow each other in one write', async () => {
    const sink = new Written()
    const output = new Output(sink, () => undefined)
    output.windowUpdate(1, 100)
    output.reset(3, 8)
    await setImmediate()
    assert.deepEqual(
      sink.writes.map(bytes => bytes.toString('hex')),
      ['0000040800000000010000006400000403000000000300000008'],
    )
  })
})
