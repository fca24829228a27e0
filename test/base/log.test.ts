import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonFault } from '#base/json-fault.ts'
import { errorFields } from '#base/error-fields.ts'

test('the log has an error and its causes, but not other properties of it', () => {
  const inner = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', port: 5432, detail: 'a row' })
  const error = Object.assign(new TypeError('no answer', { cause: inner }), { body: { token: 'hush' } })
  const { stack, cause, ...rest } = errorFields(error) as { stack: string; cause: { stack: string } }
  assert.deepEqual(rest, { type: 'TypeError', message: 'no answer' })
  assert.equal(stack.split('\n')[0], 'TypeError: no answer')
  const { stack: _, ...below } = cause
  assert.deepEqual(below, { type: 'Error', message: 'refused', code: 'ECONNREFUSED', port: 5432 })
})

test('the log follows a chain of causes only so far, and takes no cause that is not an error', () => {
  const circle = new Error('circle')
  circle.cause = circle
  assert.equal(JSON.stringify(errorFields(circle)).split('"message"').length, 6)
  assert.ok(!('cause' in (errorFields(new Error('x', { cause: { claims: 'hush' } })) as object)))
  assert.equal(errorFields('words'), 'words')
  assert.equal(errorFields({ token: 'hush' }), 'object')
})

/** The error of reading this as JSON. */
function faultOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    return error
  }
}

test('nothing of a text that is not JSON is logged', () => {
  for (const text of [
    'hush',
    '{"token": hush}',
    '{"a_name_that_is_long": "and a value", "token": hush, "another": 1}',
    '["",,"hush"]',
    '{"a": "b",\n "token":\n hush}',
    '{"token": "hush" hush}',
    '{"token": "hush',
    'hush'.repeat(50),
  ]) {
    const error = faultOf(text)
    assert.ok(error instanceof SyntaxError, text)
    assert.match(jsonFault(error), /^[A-Z][^"]+$/)
    const logged = JSON.stringify(errorFields(new Error('no message', { cause: error })))
    assert.ok(!`${jsonFault(error)} ${logged}`.includes('hus'), logged)
    assert.match(logged, /SyntaxError: .*\\n +at JSON\.parse/)
  }
  assert.equal(jsonFault(new SyntaxError('"hush" is not valid JSON')), 'it is not JSON')
  assert.equal(jsonFault('hush'), 'it is not JSON')
})
