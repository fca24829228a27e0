import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'

suite('a change that is retried on a conflict', () => {
  /** Conflicts so many times, then resolves to the number of the attempt. */
  const conflicting = (times: number) => {
    let attempts = 0
    return async (): Promise<number | typeof CONFLICT> => (++attempts <= times ? CONFLICT : attempts)
  }
  const never = (): number => assert.fail('gave up')

  test('is run once without another write', async () => {
    assert.equal(await retryOnConflict(conflicting(0), never), 1)
  })

  test('is run again until no other write precedes it', async () => {
    assert.equal(await retryOnConflict(conflicting(7), never), 8)
  })

  test('has the result of its caller when there is a conflict each time', async () => {
    assert.equal(await retryOnConflict(conflicting(8), () => -1), -1)
    assert.equal(await retryOnConflict(conflicting(4), () => -1, 4), -1)
    const giveUp = (): never => {
      throw new Error('others were faster')
    }
    await assert.rejects(retryOnConflict(conflicting(8), giveUp), { message: 'others were faster' })
  })

  test('may resolve to undefined', async () => {
    assert.equal(await retryOnConflict<number | undefined>(async () => undefined, never), undefined)
  })

  test('is not retried after an error', async () => {
    let attempts = 0
    const failing = async (): Promise<number> => {
      attempts++
      throw new Error('the database is gone')
    }
    await assert.rejects(retryOnConflict(failing, never), { message: 'the database is gone' })
    assert.equal(attempts, 1)
  })
})
