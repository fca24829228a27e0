import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { World } from '../e2e/edges/world.ts'
import { createResource, onEachStore, assertRefused } from '../support/each-store.ts'
import { Receiver } from './support.ts'
import { until } from '../support/until.ts'
import { echo } from '../support/net.ts'

interface Line {
  readonly event_id: string
  readonly event_type: string
  // oxlint-disable-next-line typescript/no-explicit-any -- each type of event tells something else
  readonly object: any
}

/** What was written to the file of a destination. */
function linesIn(world: World, file: string): Line[] {
  try {
    const text = readFileSync(join(world.server.dataDir, 'events', file), 'utf8')
    return text
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as Line)
  } catch {
    return []
  }
}

async function subscribed(world: World, types: readonly string[], file: string): Promise<string> {
  const destination = await world.make('/event_destinations', { target: { file: { path: file } } })
  const { id } = await world.make('/event_subscriptions', {
    sources: types.map(type => ({ type })),
    destination_ids: [destination.id],
  })
  // From here on it is known to gateways too.
  await until(() => world.server.api.get('/event_deliveries'), {
    fits: ({ body }) => body.event_deliveries.length > 0,
  })
  return id
}

const happened = (world: World, file: string, count: number): Promise<Line[]> =>
  until(async () => linesIn(world, file), { fits: lines => lines.length >= count })

for (const workers of ['1', '2']) {
  test(`requests, connections and agents are reported, with ${workers} gateway process(es)`, async () => {
    await using world = await World.start({ workers })
    const types = [
      'http_request_complete.v0',
      'tcp_connection_closed.v0',
      'agent_session_start.v0',
      'agent_session_stop.v0',
    ]
    await subscribed(world, types, 'traffic.jsonl')
    const edge = await world.edge(['a.example.com'])
    await world.route(edge, '/', await world.fixedResponse('hello'))
    const answer = await until(
      () => world.ask('a.example.com/x?secret=1', { headers: { 'user-agent': 'test/1' } }),
      { fits: ({ status }) => status === 200 },
    )
    const agent = await world.agent()
    await using service = await echo()
    const listener = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    const port = Number(/:(\d+)$/.exec(listener.url)?.[1])
    const socket = connect({ port, host: '127.0.0.1' })
    socket.end('hello')
    await once(socket.resume(), 'close')
    await agent.close()
    const lines = await until(async () => linesIn(world, 'traffic.jsonl'), {
      fits: found => types.every(type => found.some(line => line.event_type === type)),
    })
    const of = (type: string) => lines.filter(line => line.event_type === type)
    const request = of('http_request_complete.v0').find(
      line => line.event_id.slice(3) === answer.requestId.slice(3),
    )?.object
    assert.equal(request.conn.client_ip, '127.0.0.1')
    assert.equal(request.conn.server_name, 'a.example.com')
    assert.equal(request.http.request.method, 'GET')
    assert.deepEqual(request.http.request.url, { scheme: 'https', host: 'a.example.com', path: '/x' })
    assert.equal(request.http.request.user_agent, 'test/1')
    assert.equal(request.http.response.status_code, 200)
    assert.equal(request.http.response.body_length, 5)
    assert.match(request.tls.version, /^TLS/)
    const connection = of('tcp_connection_closed.v0')[0]?.object.conn
    assert.equal(connection.bytes_in, 5)
    assert.equal(connection.bytes_out, 5)
    assert.equal(connection.server_port, port)
    const [start, stop] = [of('agent_session_start.v0')[0], of('agent_session_stop.v0')[0]]
    assert.match(start?.object.session.id, /^ts_/)
    assert.equal(start?.object.session.id, stop?.object.session.id)
    assert.equal(start?.object.stopped_at, null)
    assert.ok(stop?.object.stopped_at)
  })
}

test('a source takes effect with the next event, and stops when it is removed', async () => {
  await using world = await World.start()
  await world.make('/ip_policies')
  const id = await subscribed(world, ['ip_policy_created.v0'], 'changes.jsonl')
  const first = await world.make('/ip_policies')
  await world.make(`/event_subscriptions/${id}/sources`, { type: 'ip_policy_deleted.v0' })
  await world.server.api.delete(`/ip_policies/${first.id}`)
  await world.server.api.delete(`/event_subscriptions/${id}/sources/ip_policy_created.v0`)
  await world.make('/ip_policies')
  const last = await world.make('/ip_policies')
  await world.server.api.delete(`/ip_policies/${last.id}`)
  const lines = await happened(world, 'changes.jsonl', 3)
  assert.deepEqual(
    lines.map(({ event_type, object }) => [event_type, object.id]),
    [
      ['ip_policy_created.v0', first.id],
      ['ip_policy_deleted.v0', first.id],
      ['ip_policy_deleted.v0', last.id],
    ],
  )
})

