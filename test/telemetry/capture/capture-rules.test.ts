import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Records } from '#registry/records/records.ts'
import { CaptureRules } from '#telemetry/capture/capture-rules.ts'

suite('the rules of captures', () => {
  test('are loaded without those that are damaged', () => {
    const records = new Records()
    const sound = {
      host: 'sound.test',
      scope: 'any',
      expires_at: new Date(Date.now() + 60_000).toISOString(),
    }
    const damaged = [
      { ...sound, host: { __proto__: null } },
      { ...sound, host: '', edge_id: { toString: 5 } },
      { ...sound, expires_at: { __proto__: null } },
    ]
    records.snapshot(
      [...damaged, sound].map((body, at) => ({
        kind: 'capture',
        id: `cap_${at}`,
        parent: null,
        version: 1,
        body,
        readable: true,
      })),
    )
    const rules = new CaptureRules(records, () => undefined)
    assert.ok(rules.includes('sound.test', { edgeId: undefined, routeId: undefined, modules: [] }))
    rules.close()
  })
})
