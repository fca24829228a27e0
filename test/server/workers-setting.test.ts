import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { suite, test } from 'node:test'
import { readSettings } from '#base/read-settings.ts'
import { startServer } from '../support/server.ts'

const workers = (value: string): number => readSettings(new Map([['workers', value]]), {}).workers

suite('the number of gateway processes', () => {
  test('is one, a given number, or that of processors', () => {
    assert.equal(readSettings(new Map(), {}).workers, 1)
    assert.equal(workers('64'), 64)
    assert.equal(workers('auto'), Math.min(availableParallelism(), 64))
    for (const value of ['0', '65', '-1', '1.5', '', 'all'])
      assert.throws(() => workers(value), {
        message: '--workers must be a whole number between 1 and 64, or auto',
      })
  })

  test('is at most 16 for a node of a cluster', async () => {
    await assert.rejects(startServer({ workers: '17', peer_addr: '127.0.0.1:0' }), {
      name: 'StartError',
      message: /^a node of a cluster has at most 16 workers: reduce ADIT_WORKERS/,
    })
  })
})
