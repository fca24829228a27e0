import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  callPolicy,
  type CallProgress,
  causeOfClose,
  errorOf,
  type FailureCause,
  failureOf,
} from '#gateway/backends/upstream-policy.ts'
import { testPolicy } from '../../support/policy-table.ts'

/** The action for each event (rows) in each phase (columns). */
const table = `
event    head     peek     body       done
end      fail     decide   endBody    ignore
closed   fail     fail     breakBody  ignore
failure  respond  respond  abort      abort
timeout  respond  respond  wait       wait
`

suite('what a call to a service does', () => {
  testPolicy(callPolicy, table)
})

suite('a connection that is closed', () => {
  const cases: readonly (readonly [...Parameters<typeof causeOfClose>, string])[] = [
    ['head', false, false, 'closed'],
    ['head', false, true, 'lost'],
    ['head', true, false, 'evicted'],
    ['head', true, true, 'evicted'],
    ['peek', false, false, 'lost'],
    ['peek', false, true, 'lost'],
    ['peek', true, false, 'evicted'],
  ]
  for (const [phase, isEvicted, isSessionLost, cause] of cases)
    test(`in phase ${phase}, evicted ${isEvicted}, link lost ${isSessionLost}: ${cause}`, () =>
      assert.equal(causeOfClose(phase, isEvicted, isSessionLost), cause))
})

const silent: CallProgress = {
  viaAgent: true,
  isRetried: false,
  isSilent: true,
  hasInterim: false,
  isBodyTouched: false,
}
/** How far calls have come when they fail, in the order of the columns below. */
const progress: readonly CallProgress[] = [
  silent,
  { ...silent, isRetried: true },
  { ...silent, isBodyTouched: true },
  { ...silent, isSilent: false },
  { ...silent, isSilent: false, hasInterim: true },
]
const failures: readonly (readonly [FailureCause, string])[] = [
  //             silent       retried      body touched bytes        interim
  ['undialled', 'not-sent     no-response  no-response  not-sent     not-sent'],
  ['unreachable', 'not-sent   no-response  no-response  not-sent     not-sent'],
  ['closed', 'no-response     no-response  no-response  -            -'],
  ['lost', 'no-response       no-response  no-response  no-response  -'],
  ['evicted', '-              -            -            -            -'],
  ['invalid', '-              -            -            -            -'],
  ['timeout', '-              -            -            -            -'],
  ['abandoned', '-            -            -            -            -'],
]

suite('a call that fails', () => {
  for (const [cause, expected] of failures)
    test(`allows another service or not: ${cause}`, () =>
      assert.deepEqual(
        progress.map(each => failureOf(cause, each) ?? '-'),
        expected.split(/ +/),
      ))

  test('is not sent only if nothing was sent before', () => {
    for (const [cause] of failures)
      for (const each of progress)
        if (each.isRetried || each.isBodyTouched) assert.notEqual(failureOf(cause, each), 'not-sent')
  })

  test('has the error of its cause', () => {
    const codes = (
      ['unreachable', 'closed', 'lost', 'evicted', 'invalid', 'timeout', 'abandoned'] as const
    ).map(cause => errorOf(cause, silent))
    assert.deepEqual(codes, [
      'upstream_unreachable',
      'upstream_closed',
      'agent_gone',
      'agent_busy',
      'upstream_invalid',
      'upstream_timeout',
      'upstream_closed',
    ])
  })

  test('is unreachable if an agent closes a second connection at once', () => {
    const again = { ...silent, isRetried: true }
    assert.equal(errorOf('closed', again), 'upstream_unreachable')
    assert.equal(errorOf('closed', { ...again, viaAgent: false }), 'upstream_closed')
    assert.equal(errorOf('closed', { ...again, isSilent: false }), 'upstream_closed')
    assert.equal(errorOf('timeout', again), 'upstream_timeout')
  })
})
