import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { jsonBoundsFault } from '#base/json-bounds.ts'
import { JsonCollector } from '#tunnel/json-value.ts'

const wrong: Readonly<Record<string, string>> = {
  lists: `{"a":[${'[],'.repeat(10_000)}[]]}`,
  numbers: `{"a":[${'0,'.repeat(10_000)}0]}`,
  keys: `{${Array.from({ length: 6000 }, (_, at) => `"${at}":0`).join()}}`,
  levels: `{"a":${'['.repeat(40)}${']'.repeat(40)}}`,
}
const fine: Readonly<Record<string, string>> = {
  'signs in texts': JSON.stringify({ a: '[{,:"\\'.repeat(20_000) }),
  'many values': `{"a":[${'0,'.repeat(4500)}0]}`,
}

suite('the bounds of JSON', () => {
  for (const [what, text] of Object.entries(wrong))
    test(`reject too many ${what}`, () => {
      assert.match(jsonBoundsFault(text) ?? '', /more than 5000 values|deeper than 32 levels/)
      assert.throws(() => new JsonCollector(1_000_000).push(Buffer.from(text)), { name: 'MessageError' })
    })

  for (const [what, text] of Object.entries(fine))
    test(`allow ${what}`, () => {
      assert.equal(jsonBoundsFault(text), undefined)
      assert.deepEqual(new JsonCollector(1_000_000).push(Buffer.from(text)), JSON.parse(text))
    })

  test('find the end of an object in chunks of any size', () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', ',', 'é', 'a') })
    fc.assert(
      fc.property(fc.dictionary(text, text), fc.nat({ max: 8 }), (value, size) => {
        const bytes = Buffer.from(` ${JSON.stringify(value)}\n{}`)
        const collector = new JsonCollector(bytes.length)
        let found: unknown
        for (let at = 0; found === undefined && at < bytes.length; at += size + 1) {
          assert.equal(collector.push(Buffer.alloc(0)), undefined)
          found = collector.push(bytes.subarray(at, at + size + 1))
        }
        assert.deepEqual(found, JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})
