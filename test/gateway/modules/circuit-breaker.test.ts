import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Reply } from '#http/exchange.ts'
import { noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { circuitBreakerHandler, circuitBreakerModule } from '#gateway/modules/circuit-breaker.ts'
import { parts, optionsOf, request } from './support.ts'

const terms = { trippedMs: 5000, windowMs: 10_000, buckets: 10, volume: 4, share: 0.5 }

const answer = (status: number): Reply => ({
  head: { status, reason: '', framing: noBody.framing, fields: Fields.none },
  body: noBody,
})

/** A breaker with a manual clock, in front of a service that responds as configured. */
function rig(changes: Partial<typeof terms> = {}) {
  let now = 1_000_000
  let asked = 0
  const handler = circuitBreakerHandler({ ...terms, ...changes }, () => now)
  const visit = async (status: number, exchange = request()): Promise<Reply> =>
    handler(exchange, async () => {
      asked++
      return answer(status)
    })
  return {
    handler,
    visit,
    async visits(...statuses: number[]): Promise<number[]> {
      const seen: number[] = []
      for (const status of statuses) seen.push((await visit(status)).head.status)
      return seen
    },
    pass: (ms: number) => (now += ms),
    get asked() {
      return asked
    },
  }
}

suite('circuit breaker', () => {
  test('opens when more than the threshold of requests failed, with Retry-After', async () => {
    const breaker = rig()
    assert.deepEqual(await breaker.visits(200, 500, 502, 503), [200, 500, 502, 503])
    const refused = await breaker.visit(200)
    assert.equal(refused.head.status, 503)
    assert.equal(refused.refusal, 'circuit_open')
    assert.equal(refused.head.fields.get('adit-error-code'), 'ERR_ADIT_3202')
    assert.equal(refused.head.fields.get('retry-after'), '5')
    assert.equal(breaker.asked, 4)
    breaker.pass(3500)
    assert.equal((await breaker.visit(200)).head.fields.get('retry-after'), '2')
  })

  test('stays closed at exactly the threshold', async () => {
    const breaker = rig()
    assert.deepEqual(await breaker.visits(200, 200, 500, 500, 200), [200, 200, 500, 500, 200])
  })

  test('opens with a successful response too, when only the volume was missing', async () => {
    const breaker = rig()
    await breaker.visits(500, 500, 500, 200)
    assert.deepEqual(await breaker.visits(200), [503])
    assert.equal(breaker.asked, 4)
  })

  test('stays closed below the volume', async () => {
    const breaker = rig()
    assert.deepEqual(await breaker.visits(500, 500, 500), [500, 500, 500])
    breaker.pass(20_000)
    assert.deepEqual(await breaker.visits(500, 500, 500), [500, 500, 500])
  })

  test('counts responses below 500 as successes', async () => {
    const breaker = rig({ share: 0 })
    assert.deepEqual(await breaker.visits(404, 499, 429, 400, 101, 301), [404, 499, 429, 400, 101, 301])
  })

  test('with a threshold of 0 opens at the first failure', async () => {
    const breaker = rig({ share: 0 })
    await breaker.visits(200, 200, 200, 200, 500)
    assert.deepEqual(await breaker.visits(200), [503])
    assert.equal(breaker.asked, 5)
  })

  test('drops what has left the window, bucket by bucket', async () => {
    const breaker = rig()
    await breaker.visits(500, 500)
    breaker.pass(9000)
    await breaker.visits(200)
    breaker.pass(1000)
    // The two failures are gone: one of two has failed, in a window of two.
    assert.deepEqual(await breaker.visits(500, 200), [500, 200])
    assert.deepEqual(await breaker.visits(500, 500), [500, 500])
    assert.deepEqual(await breaker.visits(200), [503])
  })

  test('drops all counts after a pause longer than the window', async () => {
    const breaker = rig()
    await breaker.visits(500, 500, 500)
    breaker.pass(10_000_000)
    assert.deepEqual(await breaker.visits(500, 200, 200, 200), [500, 200, 200, 200])
  })

  for (const buckets of [1, 3, 128]) {
    test(`counts the same with ${buckets} buckets`, async () => {
      const breaker = rig({ buckets })
      for (let step = 0; step < 500; step++) {
        const status = step % 3 === 0 ? 500 : 200
        assert.deepEqual(await breaker.visits(status), [status])
        breaker.pass(200 + (step % 5))
      }
      assert.equal(breaker.asked, 500)
      await breaker.visits(...Array<number>(60).fill(500))
      assert.ok(breaker.asked < 560)
    })
  }

  test('allows one trial request after the open period, and closes when it succeeds', async () => {
    const breaker = rig()
    await breaker.visits(500, 500, 500, 500)
    breaker.pass(5000)
    const { promise, resolve } = Promise.withResolvers<Reply>()
    const probe = breaker.handler(request(), async () => promise)
    const meanwhile = await breaker.visit(200)
    assert.equal(meanwhile.refusal, 'circuit_open')
    assert.equal(meanwhile.head.fields.get('retry-after'), '1')
    resolve(answer(200))
    assert.equal((await probe).head.status, 200)
    // The window is empty again: three failures are below the volume.
    assert.deepEqual(await breaker.visits(500, 500, 500), [500, 500, 500])
  })

  test('opens again for the whole period when the trial fails', async () => {
    const breaker = rig()
    await breaker.visits(500, 500, 500, 500)
    breaker.pass(5000)
    assert.deepEqual(await breaker.visits(500, 200), [500, 503])
    breaker.pass(4999)
    assert.equal((await breaker.visit(200)).refusal, 'circuit_open')
    breaker.pass(1)
    assert.deepEqual(await breaker.visits(200, 200), [200, 200])
  })

  test('allows another trial when the client of the first disconnects, whatever the late response is', async () => {
    const breaker = rig()
    await breaker.visits(500, 500, 500, 500)
    breaker.pass(5000)
    const leaving = request()
    const { promise, resolve } = Promise.withResolvers<Reply>()
    const probe = breaker.handler(leaving, async () => promise)
    leaving.clientAbort.abort()
    const second = Promise.withResolvers<Reply>()
    const other = breaker.handler(request(), async () => second.promise)
    resolve(answer(500))
    await probe
    second.resolve(answer(200))
    assert.equal((await other).head.status, 200)
    assert.deepEqual(await breaker.visits(200), [200])
  })

  test('allows another trial when the first ended in an internal error', async () => {
    const breaker = rig()
    await breaker.visits(500, 500, 500, 500)
    breaker.pass(5000)
    await assert.rejects(
      breaker.handler(request(), () => Promise.reject(new Error('fault'))),
      /fault/,
    )
    assert.deepEqual(await breaker.visits(200, 200), [200, 200])
  })

  test('counts neither responses to clients that disconnected nor internal errors', async () => {
    const breaker = rig()
    for (let count = 0; count < 10; count++) {
      const leaving = request()
      leaving.clientAbort.abort()
      await breaker.visit(502, leaving)
      await assert.rejects(breaker.handler(request(), () => Promise.reject(new Error('fault'))))
    }
    assert.deepEqual(await breaker.visits(200), [200])
  })

  test('does not count late responses to requests sent before it opened', async () => {
    const breaker = rig()
    const late = Array.from({ length: 8 }, () => Promise.withResolvers<Reply>())
    const waiting = late.map(({ promise }) => breaker.handler(request(), async () => promise))
    await breaker.visits(500, 500, 500, 500)
    breaker.pass(5000)
    await breaker.visits(200)
    for (const { resolve } of late) resolve(answer(500))
    await Promise.all(waiting)
    assert.deepEqual(await breaker.visits(200, 200), [200, 200])
  })
})

suite('circuit breaker configuration', () => {
  const build = (opts: object) =>
    circuitBreakerModule.fromAgent?.build(optionsOf(opts), { id: 'tn_1' }, parts)

  test('of a record has separate state in each endpoint', async () => {
    const record = {
      enabled: true,
      tripped_duration: 60,
      rolling_window: 60,
      num_buckets: 10,
      volume_threshold: 2,
      error_threshold_percentage: 0.1,
    }
    const [one, other] = [1, 2].map(id =>
      circuitBreakerModule.fromRecord(record, { id: `edghtsrt_${id}` }, parts),
    )
    const failing = async (): Promise<Reply> => answer(500)
    for (let count = 0; count < 3; count++) await one?.(request(), failing)
    assert.equal((await one?.(request(), failing))?.refusal, 'circuit_open')
    assert.equal((await other?.(request(), failing))?.refusal, undefined)
  })

  test('of an agent is the threshold alone', async () => {
    const handler = build({ CircuitBreaker: { error_threshold: 0.5 } })
    for (let count = 0; count < 20; count++) await handler?.(request(), async () => answer(500))
    assert.equal((await handler?.(request(), async () => answer(200)))?.refusal, 'circuit_open')
  })

  for (const CircuitBreaker of [
    { error_threshold: 2 },
    { error_threshold: -0.1 },
    { error_threshold: '0.5' },
  ]) {
    test(`of an agent is refused with ${JSON.stringify(CircuitBreaker)}`, () => {
      assert.throws(() => build({ CircuitBreaker }), { code: 'bind_option' })
    })
  }
})
