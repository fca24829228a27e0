import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { Seal } from '#auth/sign-in/seal.ts'

const key = randomBytes(32)

suite('a seal', () => {
  test('decrypts what it encrypted, for the same purpose only', () => {
    const seal = new Seal(key)
    const text = seal.seal('cookie of a', { user: 'ünï', list: [1, null] }, 1000)
    assert.deepEqual(seal.open('cookie of a', text), { user: 'ünï', list: [1, null] })
    assert.equal(seal.open('cookie of b', text), undefined)
    assert.equal(seal.open('', text), undefined)
  })

  test('consists of characters that are safe in URLs and cookies', () => {
    const seal = new Seal(key)
    for (let at = 0; at < 50; at++) assert.match(seal.seal('p', { at }, 1000), /^[A-Za-z0-9_-]+$/)
  })

  test('is never the same twice', () => {
    const seal = new Seal(key)
    const texts = new Set(Array.from({ length: 200 }, () => seal.seal('p', 'same', 1000)))
    assert.equal(texts.size, 200)
  })

  test('is rejected after its expiry', () => {
    let now = 1_000_000
    const seal = new Seal(key, { now: () => now })
    const text = seal.seal('p', 'value', 5000)
    now += 4999
    assert.deepEqual(seal.openUntil('p', text), { value: 'value', until: 1_005_000 })
    now += 1
    assert.equal(seal.open('p', text), undefined)
  })

  test('is rejected if any bit is changed', () => {
    const seal = new Seal(key)
    const bytes = Buffer.from(seal.seal('p', { role: 'user' }, 1000), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.equal(seal.open('p', changed.toString('base64url')), undefined, `bit ${bit}`)
    }
  })

  test('is rejected if it is truncated or extended', () => {
    const seal = new Seal(key)
    const text = seal.seal('p', { role: 'user' }, 1000)
    for (let length = 0; length < text.length; length++)
      assert.equal(seal.open('p', text.slice(0, length)), undefined)
    assert.equal(seal.open('p', `${text}AAAA`), undefined)
  })

  const strange = [
    '',
    '.',
    '%',
    'null',
    '{}',
    'é',
    '\0',
    ' ',
    'a b',
    'A'.repeat(49),
    'A'.repeat(40_000),
    '=',
    '__proto__',
  ]
  for (const text of strange)
    test(`never throws at ${JSON.stringify(text.slice(0, 20))} of length ${text.length}`, () => {
      assert.equal(new Seal(key).open('p', text), undefined)
    })

  test('is accepted with an older key, and not with an unknown one', () => {
    const older = randomBytes(32)
    const text = new Seal(older).seal('p', 1, 1000)
    assert.equal(new Seal(key, { older: [older] }).open('p', text), 1)
    assert.equal(new Seal(key).open('p', text), undefined)
  })

  test('refuses more than cookies can hold', () => {
    assert.throws(() => new Seal(key).seal('p', 'x'.repeat(40_000), 1000), RangeError)
  })

  test('requires a key of 32 bytes', () => {
    assert.throws(() => new Seal(randomBytes(16)), TypeError)
  })
})
