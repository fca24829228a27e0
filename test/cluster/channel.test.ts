import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { suite, test } from 'node:test'
import { fail } from '#base/errors.ts'
import { Channel, type Pipe } from '#cluster/channel.ts'

/** Two ends of a pipe that copies what it carries, as one between processes does. */
function pipes(): [Pipe & EventEmitter, Pipe & EventEmitter] {
  const ends = [new EventEmitter(), new EventEmitter()] as const
  const end = (own: EventEmitter, other: EventEmitter): Pipe & EventEmitter =>
    Object.assign(own, {
      send(message: unknown) {
        const copy: unknown = structuredClone(message)
        setImmediate(() => other.emit('message', copy))
        return true
      },
    }) as Pipe & EventEmitter
  return [end(ends[0], ends[1]), end(ends[1], ends[0])]
}

suite('the channel between processes', () => {
  test('carries questions and answers both ways, and notices', async () => {
    const [left, right] = pipes()
    const reported: string[] = []
    const first = new Channel(left, {
      methods: { double: async (value: number) => value * 2 },
      notices: { tell: (word: string) => void reported.push(word) },
    })
    const second = new Channel(right, { methods: { name: async () => 'second' } })
    assert.equal(await second.request('double', 21), 42)
    assert.equal(await first.request('name', undefined), 'second')
    second.notify('tell', 'hello')
    await second.request('double', 1)
    assert.deepEqual(reported, ['hello'])
  })

  test('keeps the code and values of a problem, and the text of any other error', async () => {
    const [left, right] = pipes()
    void new Channel(left, {
      methods: {
        refuse: async () => fail('bind_port', { port: 22, reason: 'it is not allowed' }),
        break: async () => {
          throw new TypeError('broken')
        },
      },
    })
    const caller = new Channel(right, {})
    await assert.rejects(caller.request('refuse', undefined), {
      name: 'Problem',
      code: 'bind_port',
      status: 400,
      message: 'Port 22 cannot be used: it is not allowed.',
    })
    await assert.rejects(caller.request('break', undefined), { message: 'broken' })
    await assert.rejects(caller.request('unknown', undefined), /no method unknown/)
  })

  test('fails waiting and later calls when the other process ends', async () => {
    const [left, right] = pipes()
    void new Channel(left, { methods: { never: () => new Promise(() => undefined) } })
    const caller = new Channel(right, {})
    const waiting = assert.rejects(caller.request('never', undefined), /has ended/)
    right.emit('disconnect')
    await waiting
    await assert.rejects(caller.request('never', undefined), /has ended/)
  })

  test('does nothing any more for a process that is known to have ended', async () => {
    const [left, right] = pipes()
    const reported: string[] = []
    const first = new Channel(left, { notices: { tell: (word: string) => void reported.push(word) } })
    const second = new Channel(right, {})
    second.notify('tell', 'before')
    await new Promise(setImmediate)
    second.notify('tell', 'still in the pipe')
    first.close()
    await new Promise(setImmediate)
    assert.deepEqual(reported, ['before'])
  })
})
