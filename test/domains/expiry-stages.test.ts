import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  nextStageAt,
  reachedAt,
  readStage,
  stageToReport,
  stages,
  type Stage,
} from '#domains/expiry/stages.ts'

const SECOND = 1000
const DAY = 86_400 * SECOND
const END = Date.parse('2027-03-01T00:00:00Z')
const life = (days: number) => ({ notBefore: END - days * DAY, notAfter: END })
const untold = { lastStage: undefined, renewsAt: undefined }

suite('the stages of a certificate', () => {
  test('are 30, 14, 7, 3 and 1 days before its end, and the end, however long it lives', () => {
    for (const days of [90, 398, 3650])
      assert.deepEqual(
        stages.map(stage => (END - reachedAt(life(days), stage)) / DAY),
        [30, 14, 7, 3, 1, 0],
      )
  })

  test('are in proportion when it lives for less than 90 days, be it for seconds', () => {
    assert.deepEqual(
      stages.map(stage => (END - reachedAt(life(45), stage)) / DAY),
      [15, 7, 3.5, 1.5, 0.5, 0],
    )
    const short = { notBefore: END - 90 * SECOND, notAfter: END }
    assert.deepEqual(
      stages.map(stage => (END - reachedAt(short, stage)) / SECOND),
      [30, 14, 7, 3, 1, 0],
    )
  })

  test('are reported once each, and those that passed while the server was off are left out', () => {
    const at = (left: number, published?: Stage) =>
      stageToReport(life(365), { ...untold, lastStage: published, now: END - left * DAY })
    assert.equal(at(31), undefined)
    assert.equal(at(30), 30)
    assert.equal(at(29, 30), undefined)
    assert.equal(at(10, 30), 14)
    assert.equal(at(2), 3)
    assert.equal(at(-400, 3), 0)
    assert.equal(at(-401, 0), undefined)
  })

  test('are reported again when they were reported by a clock that was ahead', () => {
    const at = (left: number) => stageToReport(life(365), { ...untold, lastStage: 0, now: END - left * DAY })
    assert.equal(at(31), undefined)
    assert.equal(at(13), 14)
  })

  test('are not reported for automatic renewal until half of the time for it has passed', () => {
    const at = (left: number, renews: number) =>
      stageToReport(life(90), { lastStage: undefined, renewsAt: END - renews * DAY, now: END - left * DAY })
    // At two thirds of its life.
    assert.equal(at(30, 30), undefined)
    assert.equal(at(15, 30), undefined)
    assert.equal(at(14, 30), 14)
    // As late as an authority may ask for.
    assert.equal(at(7, 5), undefined)
    assert.equal(at(3, 5), undefined)
    assert.equal(at(1, 5), 1)
    assert.equal(at(0, 5), 0)
  })

  test('are awaited one after another', () => {
    const next = (left: number) => (END - nextStageAt(life(90), END - left * DAY)) / DAY
    assert.deepEqual([80, 30, 5, 1].map(next), [30, 14, 3, 0])
    assert.equal(nextStageAt(life(90), END), Infinity)
  })

  test('are read back as they were written', () => {
    for (const stage of stages) assert.equal(readStage(String(stage)), stage)
    for (const text of ['', '2', undefined, null, 7]) assert.equal(readStage(text), undefined)
  })
})
