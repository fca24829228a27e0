import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { isPlainObject } from '#base/plain-object.ts'

suite('a parsed JSON value', () => {
  for (const [text, expected] of [
    ['{}', true],
    ['{"a":null}', true],
    ['null', false],
    ['[]', false],
    ['[{}]', false],
    ['"{}"', false],
    ['1', false],
    ['true', false],
  ] as const)
    test(`${text} is ${expected ? 'an object' : 'not an object'}`, () => {
      assert.equal(isPlainObject(JSON.parse(text)), expected)
    })

  test('that is absent is not an object', () => {
    assert.equal(isPlainObject(undefined), false)
  })
})
