import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Entry, agenda } from '#acme/agenda.ts'
import type { ManagedDomain } from '#acme/domains.ts'

const NOW = 1_000_000
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
const isReady = (entry: Entry): boolean => agenda([entry], NOW).ready.length === 1

suite('what is to be done next', () => {
  test('is an order for a domain without a certificate, or with one for another kind of key', () => {
    assert.ok(isReady(new Entry(domain({ certificate: undefined }), Infinity)))
    assert.ok(isReady(new Entry(domain({ keyType: 'rsa' }), Infinity)))
    assert.ok(!isReady(new Entry(domain(), Infinity)))
  })

  test('is a renewal when it is due, or at two thirds when nothing was planned', () => {
    assert.ok(isReady(new Entry(domain({ renewsAt: NOW }), Infinity)))
    assert.equal(agenda([new Entry(domain(), Infinity)], NOW).next, 6_000_000)
  })

  test('is nothing while an order waits, not even a look, which would tell that all is well', () => {
    const entry = new Entry(domain({ renewsAt: NOW - 1 }), NOW - 1)
    entry.holdUntil = NOW + 10
    assert.deepEqual(agenda([entry], NOW), { ready: [], next: NOW + 10 })
    assert.ok(isReady(new Entry(domain(), NOW - 1)), 'a look is due otherwise')
  })

  test('is judged anew when there is a new certificate, however long an order was to wait', () => {
    const entry = new Entry(domain({ certificate: undefined }), Infinity)
    entry.hold(entry.domain, NOW + 10)
    assert.ok(!isReady(entry))
    entry.learn(domain({ renewsAt: NOW - 1 }))
    assert.ok(isReady(entry))
  })

  test('begins with what has waited longest, and leaves out what is under way', async () => {
    const [first, second, third] = [1, 2, 3].map(at => new Entry(domain({ renewsAt: at }), Infinity))
    assert.ok(first && second && third)
    second.running = Promise.resolve()
    assert.deepEqual(agenda([third, second, first], NOW).ready, [first, third])
    await second.running
  })
})
