import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Party } from '#base/shared-budget.ts'
import type { Body, BodySink, Framing } from '#http/body.ts'
import { TimeoutChecker } from '#http/timeout-checker.ts'
import { MemoryBudget } from '#webhooks/memory-budget.ts'
import { BufferedBody } from '#webhooks/buffered-body.ts'
import { HeldBody } from '#webhooks/held-body.ts'

/** A body that arrives in pieces, as the test sets. */
class Coming implements Body {
  readonly framing: Framing
  sink: BodySink | undefined
  cancelled = false

  constructor(framing: Framing = { kind: 'chunked' }) {
    this.framing = framing
  }

  read(sink: BodySink): void {
    this.sink = sink
  }

  pause(): void {
    throw new Error('what is gathered is never stopped')
  }

  resume(): void {
    throw new Error('what is gathered is never stopped')
  }

  cancel(): void {
    this.cancelled = true
  }
}

const party: Party = { endpoint: 'a', client: '192.0.2.1' }

/** Reads, and stops after each chunk if requested. */
class Reader implements BodySink {
  readonly pieces: Buffer[] = []
  trailers: string | undefined
  readonly #body: Body
  readonly #stops: boolean

  constructor(body: Body, stops = false) {
    this.#body = body
    this.#stops = stops
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString('latin1')
  }

  data(bytes: Buffer): void {
    assert.equal(this.trailers, undefined, 'nothing comes behind the end')
    this.pieces.push(Buffer.from(bytes))
    if (this.#stops) this.#body.pause()
  }

  end(trailers: string): void {
    assert.equal(this.trailers, undefined, 'the end comes once')
    this.trailers = trailers
  }

  fail(): void {
    assert.fail('it is whole')
  }
}

suite('buffered content', () => {
  test('is complete, however it was split', async () => {
    const content = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251))
    for (const size of [1, 7, 16_384, 100_000]) {
      const coming = new Coming()
      const budget = new MemoryBudget(1_000_000)
      const buffered = new BufferedBody(coming, { limit: 100_000, budget, party })
      const end = buffered.read()
      for (let at = 0; at < content.length; at += size) coming.sink?.data(content.subarray(at, at + size))
      coming.sink?.end('a: b\r\n')
      assert.equal(await end, 'whole')
      assert.ok(buffered.bytes.equals(content))
      assert.equal(buffered.trailers, 'a: b\r\n')
      assert.ok(budget.left < 1_000_000)
      buffered.release()
      buffered.release()
      assert.equal(budget.left, 1_000_000)
    }
  })

  test('uses no more memory than its limit and its length', () => {
    const coming = new Coming({ kind: 'length', length: 5_000_000 })
    const budget = new MemoryBudget(100_000_000)
    void new BufferedBody(coming, { limit: 6_000_000, budget, party }).read()
    coming.sink?.data(Buffer.alloc(10))
    assert.ok(100_000_000 - budget.left < 20_000, 'what is only announced is not believed')
    coming.sink?.data(Buffer.alloc(4_000_000))
    coming.sink?.data(Buffer.alloc(999_990))
    assert.ok(100_000_000 - budget.left <= 6_000_000)
  })

  test('is rejected when it is longer than its limit', async () => {
    const coming = new Coming()
    const budget = new MemoryBudget(1_000_000)
    const buffered = new BufferedBody(coming, { limit: 1000, budget, party })
    const end = buffered.read()
    coming.sink?.data(Buffer.alloc(1000))
    coming.sink?.data(Buffer.alloc(1))
    coming.sink?.data(Buffer.alloc(1))
    assert.equal(await end, 'too_large')
    assert.ok(coming.cancelled)
    buffered.release()
    assert.equal(budget.left, 1_000_000)
  })

  test('is rejected when others use the whole memory budget', async () => {
    const budget = new MemoryBudget(30_000)
    const first = new Coming()
    const buffered = new BufferedBody(first, { limit: 100_000, budget, party })
    void buffered.read()
    first.sink?.data(Buffer.alloc(20_000))
    const second = new Coming()
    const refused = new BufferedBody(second, {
      limit: 100_000,
      budget,
      party: { endpoint: 'b', client: '192.0.2.2' },
    })
    const end = refused.read()
    second.sink?.data(Buffer.alloc(20_000))
    assert.equal(await end, 'full')
    assert.ok(second.cancelled)
    refused.release()
    buffered.release()
    assert.equal(budget.left, 30_000)
  })

  test('is not used when it was truncated', async () => {
    const coming = new Coming()
    const buffered = new BufferedBody(coming, { limit: 1000, budget: new MemoryBudget(100_000), party })
    const end = buffered.read()
    coming.sink?.data(Buffer.from('half'))
    coming.sink?.fail(new Error('gone'))
    assert.equal(await end, 'cut')
  })
})

/** Content of which so much has come, from one address to one endpoint. */
function gathered(budget: MemoryBudget, of: Party, bytes: number, timeouts?: TimeoutChecker, limit = bytes) {
  const coming = new Coming()
  const buffered = new BufferedBody(coming, { limit, budget, party: of, ...(timeouts && { timeouts }) })
  const end = buffered.read()
  coming.sink?.data(Buffer.alloc(bytes))
  return { coming, gathering: buffered, end }
}

const tenth = Buffer.alloc(10_000)