test('a test event shows whether a destination works', async () => {
  await using world = await World.start()
  await using receiver = await Receiver.start()
  const { api } = world.server
  const good = await world.make('/event_destinations', { target: { file: { path: 'test.jsonl' } } })
  const answer = await api.post(`/event_destinations/${good.id}/test`)
  assert.equal(answer.status, 204)
  assert.equal(linesIn(world, 'test.jsonl')[0]?.event_type, 'test.v0')
  receiver.answer = () => ({ status: 503 })
  const dead = await world.make('/event_destinations', { target: { webhook: { url: receiver.url } } })
  await assertRefused(api, { path: `/event_destinations/${dead.id}/test`, status: 400, code: 90223 })
  for (const status of [400, 401, 404]) {
    receiver.answer = () => ({ status })
    const refused = { path: `/event_destinations/${dead.id}/test`, status: 400, code: 90222 }
    await assertRefused(api, { ...refused, says: new RegExp(`responded with ${status}`) })
  }
  // A failing destination is not a failure of the server: it must not raise an alarm.
  const metrics = await (await fetch(`${api.url}/metrics`)).text()
  assert.doesNotMatch(metrics, /adit_api_requests_total\{[^}]*code_class="5xx"\} [1-9]/)
  assert.equal((await api.post('/event_destinations/ed_000000000000000000000000000/test')).status, 404)
})

test('the state of delivery is shown, and dead letters are replayed on request', async () => {
  await using world = await World.start()
  await using receiver = await Receiver.start()
  const { api } = world.server
  receiver.answer = () => ({ status: 400 })
  const destination = await world.make('/event_destinations', { target: { webhook: { url: receiver.url } } })
  const subscription = await world.make('/event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination.id],
  })
  await world.make('/ip_policies')
  const { body } = await until(() => api.get('/event_deliveries'), {
    fits: found => found.body.event_deliveries[0]?.dead_letters === 1,
  })
  const [delivery] = body.event_deliveries
  assert.equal(delivery.subscription.id, subscription.id)
  assert.equal(delivery.destination.uri, `${api.url}/event_destinations/${destination.id}`)
  assert.match(delivery.last_error, /400/)
  assert.equal(delivery.last_success_at, null)
  const [refused, ...earlier] = delivery.attempts
  assert.deepEqual([refused.events, earlier], [1, []])
  assert.match(refused.error, /400/)
  assert.ok(refused.duration_ms > 0 && Date.parse(refused.at) > 0)
  assert.equal(delivery.uri, `${api.url}/event_deliveries/${delivery.id}`)
  receiver.answer = () => ({ status: 200 })
  assert.equal((await api.post(`/event_deliveries/${delivery.id}/replay`)).status, 204)
  const healed = await until(() => api.get(`/event_deliveries/${delivery.id}`), {
    fits: found => found.body.dead_letters === 0,
  })
  assert.deepEqual([healed.body.attempts[0].error, healed.body.attempts.length], [null, 2])
  assert.equal(healed.body.failing_since, null)
  const metrics = await (await fetch(`${api.url}/metrics`)).text()
  assert.match(metrics, /adit_event_delivery_total\{result="delivered"\} 1/)
  const { id } = subscription
  assert.equal((await api.delete(`/event_subscriptions/${id}`)).status, 204)
  assert.equal((await api.delete(`/event_destinations/${destination.id}`)).status, 204)
})

test('events refused for a wrong key wait in order, and are sent when the destination is changed', async () => {
  await using world = await World.start()
  await using receiver = await Receiver.start()
  await using better = await Receiver.start()
  const { api } = world.server
  const taken: string[] = []
  // The webhook sends each event separately.
  better.answer = sent => {
    taken.push((sent as unknown as Line).object.id)
    return { status: 200 }
  }
  receiver.answer = () => ({ status: 401 })
  const destination = await world.make('/event_destinations', { target: { webhook: { url: receiver.url } } })
  const { id } = await world.make('/event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination.id],
  })
  const policies: string[] = []
  for (let n = 0; n < 5; n++) policies.push((await world.make('/ip_policies')).id)
  const { body } = await until(() => api.get(`/event_deliveries?subscription_id=${id}`), {
    fits: found => found.body.event_deliveries[0]?.failing_since != null,
  })
  const [delivery] = body.event_deliveries
  assert.match(delivery.last_error, /401/)
  assert.equal(delivery.dead_letters, 0)
  await world.change(`/event_destinations/${destination.id}`, { target: { webhook: { url: better.url } } })
  await better.until(() => taken.length === 5)
  assert.deepEqual(taken, policies)
})

