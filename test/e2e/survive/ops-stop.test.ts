import { suite, test } from 'node:test'
import { long } from './figures.ts'
import { stopUnderLoad, stopWhileTalking } from './stop-under-load.ts'

suite('a gateway that is told to stop', { concurrency: true, timeout: 600_000 }, () => {
  test('gives what lasts 30 seconds, and ends with 0 before 35', { skip: !long }, context =>
    stopWhileTalking(context),
  )

  test('answers every request that it has accepted', async context => {
    for (let round = 0; round < (long ? 20 : 2); round++) await stopUnderLoad(context)
  })
})