suite('the memory for buffered content', () => {
  const other: Party = { endpoint: 'b', client: '192.0.2.2' }

  test('is never all of one address, one endpoint, or of many, and others are accepted', async () => {
    const budget = new MemoryBudget(100 * tenth.length)
    const ends: string[] = []
    const fill = (of: Party): number => {
      let count = 0
      for (const before = ends.length; ends.length === before && count < 100; count++) {
        const { gathering: buffered, end } = gathered(budget, of, tenth.length)
        void end.then(ended => ends.push(ended))
        if (buffered.taken === 0) break
      }
      return count
    }
    assert.equal(fill({ endpoint: 'a', client: '192.0.2.1' }), 25)
    const more = Array.from({ length: 20 }, (_, number) =>
      fill({ endpoint: 'a', client: `198.51.100.${number}` }),
    )
    assert.ok(budget.left >= 45 * tenth.length, `an endpoint has all but ${budget.left}; ${more.join()}`)
    const { coming, end } = gathered(budget, other, tenth.length)
    coming.sink?.end('')
    assert.equal(await end, 'whole')
  })

  test('is taken from the largest stalled body of the same endpoint', async () => {
    const timeouts = new TimeoutChecker(100_000)
    const budget = new MemoryBudget(2.5 * tenth.length)
    const small = gathered(budget, { endpoint: 'a', client: '192.0.2.1' }, 100, timeouts)
    const large = gathered(budget, { endpoint: 'a', client: '192.0.2.3' }, tenth.length, timeouts)
    for (const later of [1500, 3000]) {
      small.gathering.checkTimeouts(performance.now() + later)
      large.gathering.checkTimeouts(performance.now() + later)
    }
    const honest = gathered(budget, { endpoint: 'a', client: '192.0.2.4' }, tenth.length, timeouts)
    honest.coming.sink?.end('')
    assert.equal(await large.end, 'slow')
    assert.equal(await honest.end, 'whole')
    assert.equal(small.gathering.isSlow, true)
    assert.ok(large.coming.cancelled)
    timeouts.delete(small.gathering)
  })

  test('is released by content that is too slow for ten seconds, and not before', async () => {
    const timeouts = new TimeoutChecker(100_000)
    const budget = new MemoryBudget(4 * tenth.length)
    const { coming, gathering: buffered, end } = gathered(budget, party, 100, timeouts, 20_000)
    // Whole milliseconds: sums of fractions are rounded, and a second of 999.999… ms is not looked at.
    let now = Math.ceil(performance.now())
    for (let second = 0; second < 20; second++) {
      coming.sink?.data(Buffer.alloc(second < 10 ? 1100 : 1))
      buffered.checkTimeouts((now += 1000))
    }
    assert.equal(await end, 'slow')
    assert.equal(budget.left, 4 * tenth.length)
  })
})

suite('forwarded content', () => {
  const content = Buffer.from('x'.repeat(150_000))
  const chunked: Framing = { kind: 'chunked' }
  const length: Framing = { kind: 'length', length: content.length }

  test('is the same for a reader that reads it without its framing', () => {
    for (const framing of [chunked, length]) {
      const body = new HeldBody(content, framing, 'a: b\r\n')
      const reader = new Reader(body)
      body.read(reader, false)
      assert.equal(reader.text, content.toString())
      assert.equal(reader.trailers, 'a: b\r\n')
      assert.equal(body.framing, framing)
    }
  })

  test('has chunk sizes and trailers where they belong to the bytes', () => {
    const body = new HeldBody(Buffer.from('hello'), chunked, 'a: b\r\n')
    const reader = new Reader(body)
    body.read(reader, true)
    assert.equal(reader.text, '5\r\nhello\r\n0\r\na: b\r\n\r\n')
    assert.equal(reader.trailers, '')
    const plain = new HeldBody(Buffer.from('hello'), { kind: 'length', length: 5 }, '')
    const other = new Reader(plain)
    plain.read(other, true)
    assert.equal(other.text, 'hello')
  })

  test('ends correctly also when it is empty', () => {
    const body = new HeldBody(Buffer.alloc(0), chunked, '')
    const reader = new Reader(body)
    body.read(reader, true)
    assert.equal(reader.text, '0\r\n\r\n')
    assert.equal(reader.trailers, '')
  })

  test('is paused by its reader', () => {
    for (const raw of [true, false]) {
      const body = new HeldBody(content, length, '')
      const reader = new Reader(body, true)
      body.read(reader, raw)
      for (let pieces = 1; pieces <= 3; pieces++) {
        assert.equal(reader.pieces.length, pieces)
        assert.equal(reader.trailers, undefined)
        body.resume()
      }
      assert.equal(reader.text, content.toString())
      assert.equal(reader.trailers, '')
      body.resume()
    }
  })

  test('can be cancelled before it is read', () => {
    const body = new HeldBody(Buffer.from('hello'), chunked, '')
    const reader = new Reader(body)
    body.pause()
    body.read(reader, false)
    assert.equal(reader.pieces.length, 0)
    body.resume()
    assert.equal(reader.text, 'hello')
    assert.equal(reader.trailers, '')
  })

  test('ends when the rest is not needed', () => {
    const body = new HeldBody(content, length, '')
    const reader = new Reader(body, true)
    body.read(reader, true)
    body.cancel()
    body.resume()
    assert.equal(reader.pieces.length, 1)
    assert.equal(reader.trailers, undefined)
  })
})
