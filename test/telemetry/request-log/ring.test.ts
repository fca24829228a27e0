import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Reply } from '#http/exchange.ts'
import { noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { RequestRing } from '#telemetry/request-log/ring.ts'
import { RequestContext } from '#http/request-context.ts'
import { request } from '../../gateway/modules/support.ts'

const reply: Reply = {
  head: { status: 200, reason: 'OK', framing: noBody.framing, fields: Fields.none },
  body: noBody,
}

/** A ring, and the owner and time of each of its requests. */
class Kept {
  readonly ring: RequestRing

  constructor(size: number) {
    this.ring = new RequestRing(size)
  }

  put(endpoint: string | undefined, path = '/'): RequestContext {
    const { client, head } = request()
    const context = new RequestContext()
    if (endpoint !== undefined)
      context.routing.route = { id: endpoint, edgeId: endpoint, routeId: undefined, modules: [] }
    this.ring.put(client, { ...head, path }, reply, context)
    return context
  }

  of(endpoint: string | undefined): string[] {
    return [...this.ring.newest()].filter(({ route }) => route?.edgeId === endpoint).map(({ path }) => path)
  }
}

suite('the last requests', () => {
  test('of one endpoint fill all of the room while it is alone, newest first', () => {
    const kept = new Kept(10)
    for (let n = 1; n <= 25; n++) kept.put('a', `/${n}`)
    assert.deepEqual(
      kept.of('a'),
      [25, 24, 23, 22, 21, 20, 19, 18, 17, 16].map(n => `/${n}`),
    )
  })

  test('of an endpoint are still there after a flood at another, and at names without an owner', () => {
    const kept = new Kept(1000)
    const traces = Array.from({ length: 100 }, (_, n) => kept.put('quiet', `/${n}`))
    for (let n = 0; n < 50_000; n++) kept.put(n % 2 === 0 ? 'flooded' : undefined)
    assert.deepEqual(
      kept.of('quiet').toReversed(),
      Array.from({ length: 100 }, (_, n) => `/${n}`),
    )
    assert.equal([...kept.ring.newest()].length, 1000)
    const [first] = traces
    assert.ok(first)
    kept.ring.end(first, true, performance.now())
    assert.equal(kept.ring.of(first)?.whole, true)
    assert.equal(kept.ring.find(first.id)?.path, '/0')
  })

  test('of an endpoint with more requests are its newest', () => {
    const kept = new Kept(100)
    for (let n = 0; n < 300; n++) {
      kept.put('quiet', `/${n}`)
      for (let more = 0; more < 100; more++) kept.put('flooded')
    }
    const paths = kept.of('quiet')
    assert.ok(paths.length >= 25, `${paths.length} are kept`)
    assert.equal(paths[0], '/299')
  })

  test('are the latest of all when there are more endpoints than can have a share', () => {
    const kept = new Kept(10)
    for (let n = 0; n < 1000; n++) kept.put(`endpoint ${n}`, `/${n}`)
    assert.deepEqual(
      [...kept.ring.newest()].map(({ path }) => path),
      Array.from({ length: 10 }, (_, n) => `/${999 - n}`),
    )
  })

  test('are not taken for another that came to their place', () => {
    const kept = new Kept(1)
    const [old, fresh] = [kept.put('a', '/old'), kept.put('b', '/new')]
    kept.ring.end(old, true, performance.now())
    assert.equal(kept.ring.of(old), undefined)
    assert.deepEqual([kept.ring.of(fresh)?.path, kept.ring.of(fresh)?.whole], ['/new', false])
  })

  test('have the times of their own modules, as far as they came', () => {
    const kept = new Kept(1)
    const timesOf = (after: readonly number[] | undefined): readonly number[] | undefined => {
      const context = new RequestContext()
      context.routing.moduleTimes = after?.map(ms => context.begun + ms)
      const { client, head } = request()
      kept.ring.put(client, head, reply, context)
      return kept.ring.of(context)?.moduleTimes
    }
    const rounded = (times: readonly number[] | undefined) => times?.map(ms => Math.round(ms * 100) / 100)
    assert.deepEqual(rounded(timesOf([0.25, 1.5, Number.NaN])), [0.25, 1.5])
    assert.deepEqual(timesOf(undefined), [])
    assert.ok((timesOf(Array.from({ length: 100 }, (_, at) => at))?.length ?? 0) < 100)
  })

  test('are none where none are to be kept', () => {
    const kept = new Kept(0)
    assert.equal(kept.put('a').logNumber, 0)
    assert.deepEqual([...kept.ring.newest()], [])
  })
})