test('deliveries can be narrowed to those of a subscription or a destination', async () => {
  await using world = await World.start()
  const { api } = world.server
  const destinations: string[] = []
  for (const path of ['a.jsonl', 'b.jsonl'])
    destinations.push((await world.make('/event_destinations', { target: { file: { path } } })).id)
  const [one, other] = destinations
  const make = (ids: readonly (string | undefined)[]) =>
    world.make('/event_subscriptions', {
      sources: [{ type: 'ip_policy_created.v0' }],
      destination_ids: ids,
    })
  const [both, single] = [(await make(destinations)).id, (await make([one])).id]
  await until(() => api.get('/event_deliveries'), { fits: ({ body }) => body.event_deliveries.length === 3 })
  const found = async (query: string): Promise<string[]> => {
    const listed: string[] = []
    for (let next = `/event_deliveries?limit=1&${query}`; next !== null;) {
      const { body } = await api.get(next)
      for (const { subscription, destination } of body.event_deliveries)
        listed.push(`${subscription.id} ${destination.id}`)
      next = body.next_page_uri
    }
    return listed.toSorted()
  }
  assert.deepEqual(await found(`subscription_id=${both}`), [`${both} ${one}`, `${both} ${other}`].toSorted())
  assert.deepEqual(await found(`destination_id=${one}`), [`${both} ${one}`, `${single} ${one}`].toSorted())
  assert.deepEqual(await found(`subscription_id=${both}&destination_id=${other}`), [`${both} ${other}`])
  assert.deepEqual(await found('subscription_id=esb_none'), [])
  const refused = { method: 'GET', path: '/event_deliveries?subscription=x', status: 400, code: 231 } as const
  await assertRefused(api, { ...refused, says: /subscription_id/ })
})

onEachStore('audit events', api => {
  test('are listed newest first, page by page, and found by id', async () => {
    const policies = []
    for (let n = 0; n < 5; n++)
      policies.push(await createResource(api(), '/ip_policies', { metadata: String(n) }))
    const listed: string[] = []
    let next = '/audit_events?limit=2&type=ip_policy_created.v0'
    for (; next !== null;) {
      const { body } = await api().get(next)
      assert.ok(body.audit_events.length <= 2)
      listed.push(...body.audit_events.map((event: Line) => event.object.id))
      next = body.next_page_uri
    }
    assert.deepEqual(listed, policies.map(({ id }) => id).toReversed())
    const [newest] = (await api().get('/audit_events?limit=1')).body.audit_events
    const { body: found } = await api().get(`/audit_events/${newest.id}`)
    assert.deepEqual(found, newest)
    assert.equal(found.type, 'ip_policy_created.v0')
    assert.equal(found.principal.source, 'API')
    assert.equal(found.principal.ip, '127.0.0.1')
    assert.match(found.principal.credential.id, /^ak_/)
    assert.equal((await api().get('/audit_events/ev_000000000000000000000000000')).status, 404)
  })

  test('can be narrowed by who, what, which, from where and when', async () => {
    const policy = await createResource(api(), '/ip_policies')
    const { body: key } = await api().post('/api_keys', { description: 'other' })
    const count = async (query: string): Promise<number> =>
      (await api().get(`/audit_events?${query}`)).body.audit_events.length
    assert.equal(await count(`object_id=${policy.id}`), 1)
    assert.equal(await count(`object_id=${policy.id}&type=ip_policy_deleted.v0`), 0)
    assert.equal(await count(`object_id=${key.id}&ip=127.0.0.1`), 1)
    assert.equal(await count(`object_id=${key.id}&ip=10.0.0.1`), 0)
    const [event] = (await api().get(`/audit_events?object_id=${policy.id}`)).body.audit_events
    assert.ok((await count(`principal=${event.principal.id}`)) > 1)
    assert.ok((await count(`principal=${encodeURIComponent(event.principal.subject)}`)) > 1)
    assert.equal(await count('principal=unknown'), 0)
    assert.equal(await count('until=2020-01-01T00:00:00Z'), 0)
    assert.equal(await count('since=2999-01-01T00:00:00Z'), 0)
    assert.ok((await count('since=2020-01-01T00:00:00Z&until=2999-01-01T00:00:00Z')) > 1)
    assert.equal(await count(`since=${event.occurred_at}&object_id=${policy.id}`), 1)
    assert.equal(await count(`until=${event.occurred_at}&object_id=${policy.id}`), 0)
  })

  test('are not given to filters that cannot be read', async () => {
    const refused = { method: 'GET', status: 400 } as const
    await assertRefused(api(), { ...refused, path: '/audit_events?since=today', code: 90221, field: 'since' })
    await assertRefused(api(), { ...refused, path: '/audit_events?principal=', code: 90220 })
    await assertRefused(api(), { ...refused, path: '/audit_events?who=me', code: 231, says: /object_id/ })
    await assertRefused(api(), { ...refused, path: '/ip_policies?type=x', code: 231 })
  })
})
