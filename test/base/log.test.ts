import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonFault } from '#base/json-fault.ts'
import { errorFields } from '#base/error-fields.ts'
import { createLog } from '#base/log.ts'
import { terminalLine } from '#base/terminal-log.ts'

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

test('a line has the name of its level, and is shorter on a terminal', () => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  log.warn({ ip: '192.0.2.1', host: 'a b\u009b2J', error: new Error('no answer') }, 'request failed')
  const [json = ''] = lines
  assert.match(json, /^\{"level":"warn","time":"\d{4}-\d\d-\d\dT[^"]+Z","ip":"192\.0\.2\.1",/)
  const [line = '', ...stack] = terminalLine(json, false).trimEnd().split('\n')
  assert.match(line, /^\d\d:\d\d:\d\d WRN request failed ip=192\.0\.2\.1 host="a b\\u009b2J" error=\{/)
  assert.ok(line.endsWith(' error={"type":"Error","message":"no answer"}'))
  assert.ok(stack.length > 0 && stack.every(each => /^ +at /.test(each)))
  assert.ok(terminalLine(json, true).includes('\u001b[33mWRN\u001b[39m request failed'))
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
