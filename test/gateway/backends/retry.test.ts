import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { canRetry, type FailedAttempt } from '#gateway/backends/retry.ts'
import type { Framing } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'

const head = (method: string, framing: Framing): RequestHead => ({
  method,
  target: '/',
  path: '/',
  host: 'app.test',
  authority: 'app.test',
  version: '1.1',
  keepAlive: true,
  upgrade: '',
  expectsContinue: false,
  framing,
  fields: new Fields(''),
})

const idempotent = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']
const others = ['POST', 'PATCH', 'CONNECT', 'TRACE', 'get', 'PROPFIND']
const empty: readonly Framing[] = [{ kind: 'none' }, { kind: 'length', length: 0 }]
const full: readonly Framing[] = [{ kind: 'length', length: 1 }, { kind: 'chunked' }]
const bools = [false, true]

/** All combinations of what is known about a failed attempt. */
const attempts: readonly FailedAttempt[] = bools.flatMap(isSent =>
  bools.flatMap(isBodyRead =>
    bools.flatMap(hasResponse =>
      bools.flatMap(mayResend =>
        [0, 1, 2].map(attemptsLeft => ({ isSent, isBodyRead, hasResponse, mayResend, attemptsLeft })),
      ),
    ),
  ),
)

const safe: FailedAttempt = {
  isSent: false,
  isBodyRead: false,
  hasResponse: false,
  mayResend: true,
  attemptsLeft: 1,
}

/** What is different from a safe attempt, and whether it is retried: GET, GET with a body, POST, POST with a body. */
const table: readonly (readonly [string, Partial<FailedAttempt>, string])[] = [
  ['not sent', {}, 'yes yes yes yes'],
  ['not sent, body read', { isBodyRead: true }, 'yes no  yes no'],
  ['not sent, may not be sent twice', { mayResend: false }, 'yes yes yes yes'],
  ['sent', { isSent: true }, 'yes yes no  no'],
  ['sent, body read', { isSent: true, isBodyRead: true }, 'yes no  no  no'],
  ['sent, may not be sent twice', { isSent: true, mayResend: false }, 'no  no  no  no'],
  ['response begun', { hasResponse: true }, 'no  no  no  no'],
  ['sent, response begun', { isSent: true, hasResponse: true }, 'no  no  no  no'],
  ['no attempts left', { attemptsLeft: 0 }, 'no  no  no  no'],
]

suite('a retry', () => {
  for (const [name, differs, expected] of table)
    test(`is decided by the method and the body: ${name}`, () => {
      const attempt = { ...safe, ...differs }
      const [get = [], getFull = [], post = [], postFull = []] = [idempotent, others].flatMap(methods =>
        [empty, full].map(framings =>
          methods.flatMap(method => framings.map(framing => canRetry(head(method, framing), attempt))),
        ),
      )
      const decided = [get, getFull, post, postFull].map(all => (all[0] === true ? 'yes' : 'no'))
      for (const all of [get, getFull, post, postFull]) assert.equal(new Set(all).size, 1)
      assert.deepEqual(decided, expected.split(/ +/))
    })

  test('never sends a request twice unless its method allows that and the caller does', () => {
    for (const attempt of attempts)
      for (const method of [...idempotent, ...others])
        if (attempt.isSent && canRetry(head(method, { kind: 'none' }), attempt))
          assert.ok(attempt.mayResend && idempotent.includes(method), method)
  })

  test('never follows a response or the last attempt, and never replays a body that was read', () => {
    for (const attempt of attempts)
      for (const framing of [...empty, ...full]) {
        if (!canRetry(head('GET', framing), attempt)) continue
        assert.ok(!attempt.hasResponse && attempt.attemptsLeft > 0)
        assert.ok(!attempt.isBodyRead || empty.includes(framing))
      }
  })
})
