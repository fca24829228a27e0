import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { EgressError } from '#base/egress.ts'
import { faultOf, faultOfSignIn, unanswered, unusable, type Fault } from '#events/destinations/failures.ts'

const statuses: Readonly<Record<Fault, readonly number[]>> = {
  event: [400, 413, 422],
  settings: [301, 302, 307, 308, 401, 403, 404, 405, 407, 410, 411, 414, 415, 426, 431, 451],
  passing: [408, 409, 425, 429, 500, 501, 502, 503, 504, 507, 599],
}

suite('the cause of a failed delivery', () => {
  for (const [fault, all] of Object.entries(statuses))
    test(`is ${fault} for ${all.join(', ')}`, () => {
      for (const status of all) assert.equal(faultOf(status), fault, String(status))
    })

  test('is never an event when authentication fails', () => {
    assert.equal(faultOfSignIn(400), 'settings')
    assert.equal(faultOfSignIn(401), 'settings')
    assert.equal(faultOfSignIn(503), 'passing')
  })

  test('is never an event when there is no response', () => {
    for (const [code, misconfigured] of [
      ['forbidden', true],
      ['invalid', true],
      ['unreachable', false],
    ] as const) {
      const error = unanswered('It', new EgressError('no', { code }))
      assert.deepEqual([error.permanent, error.misconfigured], [false, misconfigured], code)
    }
    assert.deepEqual([unusable('no').permanent, unusable('no').misconfigured], [false, true])
  })
})
