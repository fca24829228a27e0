import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { CodeClaims } from '#auth/sign-in/code-claims.ts'
import { Clock } from './support.ts'

const claim = (digest: string, realmId = 'route_1', network = '203.0.113.7') => ({ digest, realmId, network })

suite('claims of codes', () => {
  test('are granted once, over all endpoints', () => {
    const claims = new CodeClaims()
    assert.equal(claims.claim(claim('a')), 'first')
    assert.equal(claims.claim(claim('a')), 'used')
    assert.equal(claims.claim(claim('a', 'route_2', '198.51.100.1')), 'used')
    assert.equal(claims.claim(claim('b')), 'first')
  })

  test('expire after an hour, when no provider redeems the code any more', () => {
    const clock = new Clock()
    const claims = new CodeClaims(clock.now, { perNetwork: 1 })
    assert.equal(claims.claim(claim('a')), 'first')
    clock.pass(3599)
    assert.equal(claims.claim(claim('a')), 'used')
    assert.equal(claims.claim(claim('b')), 'full')
    clock.pass(1)
    assert.equal(claims.claim(claim('b')), 'first')
  })

  test('of one network or one realm do not take the room of others', () => {
    const claims = new CodeClaims(Date.now, { perNetwork: 2, perRealm: 3, total: 5 })
    const outcomes = (['one', 'two', 'three'] as const).map(each => claims.claim(claim(each)))
    assert.deepEqual(outcomes, ['first', 'first', 'full'])
    assert.equal(claims.claim(claim('four', 'route_1', '198.51.100.1')), 'first')
    assert.equal(claims.claim(claim('five', 'route_1', '198.51.100.2')), 'full')
    assert.equal(claims.claim(claim('six', 'route_2')), 'first')
    assert.equal(claims.claim(claim('seven', 'route_3')), 'first')
    assert.equal(claims.claim(claim('eight', 'route_4')), 'full')
    // A claim that was made stays made.
    assert.equal(claims.claim(claim('one', 'route_4')), 'used')
  })
})
