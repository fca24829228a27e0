import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { envelope } from '#events/envelope.ts'
import { newId } from '#base/ids.ts'
import type { EventSource } from '#contract/events/source.ts'
import { usualFields } from '#contract/events/traffic-fields.ts'
import { openSqlite } from '#store/sqlite.ts'
import { EventWorld, Receiver } from './support.ts'
import { until } from '../support/until.ts'

const REQUEST = 'http_request_complete.v0'
const SESSION = 'agent_session_start.v0'
const CREATED = 'ip_policy_created.v0'

/** A request as a gateway reports it when the query is selected too. */
function request(server_port: number) {
  const object = JSON.stringify({
    conn: { client_ip: '192.0.2.1', server_port },
    http: { request: { method: 'GET', url: { path: '/', query: 'secret=1' } } },
  })
  return envelope({ id: newId('ev'), type: REQUEST, at: '2026-01-01T00:00:00Z', object }, 'ac_1')
}

suite('what sources select', () => {
  async function start() {
    const wanted: ReadonlyMap<string, ReadonlySet<string>>[] = []
    const receiver = await Receiver.start()
    const world = new EventWorld(await openSqlite(':memory:'))
    const engine = await world.engine({ onWanted: now => void wanted.push(now) })
    return {
      engine,
      receiver,
      world,
      wanted,
      objects: () => receiver.events.map(({ object }): unknown => object),
      async subscribe(sources: readonly (string | EventSource)[]): Promise<string> {
        const before = (await engine.deliveries()).length
        const id = await world.subscription(sources, [await world.destination(receiver.url)])
        await until(async () => (await engine.deliveries()).length > before)
        return id
      },
      async [Symbol.asyncDispose]() {
        await world[Symbol.asyncDispose]()
        await receiver[Symbol.asyncDispose]()
      },
    }
  }

  test('is what gateways report, for all subscriptions together', async () => {
    await using setting = await start()
    await setting.subscribe([{ type: REQUEST, fields: ['http.request.url.query'] }, CREATED])
    assert.deepEqual(setting.wanted.at(-1), new Map([[REQUEST, new Set(['http.request.url.query'])]]))
    const id = await setting.subscribe([REQUEST, SESSION])
    const all = new Set(['http.request.url.query', ...usualFields(REQUEST)])
    assert.deepEqual(
      setting.wanted.at(-1),
      new Map([
        [REQUEST, all],
        [SESSION, new Set()],
      ]),
    )
    await setting.world.unsubscribe(id)
    await until(() => setting.wanted.at(-1)?.get(REQUEST)?.size === 1)
  })

  test('is all that a subscription is sent, whatever another one selects', async () => {
    await using setting = await start()
    await setting.subscribe([REQUEST])
    await setting.subscribe([{ type: REQUEST, fields: ['http.request.url.query'] }])
    setting.engine.publish([request(443)])
    await setting.receiver.until(() => setting.receiver.events.length === 2)
    const usual = {
      conn: { client_ip: '192.0.2.1', server_port: 443 },
      http: { request: { method: 'GET', url: { path: '/' } } },
    }
    const chosen = { http: { request: { url: { query: 'secret=1' } } } }
    const sorted = (objects: readonly unknown[]): string[] =>
      objects.map(object => JSON.stringify(object)).toSorted()
    assert.deepEqual(sorted(setting.objects()), sorted([usual, chosen]))
  })

  test('is not sent if the filter does not match, and is not counted as dropped', async () => {
    await using setting = await start()
    const filter = 'ev.conn.server_port == 443'
    const id = await setting.subscribe([{ type: REQUEST, fields: ['conn.server_port'], filter }])
    setting.engine.publish([80, 443, 80].map(request))
    await setting.receiver.until(() => setting.receiver.events.length === 1)
    assert.deepEqual(setting.objects(), [{ conn: { server_port: 443 } }])
    assert.match(setting.engine.metrics(), /result="dropped"\} 0/)
    // A change applies to later events.
    const [delivery] = await setting.engine.deliveries()
    const received = setting.wanted.length
    await setting.world.change(
      id,
      [{ type: REQUEST, fields: ['conn.server_port'] }],
      [delivery?.destination_id ?? ''],
    )
    await until(() => setting.wanted.length > received)
    setting.engine.publish([request(80)])
    await setting.receiver.until(() => setting.receiver.events.length === 2)
    assert.deepEqual(setting.objects().at(-1), { conn: { server_port: 80 } })
  })
})
