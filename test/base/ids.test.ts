import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { isId, newId, newToken, timestamp } from '#base/ids.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Reads a KSUID independently of how it was written. */
function read(text: string): { seconds: number; payload: bigint } {
  const value = text.split('').reduce((sum, digit) => sum * 62n + BigInt(ALPHABET.indexOf(digit)), 0n)
  return { seconds: Number(value >> 128n), payload: value & ((1n << 128n) - 1n) }
}

suite('ids', () => {
  test('carry the second in which they were made, as KSUIDs do', () => {
    // Later ones first would be held back: ids of a process never decrease.
    const moments = [Date.parse('2025-09-04T10:11:14Z'), Date.parse('2040-01-01T00:00:00.999Z')]
    for (const moment of moments) {
      const id = newId('ipp', moment)
      assert.ok(isId(id))
      const { seconds } = read(id.slice(4))
      assert.equal(timestamp(seconds * 1000 + 1_400_000_000_000), timestamp(moment))
    }
  })

  test('of one process increase strictly, whatever the clock does', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1.6e12, max: 3e12 }), { minLength: 2, maxLength: 50 }),
        moments => {
          const ids = moments.map(moment => newId('x', moment))
          assert.deepEqual(ids, ids.toSorted())
          assert.equal(new Set(ids).size, ids.length)
        },
      ),
    )
  })

  test('and tokens never repeat and use every character', () => {
    const tokens = Array.from({ length: 20_000 }, () => newToken(newId('ak')))
    assert.equal(new Set(tokens).size, tokens.length)
    const secrets = tokens.map(token => String(token.split('_')[1]))
    assert.ok(secrets.every(secret => /^[0-9A-Za-z]{43}$/.test(secret)))
    assert.equal(new Set(secrets.join('')).size, 62)
  })
})
