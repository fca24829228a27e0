import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { startServer, type Caller, type TestServer } from '../support/server.ts'
import { caOf, dial, readAll, signIn, tcp, visit, web } from './support.ts'
import { until } from '../support/until.ts'
import { freePort } from '../support/free-ports.ts'

async function made(api: Caller, path: string, body: object): Promise<{ id: string }> {
  const answer = await api.post(path, body)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body as { id: string }
}

suite('a labelled tunnel', () => {
  const name = `edge.adit.localhost`
  let server: TestServer
  let api: Caller
  let url: string
  let ca: string
  before(async () => {
    server = await startServer()
    api = server.api
    url = `https://${name}:${server.bound.https?.port}/`
    ca = readFileSync(caOf(server), 'utf8')
  })
  after(() => server[Symbol.asyncDispose]())

  test('is reached through an HTTPS edge, shares the load with other agents, and reports that its service is down', async () => {
    const backend = await made(api, '/backends/tunnel_group', { labels: { app: 'shop' } })
    await made(api, '/reserved_domains', { domain: name })
    const edge = await made(api, '/edges/https', { hostports: [`${name}:443`] })
    const route = {
      match: '/',
      match_type: 'path_prefix',
      backend: { enabled: true, backend_id: backend.id },
    }
    await made(api, `/edges/https/${edge.id}/routes`, route)
    await using one = await web((_, response) => response.end('one'))
    await using two = await web((_, response) => response.end('two'))
    await using first = await signIn(server)
    await using second = await signIn(server)
    const tunnel = await first.listen({ labels: { app: 'shop' }, forwardTo: one.port, metadata: 'mine' })
    assert.equal(tunnel.url, '')
    assert.deepEqual(tunnel.labels, { app: 'shop' })
    assert.equal((await visit(url, { ca })).body, 'one')
    const other = await second.listen({ labels: { app: 'shop' }, forwardTo: two.port })
    const seen = new Set<string>()
    while (seen.size < 2) seen.add((await visit(url, { ca })).body)
    await tunnel.close()
    for (let count = 0; count < 5; count++) assert.equal((await visit(url, { ca })).body, 'two')
    await two[Symbol.asyncDispose]()
    assert.equal((await visit(url, { ca })).status, 502)
    await other.close()
    assert.equal((await visit(url, { ca })).status, 503)
  })

  test('is reached through a TCP edge', async () => {
    const backend = await made(api, '/backends/tunnel_group', { labels: { app: 'raw' } })
    await using service = await tcp(async socket => socket.end(`got ${await readAll(socket)}`))
    await using agent = await signIn(server)
    await agent.listen({ labels: { app: 'raw' }, forwardTo: service.port })
    const port = await freePort()
    const hostports = [`any.test:${port}`]
    await made(api, '/edges/tcp', { hostports, backend: { enabled: true, backend_id: backend.id } })
    // The gateway opens the port a moment after the edge was made.
    const socket = await until(() => dial(`tcp://any.test:${port}`).catch(() => undefined))
    socket.end('bytes')
    assert.equal(await readAll(socket), 'got bytes')
  })
})
