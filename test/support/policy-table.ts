import assert from 'node:assert/strict'
import { test } from 'node:test'

/** The action for each event in each phase. */
export type Policy = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Tests a policy against a table: a row for each event, a column for each phase, whose names it returns. */
export function testPolicy(policy: Policy, table: string): readonly string[] {
  const [[, ...phases] = [], ...rows] = table
    .trim()
    .split('\n')
    .map(line => line.split(/ +/))
  test('is decided for every event in every phase', () => {
    assert.deepEqual(
      rows.map(([event]) => event),
      Object.keys(policy),
    )
    for (const row of Object.values(policy)) assert.deepEqual(Object.keys(row), phases)
  })
  for (const [event = '', ...actions] of rows)
    for (const [column, phase] of phases.entries())
      test(`on ${event} in phase ${phase}: ${actions[column]}`, () =>
        assert.equal(policy[event]?.[phase], actions[column]))
  return phases
}
