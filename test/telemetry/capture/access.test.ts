import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { assertRefused } from '../../support/each-store.ts'
import { type Member, newMember } from '../../support/members.ts'
import { secretText } from '../../support/secrets.ts'
import { until } from '../../support/until.ts'
import { CaptureWorld, valuesOf } from './support.ts'

suite('captures of members, with two gateway processes', () => {
  let world: CaptureWorld
  let alice: Member
  let bob: Member

  before(async () => {
    world = await CaptureWorld.start({ workers: '2' })
    alice = await newMember(world.server.api)
    bob = await newMember(world.server.api)
  })
  after(() => world[Symbol.asyncDispose]())

  test('record what they own, and only they and admins read it', async () => {
    const host = 'alice.adit.localhost'
    await world.tunnel(alice, host)
    const as = { token: alice.token }
    const { status, body: capture } = await world.server.api.post('/captures', { host, duration: 60 }, as)
    assert.equal(status, 201)
    assert.equal(Date.parse(capture.expires_at) - Date.parse(capture.created_at), 60_000)
    const visit = () => world.askPlain(host, '/here')
    await world.until(visit, true)
    // Any of the processes serves it.
    for (let visits = 0; visits < 6; visits++) {
      const { requestId } = await visit()
      const { response } = await world.captured(requestId)
      assert.equal(response.body, 'fine')
      assert.equal((await world.read(requestId, as)).status, 200)
      const refused = await world.read(requestId, { token: bob.token })
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_90414'])
    }
    const listed = async (token: string) => (await world.server.api.get('/captures', { token })).body.captures
    assert.deepEqual((await listed(alice.token)).length, 1)
    assert.deepEqual(await listed(bob.token), [])
    assert.equal((await world.server.api.delete(`/captures/${capture.id}`, { token: bob.token })).status, 404)
    assert.equal((await world.server.api.delete(`/captures/${capture.id}`, as)).status, 204)
    await world.until(visit, false)
  })

  test('are rejected for names, edges and routes of others', async () => {
    await world.tunnel(alice, 'theirs.adit.localhost')
    const edge = await world.edge(['edge.example.test'])
    const route = await world.route(edge, '/', await world.fixedResponse('fine'))
    for (const target of [{ host: 'theirs.adit.localhost' }, { edge_id: edge }, { route_id: route }]) {
      const { status, body } = await world.server.api.post('/captures', target, { token: bob.token })
      assert.deepEqual([status, body.error_code], [403, 'ERR_ADIT_90411'])
      assert.match(body.msg, /is not yours/)
    }
    assert.deepEqual((await world.server.api.get('/captures')).body.captures, [])
  })

  test('of a name do not record what another owner serves there later', async () => {
    const host = 'passed-on.adit.localhost'
    const visit = () => world.askPlain(host, '/')
    const first = await world.tunnel(bob, host)
    const { body } = await world.server.api.post('/captures', { host }, { token: bob.token })
    await world.until(visit, true)
    await first.close()
    await until(async () => {
      const { body: all } = await world.server.api.get('/endpoints')
      return all.endpoints.every(({ hostport }: { hostport: string }) => !hostport.startsWith(host))
    })
    await world.tunnel(alice, host)
    const { requestId } = await until(visit, { fits: ({ text }) => text === 'fine' })
    assert.equal(await world.isCaptured(requestId), false)
    assert.equal((await world.server.api.get(`/captures/${body.id}`)).status, 200)
  })

  test('of an agent with capture turned on record all requests, for its owner', async () => {
    const host = 'always.adit.localhost'
    await world.tunnel(alice, host, { gatewayCapture: true })
    const { requestId, text } = await until(() => world.askPlain(host, '/'), {
      fits: got => got.text === 'fine',
    })
    assert.equal(text, 'fine')
    await world.captured(requestId)
    assert.equal((await world.read(requestId, { token: alice.token })).status, 200)
    assert.equal((await world.read(requestId, { token: bob.token })).status, 403)
    const explain = { request_url: `http://${host}/` }
    const { body } = await world.server.api.post('/requests/explain', explain, { token: alice.token })
    assert.equal(body.captured_by, 'agent')
    const captured = async (token: string) => (await world.server.api.get('/status', { token })).body.captured
    assert.deepEqual(await captured(alice.token), [
      {
        by: 'agent',
        id: body.tunnel_id,
        edge_id: null,
        name: `http://${host}:${world.server.bound.http?.port}`,
      },
    ])
    assert.deepEqual(await captured(bob.token), [])
  })

  test('of a route are turned on and off by its option', async () => {
    const edge = await world.edge(['flagged.example.test'])
    const route = await world.route(edge, '/', await world.fixedResponse('fine'), { capture: true })
    const visit = () => world.ask('flagged.example.test/')
    await world.until(visit, true)
    const { requestId } = await visit()
    // The edge belongs to an admin.
    assert.equal((await world.read(requestId, { token: bob.token })).status, 403)
    const { captured } = (await world.server.api.get('/status')).body
    assert.ok(captured.some(({ by, id }: { by: string; id: string }) => by === 'route' && id === route))
    const path = `/edges/https/${edge}/routes/${route}`
    assert.equal((await world.server.api.get(path)).body.capture, true)
    await world.change(path, { capture: false })
    await world.until(visit, false)
  })

  test('of a domain are turned on by its endpoint configuration, also for agents', async () => {
    const as = { token: alice.token }
    const { api } = world.server
    const created = await api.post('/endpoint_configurations', { type: 'http', capture: true }, as)
    assert.deepEqual([created.status, created.body.capture], [201, true])
    const domain = { name: 'configured', http_endpoint_configuration_id: created.body.id }
    assert.equal((await api.post('/reserved_domains', domain, as)).status, 201)
    await world.tunnel(alice, 'configured.adit.localhost')
    const visit = () => world.askPlain('configured.adit.localhost', '/')
    await world.until(visit, true)
    const refused = await api.patch(
      `/endpoint_configurations/${created.body.id}`,
      { capture: false },
      { token: bob.token },
    )
    assert.equal(refused.status, 403)
    await world.change(`/endpoint_configurations/${created.body.id}`, { capture: false })
    await world.until(visit, false)
  })

  test('need one target that exists, and end in time', async () => {
    const edge = `edghts_${'0'.repeat(27)}`
    const { api } = world.server
    const refused = [
      { body: {}, code: 90_410 },
      { body: { host: 'a.example.test', edge_id: edge }, code: 90_410 },
      { body: { edge_id: edge }, code: 223, says: /there is no resource/ },
      { body: { route_id: 'x' }, code: 223, says: /there is no resource/ },
    ]
    for (const each of refused) await assertRefused(api, { path: '/captures', ...each }, ['/captures'])
    for (const body of [{ host: 'a.example.test', duration: 601 }, { host: '-' }])
      assert.equal((await api.post('/captures', body)).status, 400)
  })
})

