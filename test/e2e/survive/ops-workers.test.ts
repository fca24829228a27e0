import assert from 'node:assert/strict'
import { request } from 'node:http'
import { suite, test } from 'node:test'
import { isLongRun, reportFigures, sleep } from './measurements.ts'
import { stopUnderLoad, stopWhileTalking } from './stop-under-load.ts'
import { HOST, World } from './world.ts'
import { listenersOn, workersOf } from '../../support/processes.ts'
import { until } from '../../support/until.ts'

const WORKERS = { ADIT_WORKERS: '2' }
const BACK_MS = 60_000

/** Over a connection of its own, so that the system chooses the worker; 0 when there was no answer. */
function visit(world: World): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const asked = request({
    port: world.port('http'),
    host: '127.0.0.1',
    agent: false,
    headers: { host: HOST },
  })
  asked.setTimeout(5000, () => asked.destroy())
  asked.on('response', response => {
    response.resume().on('end', () => resolve(response.statusCode ?? 0))
    response.on('error', () => resolve(0))
  })
  asked.on('error', () => resolve(0))
  asked.on('close', () => resolve(0))
  asked.end()
  return promise
}

const visits = (world: World, count: number): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, () => visit(world)))

suite('two gateway processes', { timeout: 300_000 }, () => {
  test('both serve one agent, and each survives the other', async context => {
    await using world = await World.start({ environment: WORKERS })
    assert.deepEqual(new Set(await visits(world, 50)), new Set([200]))
    const workers = workersOf(world.pid)
    assert.equal(workers.length, 2)
    for (const worker of workers) {
      const begun = performance.now()
      process.kill(worker, 'SIGKILL')
      // Not before all of many succeed is it back: one may have the agent, and the other not know of it yet.
      let answers: number[] = []
      while (performance.now() - begun < BACK_MS) {
        answers = await visits(world, 20)
        if (answers.every(status => status === 200)) break
        await sleep(100)
      }
      reportFigures(context, { 'all is well after ms': Math.round(performance.now() - begun) })
      world.assertAlive()
      assert.deepEqual(new Set(answers), new Set([200]))
      // The other one may die only when this one has taken its place.
      await until(() => listenersOn(world.port('http')) === 2, {
        what: 'two listen again',
        withinMs: BACK_MS,
      })
    }
    assert.equal(await world.gateway.end('SIGTERM'), 0)
  })

  test(
    'that are sent SIGTERM give open connections 30 seconds, and exit with 0 before 35',
    { skip: !isLongRun },
    context => stopWhileTalking(context, WORKERS),
  )

  test('that are sent SIGTERM complete every request that they have accepted', context =>
    stopUnderLoad(context, WORKERS))
})
