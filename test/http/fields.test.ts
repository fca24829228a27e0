import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Fields } from '#http/fields.ts'

suite('what is made of fields', () => {
  /** A function that counts its calls. */
  const counting = () => {
    const calls: string[] = []
    return Object.assign((fields: Fields) => calls.push(fields.text), { calls })
  }

  test('is made once for each function', () => {
    const fields = new Fields('a: 1\r\n')
    const [one, other] = [counting(), counting()]
    for (let at = 0; at < 3; at++) assert.deepEqual([fields.made(one), fields.made(other)], [1, 1])
  })

  test('is not that of other fields with the same text', () => {
    const one = counting()
    assert.deepEqual([new Fields('a: 1\r\n').made(one), new Fields('a: 1\r\n').made(one)], [1, 2])
  })

  test('is kept for a few functions only', () => {
    const fields = new Fields('a: 1\r\n')
    const all = Array.from({ length: 1000 }, counting)
    for (const make of all) fields.made(make)
    assert.ok(all.filter(make => (fields.made(make), make.calls.length === 1)).length < 10)
  })

  test('is not kept for long ones, which are not repeated', () => {
    const fields = new Fields(`a: ${'x'.repeat(4000)}\r\n`)
    const one = counting()
    assert.deepEqual([fields.made(one), fields.made(one)], [1, 2])
  })
})