suite('full capture', () => {
  test('records every request, and masks configured headers', async () => {
    await using world = await CaptureWorld.start({
      traffic_full_capture: 'on',
      capture_masked_headers: 'X-Api-Key, X-Session',
    })
    const edge = await world.edge(['full.example.test'])
    await world.route(edge, '/', await world.fixedResponse('fine'))
    const { body: self } = await world.server.api.get('/self')
    assert.equal(self.account.traffic_full_capture, true)
    const headers = { 'x-api-key': secretText('api key'), 'x-other': 'shown' }
    const { requestId } = await world.ask('full.example.test/', { headers })
    const { request } = await world.captured(requestId)
    assert.deepEqual(valuesOf(request, 'x-api-key'), ['[masked]'])
    assert.deepEqual(valuesOf(request, 'x-other'), ['shown'])
  })

  test('shows all values when masking is off', async () => {
    await using world = await CaptureWorld.start({ traffic_full_capture: 'on', capture_masking: 'off' })
    const edge = await world.edge(['open.example.test'])
    await world.route(edge, '/', await world.fixedResponse('fine'))
    const { requestId } = await world.ask('open.example.test/', { headers: { authorization: 'Basic eDp5' } })
    assert.deepEqual(valuesOf((await world.captured(requestId)).request, 'authorization'), ['Basic eDp5'])
  })
})
