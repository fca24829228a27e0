import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usualFields } from '#contract/events/traffic-fields.ts'
import { World } from '../e2e/edges/world.ts'
import type { EventObject } from '../telemetry/traffic/support.ts'
import { Receiver } from './support.ts'
import { until } from '../support/until.ts'

const REQUEST = 'http_request_complete.v0'
const START = 'agent_session_start.v0'

/** The objects in events of a type. */
const reported = ({ events }: Receiver, type: string): EventObject[] =>
  events.filter(event => event.event_type === type).map(({ object }) => object)

/** The field names of an event at all depths; headers and lists are values. */
function namesIn(value: unknown, above = ''): string[] {
  if (above.endsWith('headers.') || Array.isArray(value) || value === null || typeof value !== 'object')
    return [above.slice(0, -1)]
  return Object.entries(value).flatMap(([name, inner]) => namesIn(inner, `${above}${name}.`))
}

for (const workers of ['1', '2']) {
  test(`each subscription is sent the fields that it has chosen, with ${workers} gateway process(es)`, async () => {
    await using world = await World.start({ workers, api_url: 'https://api.example.com' })
    const chosen = ['http.request.headers', 'http.request.url.query', 'ja4_fingerprint', 'conn.start_ts']
    await using choosing = await Receiver.start()
    await using plain = await Receiver.start()
    for (const [receiver, sources] of [
      [choosing, [{ type: REQUEST, fields: chosen }]],
      [plain, [{ type: REQUEST }, { type: START }]],
    ] as const) {
      const target = { webhook: { url: receiver.url } }
      const destination = await world.make('/event_destinations', { target })
      await world.make('/event_subscriptions', { sources, destination_ids: [destination.id] })
    }
    await until(() => world.server.api.get('/event_deliveries'), {
      fits: ({ body }) => body.event_deliveries.length === 2,
    })
    const edge = await world.edge(['a.example.com'])
    await world.route(edge, '/', await world.static((_request, response) => response.end('hello')))
    const headers = { authorization: 'Bearer geheim', 'x-seen': 'yes' }
    // The processes hear of the wish a little later than the API answers, and of the route too.
    await until(() => world.ask('a.example.com/x?secret=1', { headers }), {
      fits: ({ status }) =>
        status === 200 && reported(choosing, REQUEST).some(object => 'ja4_fingerprint' in object),
    })
    const object = reported(choosing, REQUEST).find(seen => namesIn(seen).length === chosen.length)
    assert.deepEqual(namesIn(object).toSorted(), chosen.toSorted())
    assert.deepEqual(object.http.request.headers['authorization'], ['REDACTED'])
    assert.deepEqual(object.http.request.headers['x-seen'], ['yes'])
    assert.equal(object.http.request.url.query, 'secret=1')
    await plain.until(() => reported(plain, REQUEST).some(seen => seen.http.response.status_code === 200))
    const usual = new Set(usualFields(REQUEST))
    for (const seen of reported(plain, REQUEST))
      for (const name of namesIn(seen)) assert.ok(usual.has(name), name)
    assert.doesNotMatch(JSON.stringify([choosing.events, plain.events]), /geheim/)

    await world.agent()
    await plain.until(() => reported(plain, START).length > 0)
    const [start] = reported(plain, START)
    assert.match(start.session.id, /^ts_\w{27}$/)
    assert.equal(start.session.uri, `https://api.example.com/tunnel_sessions/${start.session.id}`)
    assert.match(start.credential.uri, /^https:\/\/api\.example\.com\/credentials\/cr_\w+$/)
    assert.equal(start.transport, 'muxado')
    assert.match(start.user_agent, /^adit\//)
    assert.equal(start.arch, process.arch)
    assert.equal(start.ingress_server_ip, '127.0.0.1')
  })
}
