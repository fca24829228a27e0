import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { long, tell } from './figures.ts'
import { stopUnderLoad, talks } from './stop-under-load.ts'
import { World } from './world.ts'
import { until } from '../../support/until.ts'

const DRAIN_MS = 30_000
const EXIT_MS = 35_000

suite('a gateway that is told to stop', { concurrency: true, timeout: long ? 600_000 : 60_000 }, () => {
  test('gives what lasts 30 seconds, and ends with 0 before 35', { skip: !long }, async context => {
    await using world = await World.start()
    const spoken = await talks(world)
    const begun = performance.now()
    const code = await world.gateway.end('SIGTERM')
    const lasted = performance.now() - begun
    await until(() => spoken.every(({ closedAt }) => closedAt !== undefined), {
      what: 'all are closed',
      withinMs: 1000,
    })
    const first = Math.min(...spoken.map(({ closedAt = 0 }) => closedAt - begun))
    tell(context, {
      'first WebSocket cut after ms': Math.round(first),
      'exit after ms': Math.round(lasted),
      code: code ?? -1,
    })
    assert.equal(code, 0)
    assert.ok(first > DRAIN_MS - 1000, `a WebSocket was cut after ${first} ms`)
    assert.ok(lasted < EXIT_MS, `it took ${lasted} ms`)
  })

  test('answers every request that it has accepted', async context => {
    for (let round = 0; round < (long ? 20 : 3); round++) await stopUnderLoad(context)
  })
})
