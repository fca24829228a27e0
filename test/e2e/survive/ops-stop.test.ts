import { suite, test } from 'node:test'
import { isLongRun } from './measurements.ts'
import { stopUnderLoad, stopWhileTalking } from './stop-under-load.ts'

suite('a gateway that is sent SIGTERM', { concurrency: true, timeout: 600_000 }, () => {
  test('gives open connections 30 seconds, and exits with 0 before 35', { skip: !isLongRun }, context =>
    stopWhileTalking(context),
  )

  test('completes every request that it has accepted', async context => {
    for (let round = 0; round < (isLongRun ? 20 : 2); round++) await stopUnderLoad(context)
  })
})
