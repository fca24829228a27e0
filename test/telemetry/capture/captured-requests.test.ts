import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { Framing } from '#http/body.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import type { CapturedHead, CapturedRequest, CaptureStart } from '#telemetry/capture/captured-request.ts'
import { CapturedRequests } from '#telemetry/capture/captured-requests.ts'

const MEMORY_BYTES = 1_048_576
const BODY_BYTES = 100_000

const head: CapturedHead = {
  method: 'GET',
  target: '/',
  authority: 'shop.test',
  upgrade: '',
  framing: { kind: 'none' },
  fields: Fields.none,
}
const client = {} as HttpClientConnection

const store = (): CapturedRequests =>
  new CapturedRequests({ maxBytes: MEMORY_BYTES, maxBodyBytes: BODY_BYTES })

const begin = (captures: CapturedRequests, start: Partial<CaptureStart> & { id: string }): CapturedRequest =>
  captures.begin({ client, head, ownerId: 'usr_1', ...start })

function whole(captures: CapturedRequests, start: Partial<CaptureStart> & { id: string }): void {
  captures.end(begin(captures, start))
}

/** All that is shown, saved and repeated. */
const read = (captured: CapturedRequest | undefined): object | undefined =>
  captured && {
    id: captured.id,
    ownerId: captured.ownerId,
    client: captured.client,
    replayOf: captured.replayOf,
    withheld: captured.withheld,
    head: { ...captured.head, fields: captured.head.fields.text },
    responseHead: captured.responseHead && {
      ...captured.responseHead,
      fields: captured.responseHead.fields.text,
    },
    isComplete: captured.isComplete,
    bodies: [captured.request, captured.response].map(({ bytes, size, isWhole }) => ({
      bytes: bytes.toString('latin1'),
      size,
      isWhole,
    })),
  }

/** Without NUL, which separates texts and which no HTTP head has. */
const latin1 = fc.string({ unit: fc.integer({ min: 1, max: 255 }).map(code => String.fromCharCode(code)) })
const body = fc.array(
  fc.nat(60_000).map(length => Buffer.alloc(length, length)),
  { maxLength: 3 },
)
const framing: fc.Arbitrary<Framing> = fc.oneof(
  fc.constantFrom<Framing>({ kind: 'none' }, { kind: 'chunked' }, { kind: 'until_close' }),
  fc.maxSafeNat().map((length): Framing => ({ kind: 'length', length })),
)
const fields = latin1.map(text => new Fields(text))
const anyCapture = fc.record({
  replayOf: fc.option(fc.constant('rq_0'), { nil: undefined }),
  withheld: fc.subarray(['cookie', 'authorization']),
  head: fc.record({ method: latin1, target: latin1, authority: latin1, upgrade: latin1, framing, fields }),
  responseHead: fc.option(
    fc.record({ status: fc.integer({ min: 100, max: 999 }), reason: latin1, framing, fields }),
  ),
  request: body,
  response: fc.oneof(latin1, body),
  hasEnded: fc.boolean(),
  isComplete: fc.boolean(),
})

suite('captured requests', () => {
  test('are read back from their page as they were under way', () => {
    fc.assert(
      fc.property(anyCapture, each => {
        const captures = store()
        const captured = begin(captures, { id: 'rq_1', ...each })
        for (const bytes of each.request) captures.add(captured, 'request', bytes)
        if (each.responseHead !== null) captures.respond(captured, each.responseHead)
        if (typeof each.response === 'string') captures.addText(captured, 'response', each.response)
        else for (const bytes of each.response) captures.add(captured, 'response', bytes)
        if (each.hasEnded) captured.request.end()
        captured.isComplete = each.isComplete
        assert.equal(captures.get('rq_1'), captured)
        const before = read(captured)
        captures.end(captured)
        assert.deepEqual(read(captures.get('rq_1')), before)
      }),
    )
  })

  test('are found by their ids, the last ones of each owner', () => {
    const captures = store()
    const waiting = begin(captures, { id: 'rq_0_waiting' })
    whole(captures, { id: 'rq_1', ownerId: 'usr_2' })
    const other = begin(captures, { id: 'rq_10' })
    captures.assign(other, 'usr_2')
    captures.end(other)
    const ids = Array.from({ length: 10_000 }, (_, index) => `rq_2_${index}`)
    for (const id of ids) whole(captures, { id })
    const kept = ids.filter(id => captures.has(id))
    assert.ok(kept.every(id => captures.get(id)?.id === id))
    assert.ok(kept.length > 1000 && kept.length < ids.length, `${kept.length} are kept`)
    assert.deepEqual(kept, ids.slice(-kept.length))
    assert.deepEqual(
      ['rq_1', 'rq_10', 'rq_2', 'rq_1\0'].map(id => captures.get(id)?.ownerId),
      ['usr_2', 'usr_2', undefined, undefined],
    )
    assert.equal(captures.get('rq_0_waiting'), waiting)
    assert.ok(captures.bytes > MEMORY_BYTES / 2 && captures.bytes <= MEMORY_BYTES, `${captures.bytes} bytes`)
  })

  test('that are under way are evicted too when they need all of the memory', () => {
    const captures = store()
    const all = Array.from({ length: 20 }, (_, index) => begin(captures, { id: `rq_${index + 10}` }))
    for (const captured of all) captures.add(captured, 'request', Buffer.alloc(BODY_BYTES))
    const kept = all.filter(({ id }) => captures.has(id))
    assert.ok(kept.length > 5 && captures.bytes <= MEMORY_BYTES, `${kept.length}, ${captures.bytes} bytes`)
    assert.deepEqual(kept, all.slice(-kept.length))
    for (const captured of all) captures.end(captured)
    assert.deepEqual(
      all.map(({ id }) => captures.has(id)),
      all.map(captured => kept.includes(captured)),
    )
  })

  test('hold no memory once they were dropped', () => {
    const captures = store()
    const captured = begin(captures, { id: 'rq_1' })
    captures.add(captured, 'request', Buffer.alloc(1000))
    captures.drop(captured)
    captures.add(captured, 'request', Buffer.alloc(1000))
    captures.end(captured)
    assert.deepEqual([captures.bytes, captures.has('rq_1')], [0, false])
  })

  test('are no objects any more once they have ended', async () => {
    const captures = store()
    const begun = Array.from({ length: 100 }, (_, index) => {
      const captured = begin(captures, { id: `rq_${index}`, head: { ...head } })
      captures.end(captured)
      return [new WeakRef(captured), new WeakRef(captured.head)]
    })
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    // A WeakRef holds its object until the end of the turn that made it.
    await setImmediate()
    collect()
    assert.equal(begun.flat().filter(each => each.deref() !== undefined).length, 0)
    assert.equal(captures.get('rq_7')?.head.authority, 'shop.test')
  })
})
