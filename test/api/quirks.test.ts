import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { apiWithAgent } from '../e2e/compat/agent-online.ts'
import { startServer, type Caller, type TestServer } from '../support/server.ts'
import { createResource } from '../support/each-store.ts'
import { newSshKey } from '../support/openssh.ts'
import { Folder } from '../support/folder.ts'

const typeScript = { 'user-agent': 'ngrok-api-typescript/0.10.0/v26.10.0', 'ngrok-version': '2' }
const python = { 'user-agent': 'ngrok-api-python/0.19.0/3.13.1', 'ngrok-version': '2' }
const go = { 'user-agent': 'ngrok-api-go/5.4.1/go1.21', 'ngrok-version': '2' }
const curl = { 'user-agent': 'curl/8.5.0' }
const others = { go, curl, 'a client without User-Agent': { 'user-agent': '' } }

suite('what published clients need', () => {
  let server: TestServer
  let api: Caller
  before(async () => {
    server = await startServer()
    api = server.api
  })
  after(() => server[Symbol.asyncDispose]())

  const deleteAs = async (headers: Record<string, string>) => {
    const { uri } = await createResource(api, '/ip_policies')
    const { status, body } = await api.delete(uri, { headers })
    assert.equal((await api.get(uri)).status, 404)
    return { status, body }
  }

  test('DELETE answers 200 and {} to the TypeScript client', async () => {
    assert.deepEqual(await deleteAs(typeScript), { status: 200, body: {} })
  })

  for (const [name, headers] of Object.entries({ python, ...others })) {
    test(`DELETE answers 204 without a body to ${name}`, async () => {
      assert.deepEqual(await deleteAs(headers), { status: 204, body: undefined })
    })
  }

  test('commands answer 200 and {} to the TypeScript and the Python client, whatever the body is', async () => {
    await using agent = await apiWithAgent()
    const answers = [
      await agent.post('restart', typeScript, 'ID'),
      await agent.post('stop', typeScript, 'ID'),
      await agent.post('update', typeScript, '{"id":"ID"}'),
      await agent.post('restart', python),
    ]
    for (const answer of answers) assert.deepEqual(answer, { status: 200, body: {} })
    assert.deepEqual(agent.commands, ['restart', 'stop', 'update', 'restart'])
  })

  test('commands answer 204 to others', async () => {
    await using agent = await apiWithAgent()
    for (const headers of Object.values(others)) {
      assert.deepEqual(await agent.post('stop', headers, '{}'), { status: 204, body: undefined })
    }
  })

  test('beforeId means before_id, and only one of them may be given', async () => {
    const { id: older } = await createResource(api, '/ip_policies')
    const { id: newer } = await createResource(api, '/ip_policies')
    const page = await api.get(`/ip_policies?beforeId=${newer}&limit=1`, { headers: typeScript })
    assert.equal(page.body.ip_policies[0].id, older)
    const both = await api.get(`/ip_policies?beforeId=${newer}&before_id=${newer}`)
    assert.equal(both.status, 400)
    assert.equal((await api.get('/ip_policies?beforeid=x')).status, 400)
  })

  test('path parameters that a body repeats are ignored', async () => {
    const { id, uri } = await createResource(api, '/ip_policies')
    const patched = await api.patch(uri, { id: 'ipp_another', description: 'new' })
    assert.partialDeepStrictEqual(patched.body, { id, description: 'new' })
    const edge = await createResource(api, '/edges/https')
    const match = { match_type: 'path_prefix', match: '/' }
    const route = await createResource(api, `/edges/https/${edge.id}/routes`, {
      edge_id: 'edghts_another',
      ...match,
    })
    assert.equal(route.edge_id, edge.id)
    assert.equal((await api.patch(route.uri, { edge_id: 'x', id: 'y' })).status, 200)
    assert.equal((await api.post('/ip_policies', { id: 'ipp_1' })).status, 400)
  })

  test('a module is put bare or wrapped in "module"', async () => {
    const { id, uri } = await createResource(api, '/edges/tls')
    const bare = { terminate_at: 'agent' }
    for (const body of [bare, { module: bare }, { id, module: bare }]) {
      const answer = await api.put(`${uri}/tls_termination`, body)
      assert.deepEqual(answer.body, { enabled: true, terminate_at: 'agent', min_version: null })
    }
    const unknown = await api.put(`${uri}/tls_termination`, { module: { ...bare, surprise: 1 } })
    assert.equal(unknown.status, 400)
  })

  test('a module is put with an empty body and no Content-Type, as the Python client does', async () => {
    const { uri } = await createResource(api, '/edges/tls')
    const answer = await api.call('PUT', `${uri}/tls_termination`, { headers: python })
    assert.deepEqual(answer.body, { enabled: true, terminate_at: 'edge', min_version: null })
  })

  test('what the Python client sends for arguments left out counts as absent for it alone', async () => {
    const unset: [path: string, body: object, shown: object][] = [
      ['/backends/http_response', { status_code: 0, headers: {} }, { status_code: 200, headers: null }],
      ['/reserved_addrs', { region: '' }, { region: 'us' }],
      ['/ip_policies', { newer_list: [], newer_text: '' }, { description: '' }],
    ]
    for (const [path, body, shown] of unset) {
      assert.partialDeepStrictEqual((await api.post(path, body, { headers: python })).body, shown)
      for (const headers of Object.values({ typeScript, ...others })) {
        assert.equal((await api.post(path, body, { headers })).status, 400)
      }
    }
    const named = await api.post('/ip_policies', { newer_text: 'said' }, { headers: python })
    assert.equal(named.status, 400)
    const { uri } = await createResource(api, '/ip_policies', { description: 'old' })
    const patched = await api.patch(uri, { description: '', newer_list: [] }, { headers: python })
    assert.equal(patched.body.description, '')
  })

  const rewritten: [path: string, field: string, sent: object, meant: object][] = [
    ['/backends/http_response', 'headers', { '_x-_git_hub': 'a', b: 'c' }, { 'x-github': 'a', b: 'c' }],
    [
      '/backends/tunnel_group',
      'labels',
      { _team: 'a', cost_center_no: '7' },
      { Team: 'a', cost_center_no: '7' },
    ],
  ]
  for (const [path, field, sent, meant] of rewritten) {
    test(`keys of ${field} are restored for the TypeScript client only`, async () => {
      const mended = await api.post(path, { [field]: sent }, { headers: typeScript })
      assert.deepEqual(mended.body[field], meant)
      for (const headers of Object.values({ python, ...others })) {
        assert.deepEqual((await api.post(path, { [field]: sent }, { headers })).body[field], sent)
      }
    })
  }

  test('ids as keys are restored exactly, for the TypeScript client only', async () => {
    for (let count = 0; count < 20; count++) {
      const { id } = await createResource(api, '/backends/http_response')
      const backends = { [id.replace(/[A-Z]/g, (letter: string) => `_${letter.toLowerCase()}`)]: 7 }
      const { body } = await api.post('/backends/weighted', { backends }, { headers: typeScript })
      assert.deepEqual(body.backends, { [id]: 7 })
      assert.equal((await api.post('/backends/weighted', { backends }, { headers: go })).status, 400)
    }
  })

  test('keys inside the free part of a policy are restored, its own names are not', async () => {
    const { uri } = await createResource(api, '/edges/tcp')
    const rule = (config: object) => ({ inbound: [{ actions: [{ type: 'add-headers', config }] }] })
    const sent = rule({ status_code: 1, headers: [{ '_x-_a': { _b: 1 } }] })
    const { body } = await api.put(`${uri}/policy`, { module: sent }, { headers: typeScript })
    assert.partialDeepStrictEqual(body, rule({ status_code: 1, headers: [{ 'X-A': { B: 1 } }] }))
    assert.equal((await api.put(`${uri}/policy`, { _inbound: [] }, { headers: typeScript })).status, 400)
    assert.partialDeepStrictEqual((await api.put(`${uri}/policy`, sent, { headers: go })).body, sent)
  })

  test('a Date, which the TypeScript client sends as {}, counts as absent for it alone', async () => {
    using folder = new Folder()
    const certificate = {
      ssh_certificate_authority_id: (await createResource(api, '/ssh_certificate_authorities')).id,
      public_key: await newSshKey(folder, 'host', 'ed25519'),
      principals: ['host.example'],
      valid_until: {},
    }
    const path = '/ssh_host_certificates'
    assert.equal((await api.post(path, certificate, { headers: typeScript })).status, 201)
    assert.equal(
      (await api.post(path, { ...certificate, valid_until: [] }, { headers: typeScript })).status,
      400,
    )
    for (const headers of Object.values(others)) {
      assert.equal((await api.post(path, certificate, { headers })).status, 400)
    }
  })

  test('null means absent for optional fields, and nothing inside a map', async () => {
    const nothing = { description: null, metadata: null, body: null, headers: null, status_code: null }
    const { headers, status_code: status } = await createResource(api, '/backends/http_response', nothing)
    assert.deepEqual({ headers, status }, { headers: null, status: 200 })
    const { uri } = await createResource(api, '/ip_policies', { description: 'kept' })
    assert.equal((await api.patch(uri, { description: null })).body.description, 'kept')
    assert.equal((await api.post('/ip_restrictions', { type: null })).status, 400)
    assert.equal((await api.post('/backends/http_response', { headers: { 'x-a': null } })).status, 400)
  })
})
