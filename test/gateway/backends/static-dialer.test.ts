import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { StaticDialer } from '#gateway/backends/static-dialer.ts'
import { DialError } from '#registry/agent-dialer.ts'
import { until } from '../../support/until.ts'

/** An address whose connections a test opens or refuses by hand. */
class Address {
  now = 0
  up = false
  tried = 0
  readonly reported: (string | undefined)[] = []
  readonly dialer = new StaticDialer({
    connect: async () => {
      this.tried++
      if (this.up) return new Socket()
      throw new DialError('offline', `no ${this.tried}`)
    },
    changed: failure => void this.reported.push(failure?.message),
    now: () => this.now,
  })

  /** The message of the failure; undefined when it went well. */
  dial = (): Promise<string | undefined> =>
    this.dialer.dial().then(
      () => undefined,
      (error: Error) => error.message,
    )
}

suite('connections to an address', () => {
  test('are not attempted for two seconds after three failures', async () => {
    const address = new Address()
    for (const expected of ['no 1', 'no 2', 'no 3']) assert.equal(await address.dial(), expected)
    address.up = true
    address.now = 1999
    assert.equal(await address.dial(), 'no 3')
    assert.deepEqual([address.tried, address.reported], [3, ['no 3']])
  })

  test('are attempted once after the pause, and by all requests when that succeeded', async () => {
    const address = new Address()
    for (let count = 0; count < 3; count++) await address.dial()
    address.now = 2000
    address.up = true
    const [probe, second] = [address.dial(), address.dial()]
    assert.deepEqual([await probe, await second], [undefined, 'no 3'])
    assert.equal(await address.dial(), undefined)
    assert.deepEqual([address.tried, address.reported], [5, ['no 3', undefined]])
  })

  test('pause again when that attempt failed', async () => {
    const address = new Address()
    for (let count = 0; count < 3; count++) await address.dial()
    address.now = 2000
    assert.equal(await address.dial(), 'no 4')
    address.now = 3999
    assert.equal(await address.dial(), 'no 4')
    assert.deepEqual([address.tried, address.reported], [4, ['no 3']])
  })

  test('are counted from zero after a success', async () => {
    const address = new Address()
    await address.dial()
    await address.dial()
    address.up = true
    await address.dial()
    address.up = false
    await address.dial()
    assert.equal(await address.dial(), 'no 5')
    assert.deepEqual(address.reported, [])
  })

  test('are limited in number; more are queued, then refused', async () => {
    const opened: (() => void)[] = []
    const dialer = new StaticDialer({
      connect: () => new Promise(resolve => opened.push(() => resolve(new Socket()))),
      changed: () => undefined,
    })
    const dials = Array.from({ length: 128 + 1024 }, () => dialer.dial())
    await assert.rejects(dialer.dial(), { code: 'busy' })
    assert.equal(opened.length, 128)
    opened[0]?.()
    await dials[0]
    await until(() => opened.length >= 129, { next: setImmediate })
    for (let at = 1; at < dials.length; at++) {
      const open = await until(() => opened[at], { next: setImmediate })
      open()
    }
    assert.equal((await Promise.all(dials)).length, 1152)
  })

  test('that are queued are refused with those that failed', async () => {
    const failing: (() => void)[] = []
    let tried = 0
    const dialer = new StaticDialer({
      connect: () =>
        new Promise((_resolve, reject) => {
          tried++
          failing.push(() => reject(new DialError('offline', 'down')))
        }),
      changed: () => undefined,
    })
    const dials = Array.from({ length: 400 }, () => dialer.dial())
    const outcomes = Promise.allSettled(dials)
    failing.slice(0, 3).forEach(fail => fail())
    await Promise.allSettled(dials.slice(0, 3))
    while (failing.length > 0) {
      failing.splice(0).forEach(fail => fail())
      await setImmediate()
    }
    assert.ok((await outcomes).every(({ status }) => status === 'rejected'))
    assert.ok(tried < 140, `${tried} were tried`)
  })
})
