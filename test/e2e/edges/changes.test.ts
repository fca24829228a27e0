import assert from 'node:assert/strict'
import { Agent } from 'node:https'
import { suite, test } from 'node:test'
import { World } from './world.ts'
import { until } from '../../support/until.ts'

suite('a change by the API', () => {
  test('applies to traffic at once and drops no connection', async t => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const [one, two] = [await world.fixedResponse('one'), await world.fixedResponse('two')]
    const route = await world.route(edge, '/', one)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    assert.equal((await world.ask('a.example.test', { agent })).text, 'one')
    const [socket] = Object.values(agent.freeSockets).flat()
    const began = performance.now()
    await world.change(`/edges/https/${edge}/routes/${route}`, { backend: { backend_id: two } })
    const changed = performance.now()
    await until(() => world.ask('a.example.test', { agent }), { fits: ({ text }) => text === 'two' })
    const ms = (from: number) => (performance.now() - from).toFixed(1)
    t.diagnostic(`seen ${ms(changed)} ms after the API answered, ${ms(began)} ms after it was asked`)
    assert.deepEqual(Object.values(agent.freeSockets).flat(), [socket], 'the connection went on')
    agent.destroy()
  })

  test('of a backend applies to every route that refers to it, directly or indirectly', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const leaf = await world.fixedResponse('before')
    const weighted = await world.make('/backends/weighted', { backends: { [leaf]: 1 } })
    const failover = await world.make('/backends/failover', { backends: [weighted.id] })
    await world.route(edge, '/', failover.id)
    assert.equal((await world.ask('a.example.test')).text, 'before')
    await world.change(`/backends/http_response/${leaf}`, { body: 'after' })
    await until(() => world.ask('a.example.test'), { fits: ({ text }) => text === 'after' })
  })

  test('keeps the state of a circuit breaker until its own settings change', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const broken = await world.fixedResponse('broken', 500)
    const circuit_breaker = {
      tripped_duration: 3600,
      rolling_window: 60,
      num_buckets: 10,
      volume_threshold: 2,
      error_threshold_percentage: 0.1,
    }
    const route = await world.route(edge, '/', broken, { circuit_breaker })
    await until(() => world.ask('a.example.test'), { fits: ({ code }) => code === 'ERR_ADIT_3202' })
    const other = await world.route(edge, '/other', await world.fixedResponse('fine'))
    await world.change(`/edges/https/${edge}/routes/${route}`, { description: 'changed' })
    await world.change(`/edges/https/${edge}/routes/${other}`, { description: 'changed' })
    await world.change(`/backends/http_response/${broken}`, { status_code: 200 })
    await until(() => world.ask('a.example.test/other'), { fits: ({ status }) => status === 200 })
    assert.equal((await world.ask('a.example.test')).code, 'ERR_ADIT_3202', 'it has not forgotten')
    const changed = { circuit_breaker: { ...circuit_breaker, volume_threshold: 3 } }
    await world.change(`/edges/https/${edge}/routes/${route}`, changed)
    await until(() => world.ask('a.example.test'), { fits: ({ status }) => status === 200 })
  })

  test('removes a route, an edge and its endpoint', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const [rest, inner] = [await world.fixedResponse('rest'), await world.fixedResponse('inner')]
    await world.route(edge, '/', rest)
    const route = await world.route(edge, '/inner', inner)
    assert.equal((await world.ask('a.example.test/inner')).text, 'inner')
    const { api } = world.server
    assert.deepEqual(
      (await api.get('/endpoints')).body.endpoints.map((each: { type: string; hostport: string }) => [
        each.type,
        each.hostport,
      ]),
      [['edge', 'a.example.test:443']],
    )
    assert.equal((await api.delete(`/edges/https/${edge}/routes/${route}`)).status, 204)
    await until(() => world.ask('a.example.test/inner'), { fits: ({ text }) => text === 'rest' })
    assert.equal((await api.delete(`/edges/https/${edge}`)).status, 204)
    await until(() => world.ask('a.example.test'), { fits: ({ code }) => code === 'ERR_ADIT_3200' })
    assert.deepEqual((await api.get('/endpoints')).body.endpoints, [])
  })
})

suite('an endpoint that cannot be served', () => {
  test('answers 503 with the reason, and is served as soon as it can be', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const route = await world.route(edge, '/', await world.fixedResponse('fine'), {
      traffic_policy: { value: '{"on_http_request":[]}' },
    })
    const refused = await world.ask('a.example.test')
    assert.deepEqual([refused.status, refused.code], [503, 'ERR_ADIT_90043'])
    assert.match(refused.text, /traffic_policy/)
    const path = `/edges/https/${edge}/routes/${route}/traffic_policy`
    assert.equal((await world.server.api.delete(path)).status, 204)
    await until(() => world.ask('a.example.test'), { fits: ({ text }) => text === 'fine' })
  })
})
