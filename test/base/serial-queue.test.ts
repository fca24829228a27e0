import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { KeyedSerialQueue, SerialQueue } from '#base/serial-queue.ts'

type Run = <Result>(task: () => Promise<Result>) => Promise<Result>

const queues: Readonly<Record<string, () => Run>> = {
  'a serial queue': () => {
    const queue = new SerialQueue()
    return task => queue.run(task)
  },
  'one key of a keyed serial queue': () => {
    const queue = new KeyedSerialQueue()
    return task => queue.run('key', task)
  },
}

for (const [name, open] of Object.entries(queues))
  suite(name, () => {
    test('starts a task when the one before it has ended', async () => {
      const run = open()
      const first = Promise.withResolvers<void>()
      const seen: string[] = []
      const one = run(async () => {
        await first.promise
        seen.push('one')
      })
      const two = run(async () => seen.push('two'))
      await new Promise(setImmediate)
      assert.deepEqual(seen, [])
      first.resolve()
      await Promise.all([one, two])
      assert.deepEqual(seen, ['one', 'two'])
    })

    test('resolves to the result of the task', async () => {
      assert.equal(await open()(async () => 5), 5)
    })

    test('reports a failure to its caller, and runs the next task', async () => {
      const run = open()
      const failing = run(async () => {
        throw new Error('of the first')
      })
      const next = run(async () => 'next')
      await assert.rejects(failing, { message: 'of the first' })
      assert.equal(await next, 'next')
    })
  })

suite('a serial queue', () => {
  test('lets the caller finish before it starts a task', async () => {
    const queue = new SerialQueue()
    let started = false
    const done = queue.run(async () => (started = true))
    assert.equal(started, false)
    await done
    assert.equal(started, true)
  })

  test('is settled when its tasks have ended, failed ones too', async () => {
    const queue = new SerialQueue()
    let ended = 0
    const task = async (): Promise<void> => {
      await new Promise(setImmediate)
      ended++
      throw new Error('of a task')
    }
    const tasks = [queue.run(task), queue.run(task)].map(done => done.catch(() => undefined))
    await queue.settled()
    assert.equal(ended, 2)
    await Promise.all(tasks)
  })
})

suite('a keyed serial queue', () => {
  test('does not wait for tasks of other keys', async () => {
    const queue = new KeyedSerialQueue()
    const slow = Promise.withResolvers<void>()
    const waiting = queue.run('a', () => slow.promise)
    assert.equal(await queue.run('b', async () => 'b'), 'b')
    slow.resolve()
    await waiting
  })

  test('starts a task at once when there is no other of its key', async () => {
    const queue = new KeyedSerialQueue()
    await queue.run('key', async () => undefined)
    let started = false
    const done = queue.run('key', async () => (started = true))
    assert.equal(started, true)
    await done
  })
})
