import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Body, BodySink, Framing } from '#gateway/http/body.ts'
import { Allowance, Gathering } from '#gateway/webhooks/gathering.ts'
import { HeldBody } from '#gateway/webhooks/held-body.ts'

/** Content that comes piece by piece, as the test says. */
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

/** Reads, and stops after each piece where told to. */
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

suite('content that is gathered', () => {
  test('is whole, however it was cut into pieces', async () => {
    const content = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251))
    for (const size of [1, 7, 16_384, 100_000]) {
      const coming = new Coming()
      const allowance = new Allowance(1_000_000)
      const gathering = new Gathering(coming, 100_000, allowance)
      const end = gathering.read()
      for (let at = 0; at < content.length; at += size) coming.sink?.data(content.subarray(at, at + size))
      coming.sink?.end('a: b\r\n')
      assert.equal(await end, 'whole')
      assert.ok(gathering.bytes.equals(content))
      assert.equal(gathering.trailers, 'a: b\r\n')
      assert.ok(allowance.left < 1_000_000)
      gathering.release()
      gathering.release()
      assert.equal(allowance.left, 1_000_000)
    }
  })

  test('takes no more memory than its limit and what is there', () => {
    const coming = new Coming({ kind: 'length', length: 5_000_000 })
    const allowance = new Allowance(10_000_000)
    void new Gathering(coming, 6_000_000, allowance).read()
    coming.sink?.data(Buffer.alloc(10))
    assert.ok(10_000_000 - allowance.left < 20_000, 'what is only announced is not believed')
    coming.sink?.data(Buffer.alloc(4_000_000))
    coming.sink?.data(Buffer.alloc(999_990))
    assert.ok(10_000_000 - allowance.left <= 6_000_000)
  })

  test('is given up when it is longer than its limit', async () => {
    const coming = new Coming()
    const allowance = new Allowance(1_000_000)
    const gathering = new Gathering(coming, 1000, allowance)
    const end = gathering.read()
    coming.sink?.data(Buffer.alloc(1000))
    coming.sink?.data(Buffer.alloc(1))
    coming.sink?.data(Buffer.alloc(1))
    assert.equal(await end, 'too_large')
    assert.ok(coming.cancelled)
    gathering.release()
    assert.equal(allowance.left, 1_000_000)
  })

  test('is given up when others have all the memory there is for it', async () => {
    const allowance = new Allowance(30_000)
    const first = new Coming()
    const gathering = new Gathering(first, 100_000, allowance)
    void gathering.read()
    first.sink?.data(Buffer.alloc(20_000))
    const second = new Coming()
    const refused = new Gathering(second, 100_000, allowance)
    const end = refused.read()
    second.sink?.data(Buffer.alloc(20_000))
    assert.equal(await end, 'full')
    assert.ok(second.cancelled)
    refused.release()
    gathering.release()
    assert.equal(allowance.left, 30_000)
  })

  test('is not used when it was cut short', async () => {
    const coming = new Coming()
    const gathering = new Gathering(coming, 1000, new Allowance(100_000))
    const end = gathering.read()
    coming.sink?.data(Buffer.from('half'))
    coming.sink?.fail(new Error('gone'))
    assert.equal(await end, 'cut')
  })
})

suite('content that is passed on', () => {
  const content = Buffer.from('x'.repeat(150_000))
  const chunked: Framing = { kind: 'chunked' }
  const length: Framing = { kind: 'length', length: content.length }

  test('is the same for a reader that wants it without its framing', () => {
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

  test('ends in good order also when there is none', () => {
    const body = new HeldBody(Buffer.alloc(0), chunked, '')
    const reader = new Reader(body)
    body.read(reader, true)
    assert.equal(reader.text, '0\r\n\r\n')
    assert.equal(reader.trailers, '')
  })

  test('waits for a reader that stops it', () => {
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

  test('can be stopped before anybody reads it', () => {
    const body = new HeldBody(Buffer.from('hello'), chunked, '')
    const reader = new Reader(body)
    body.pause()
    body.read(reader, false)
    assert.equal(reader.pieces.length, 0)
    body.resume()
    assert.equal(reader.text, 'hello')
    assert.equal(reader.trailers, '')
  })

  test('ends with nothing when nobody wants the rest', () => {
    const body = new HeldBody(content, length, '')
    const reader = new Reader(body, true)
    body.read(reader, true)
    body.cancel()
    body.resume()
    assert.equal(reader.pieces.length, 1)
    assert.equal(reader.trailers, undefined)
  })
})
