import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Registry } from '#base/metrics.ts'
import { Fields } from '#http/fields.ts'
import { Sampler, type SamplerOptions } from '#telemetry/tracing/sampler.ts'
import { fieldsWithin, flagsAfter, parentIn, type TraceParent } from '#telemetry/tracing/trace-context.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const fieldsOf = (...values: readonly string[]): Fields =>
  new Fields(values.map(value => `Traceparent: ${value}\r\n`).join(''))
const parsed = (text: string): TraceParent | undefined => parentIn(fieldsOf(text))

suite('the traceparent of a request', () => {
  test('names a trace, a span in it and whether it is sampled', () => {
    assert.deepEqual(parsed(`00-${TRACE}-${SPAN}-01`), { traceId: TRACE, spanId: SPAN, flags: 1 })
    assert.deepEqual(parsed(`00-${TRACE}-${SPAN}-fa`)?.flags, 0xfa)
  })

  test('of a later version is understood as far as this one goes', () => {
    assert.deepEqual(parsed(`cc-${TRACE}-${SPAN}-01-what-comes-later`)?.spanId, SPAN)
    assert.deepEqual(parsed(`cc-${TRACE}-${SPAN}-01`)?.spanId, SPAN)
    assert.equal(parsed(`cc-${TRACE}-${SPAN}-01.later`), undefined)
  })

  const invalid = {
    'is empty': '',
    'is of the version that is none': `ff-${TRACE}-${SPAN}-01`,
    'has a trace of zeros': `00-${'0'.repeat(32)}-${SPAN}-01`,
    'has a span of zeros': `00-${TRACE}-${'0'.repeat(16)}-01`,
    'is in upper case': `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    'has no flags': `00-${TRACE}-${SPAN}`,
    'has more than its version knows': `00-${TRACE}-${SPAN}-01-00`,
    'ends in a dash': `00-${TRACE}-${SPAN}-01-`,
    'is too short': `00-${TRACE.slice(1)}-${SPAN}-01`,
    'has other letters': `00-${TRACE.slice(1)}g-${SPAN}-01`,
    'has another separator': `00_${TRACE}_${SPAN}_01`,
  }
  for (const [what, text] of Object.entries(invalid))
    test(`counts as none when it ${what}`, () => assert.equal(parsed(text), undefined))

  test('counts as none when there are two', () => {
    const one = `00-${TRACE}-${SPAN}-01`
    assert.equal(parentIn(fieldsOf(one, one)), undefined)
    assert.equal(parentIn(Fields.none), undefined)
  })

  test('is replaced by our own, and a tracestate stays only with its parent', () => {
    const parent = { traceId: TRACE, spanId: SPAN, flags: 0xff }
    const own = { traceId: TRACE, spanId: '1111111111111111', flags: flagsAfter(parent) }
    const fields = new Fields(`A: 1\r\nTraceParent: x\r\nTRACESTATE: a=b\r\nBaggage: c=d\r\n`)
    const line = `traceparent: 00-${TRACE}-1111111111111111-03\r\n`
    assert.equal(fieldsWithin(fields, own, parent).text, `A: 1\r\nTRACESTATE: a=b\r\nBaggage: c=d\r\n${line}`)
    assert.equal(fieldsWithin(fields, own, undefined).text, `A: 1\r\nBaggage: c=d\r\n${line}`)
    assert.equal(flagsAfter(undefined), 1)
  })
})

suite('the sampler', () => {
  const parent = (flags: number): TraceParent => ({ traceId: TRACE, spanId: SPAN, flags })

  function sampler(options: Partial<SamplerOptions> = {}) {
    const registry = new Registry()
    const recorded = registry.counter('recorded', '')
    const limited = registry.counter('limited', '')
    const made = new Sampler({ share: 0, recorded, limited, ...options })
    const taken = (count: number, of?: TraceParent): number =>
      Array.from({ length: count }, () => made.takes(of)).filter(Boolean).length
    return { taken, counts: () => [recorded.read().value, limited.read().value] }
  }

  test('decides as the sender of the request did', () => {
    const { taken } = sampler({ share: 1 })
    assert.equal(taken(1, parent(0x01)), 1)
    assert.equal(taken(1, parent(0x03)), 1)
    assert.equal(taken(50, parent(0x00)), 0)
    assert.equal(taken(50, parent(0x02)), 0)
    assert.equal(sampler({ share: 0 }).taken(1, parent(0x01)), 1)
  })

  test('takes its share of requests that are part of no trace', () => {
    assert.equal(sampler({ share: 0, random: () => 0 }).taken(10), 0)
    assert.equal(sampler({ share: 1, random: () => 0.999_999 }).taken(10), 10)
    const drawn = [0.1, 0.3, 0.24, 0.25]
    assert.equal(sampler({ share: 0.25, random: () => drawn.pop() ?? 1 }).taken(4), 2)
  })

  test('bounds what clients can request, counts what is left out, and keeps its own share from them', () => {
    let now = 0
    const { taken, counts } = sampler({ share: 1, now: () => now })
    assert.equal(taken(1000, parent(1)), 100)
    assert.deepEqual(counts(), [100, 900])
    assert.equal(taken(10), 10)
    now += 500
    assert.equal(taken(1000, parent(1)), 50)
    now += 3_600_000
    assert.equal(taken(1000, parent(1)), 100)
    assert.equal(taken(10_000), 500)
  })
})
