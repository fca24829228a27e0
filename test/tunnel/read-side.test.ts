import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Sink } from '#tunnel/byte-stream.ts'
import { ReadSide } from '#tunnel/read-side.ts'

suite('the read side of a byte stream', () => {
  /** A reader that records its input, and may react to it. */
  const reader = (react: (text: string) => void = () => undefined) => {
    const seen: string[] = []
    const sink: Sink = {
      data(bytes) {
        seen.push(bytes.toString())
        react(bytes.toString())
      },
      end: () => undefined,
      closed: () => undefined,
    }
    return { seen, sink }
  }
  const holding = (...pieces: readonly string[]): ReadSide => {
    const side = new ReadSide()
    for (const piece of pieces.toReversed()) side.held.unshift(Buffer.from(piece))
    return side
  }
  const quiet = (): void => undefined

  test('flows while its reader is there, is not paused, and nothing waits', () => {
    const side = new ReadSide()
    assert.equal(side.isFlowing, false)
    side.sink = reader().sink
    assert.equal(side.isFlowing, true)
    side.paused = true
    assert.equal(side.isFlowing, false)
    side.paused = false
    side.held.push(Buffer.from('waiting'))
    assert.equal(side.isFlowing, false)
  })

  test('delivers what waits in order, and announces each piece', () => {
    const side = holding('one', 'three')
    const { seen, sink } = reader()
    side.sink = sink
    const lengths: number[] = []
    assert.equal(
      side.deliver(length => lengths.push(length)),
      true,
    )
    assert.deepEqual(
      [seen, lengths],
      [
        ['one', 'three'],
        [3, 5],
      ],
    )
    assert.equal(side.held.length, 0)
  })

  test('keeps the rest when the reader pauses', () => {
    const side = holding('one', 'two')
    const { seen, sink } = reader(() => (side.paused = true))
    side.sink = sink
    side.deliver(quiet)
    assert.deepEqual([seen, side.held.length], [['one'], 3])
    side.paused = false
    side.deliver(quiet)
    assert.deepEqual(seen, ['one', 'two'])
  })

  test('keeps the rest for the next reader', () => {
    const side = holding('one', 'two')
    const first = reader(() => assert.equal(side.release(), first.sink))
    side.sink = first.sink
    side.deliver(quiet)
    const second = reader()
    side.sink = second.sink
    side.deliver(quiet)
    assert.deepEqual([first.seen, second.seen], [['one'], ['two']])
    assert.equal(side.release(), second.sink)
    assert.equal(side.release(), undefined)
  })

  test('gives a reader nothing more before it returns', () => {
    const side = holding('one', 'two')
    const { seen, sink } = reader(text => {
      if (text === 'two') return
      assert.equal(side.isFlowing, false)
      assert.equal(side.deliver(quiet), false)
      assert.deepEqual(seen, ['one'])
    })
    side.sink = sink
    side.deliver(quiet)
    assert.deepEqual(seen, ['one', 'two'])
  })

  test('passes new bytes on, of which the reader may put back some', () => {
    const side = new ReadSide()
    const { seen, sink } = reader(text => {
      if (text === 'onetwo') side.held.unshift(Buffer.from('two'))
    })
    side.sink = sink
    side.pass(Buffer.from('onetwo'))
    side.deliver(quiet)
    assert.deepEqual(seen, ['onetwo', 'two'])
  })
})
