import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { waitAfter } from '#acme/backoff.ts'
import { nextQuestion, renewalTime, suggestedTime } from '#acme/renewal.ts'
import { retryAfter } from '#acme/retry-after.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const NOW = Date.parse('2026-11-15T10:00:00Z')

suite('times', () => {
  test('of Retry-After are read in both forms, and bounded', () => {
    assert.equal(retryAfter('120', NOW), NOW + 120_000)
    assert.equal(retryAfter('Sun, 15 Nov 2026 11:00:00 GMT', NOW), NOW + HOUR)
    assert.equal(retryAfter('Sun, 15 Nov 2020 11:00:00 GMT', NOW), NOW)
    assert.equal(retryAfter('999999999', NOW), NOW + 7 * DAY)
    for (const text of [undefined, '', '-1', 'soon', '1.5', '2026-11-15', '9999999999999'])
      assert.equal(retryAfter(text, NOW), undefined, `${text}`)
  })

  test('between attempts grow from a minute to twelve hours, those between DNS checks from 15 s to 15 min', () => {
    const shortest = 60_000
    const most = (failures: number, onlyLooked = false) =>
      waitAfter({ failures, shortest, dnsOnly: onlyLooked }, () => 1)
    const least = (onlyLooked: boolean) => waitAfter({ failures: 9, shortest, dnsOnly: onlyLooked }, () => 0)
    assert.deepEqual([least(false), least(true)], [60_000, 15_000])
    assert.deepEqual(
      [1, 2, 3].map(failures => most(failures)),
      [120_000, 240_000, 480_000],
    )
    assert.deepEqual([most(1000), most(1000, true)], [12 * HOUR, HOUR / 4])
  })

  test('of renewals are at two thirds of a life, or a little before', () => {
    const life = { notBefore: NOW, notAfter: NOW + 90 * DAY }
    assert.equal(
      renewalTime(life, () => 0),
      NOW + 60 * DAY,
    )
    assert.ok(renewalTime(life, () => 0.999) > NOW + 58 * DAY)
  })

  test('that an authority suggests are kept while they fit, and ignored when they make no sense', () => {
    const life = { notBefore: NOW, notAfter: NOW + 90 * DAY }
    const window = { start: NOW + 10 * DAY, end: NOW + 12 * DAY, retryAt: undefined }
    assert.equal(
      suggestedTime(window, life, undefined, () => 0.5),
      NOW + 11 * DAY,
    )
    assert.equal(
      suggestedTime(window, life, NOW + 10.5 * DAY, () => 0.9),
      NOW + 10.5 * DAY,
    )
    assert.equal(
      suggestedTime(window, life, NOW + 60 * DAY, () => 0),
      NOW + 10 * DAY,
    )
    assert.equal(
      suggestedTime({ ...window, end: NOW + 89 * DAY }, life, undefined, () => 0),
      undefined,
    )
  })

  test('at which it is polled again are as it requests, but between an hour and a day', () => {
    const none = () => 0
    assert.equal(nextQuestion(undefined, NOW, none), NOW + DAY)
    assert.equal(nextQuestion(NOW + 6 * HOUR, NOW, none), NOW + 6 * HOUR)
    assert.equal(nextQuestion(NOW, NOW, none), NOW + HOUR)
    assert.equal(nextQuestion(NOW + 9 * DAY, NOW, none), NOW + DAY)
  })
})
