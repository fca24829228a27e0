import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ScheduledDomain, schedule } from '#acme/schedule.ts'
import type { ManagedDomain } from '#acme/domains.ts'

const NOW = 1_000_000
const DAY = 86_400_000
const LATER = NOW + DAY
const certificate = { id: 'cert_1', notBefore: 0, notAfter: 9_000_000, keyType: 'ecdsa' }
const domain = (more: Partial<ManagedDomain> = {}): ManagedDomain => ({
  id: 'rd_1',
  names: ['a.example.com'],
  keyType: 'ecdsa',
  cnameTarget: 'x.cname.base.test',
  challengeTarget: undefined,
  certificate,
  renewsAt: undefined,
  ...more,
})
const isReady = (scheduled: ScheduledDomain): boolean => schedule([scheduled], NOW).ready.length === 1

suite('what is to be done next', () => {
  test('is an order for a domain without a certificate, or with one for another kind of key', () => {
    assert.ok(isReady(new ScheduledDomain(domain({ certificate: undefined }), LATER)))
    assert.ok(isReady(new ScheduledDomain(domain({ keyType: 'rsa' }), LATER)))
    assert.ok(!isReady(new ScheduledDomain(domain(), LATER)))
  })

  test('is a renewal when it is due, or at two thirds when nothing was planned', () => {
    assert.ok(isReady(new ScheduledDomain(domain({ renewsAt: NOW }), LATER)))
    assert.equal(schedule([new ScheduledDomain(domain(), LATER)], NOW).next, 6_000_000)
  })

  test('is nothing while an order waits, not even a check, which would report success', () => {
    const scheduled = new ScheduledDomain(domain({ renewsAt: NOW - 1 }), NOW - 1)
    scheduled.holdUntil = NOW + 10
    assert.deepEqual(schedule([scheduled], NOW), { ready: [], next: NOW + 10 })
    assert.ok(isReady(new ScheduledDomain(domain(), NOW - 1)), 'a look is due otherwise')
  })

  test('is decided again when there is a new certificate, however long an order was to wait', () => {
    const scheduled = new ScheduledDomain(domain({ certificate: undefined }), LATER)
    scheduled.hold(scheduled.domain, NOW + 10)
    assert.ok(!isReady(scheduled))
    scheduled.learn(domain({ renewsAt: NOW - 1 }))
    assert.ok(isReady(scheduled))
  })

  test('is due if a clock that was ahead deferred it for longer than is possible', () => {
    const scheduled = new ScheduledDomain(domain({ certificate: undefined }), LATER)
    scheduled.holdUntil = NOW + 7 * DAY
    assert.ok(!isReady(scheduled))
    scheduled.holdUntil = NOW + 400 * DAY
    assert.ok(isReady(scheduled))
    assert.ok(isReady(new ScheduledDomain(domain(), NOW + 400 * DAY)))
  })

  test('begins with what has waited longest, and leaves out what is under way', async () => {
    const [first, second, third] = [1, 2, 3].map(at => new ScheduledDomain(domain({ renewsAt: at }), LATER))
    assert.ok(first && second && third)
    second.running = Promise.resolve()
    assert.deepEqual(schedule([third, second, first], NOW).ready, [first, third])
    await second.running
  })
})
