import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, suite, test } from 'node:test'
import { startServer, type TestServer } from '../support/server.ts'
import { secretText } from '../support/secrets.ts'
import { relayTo } from './relay.ts'
import { dial, readAll, signIn, StatusLog, tcp, visit, web } from './support.ts'
import { until } from '../support/until.ts'

const isOnline = ({ state }: { state: string }): boolean => state === 'online'

suite('an agent that loses its connection', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server[Symbol.asyncDispose]())
  const agentPort = (of: TestServer): number => of.bound.agent?.port ?? 0

  test('reconnects as the same session, with the same addresses', async () => {
    await using relay = await relayTo(agentPort(server))
    await using service = await web((_, response) => response.end('still here'))
    const log = new StatusLog()
    await using agent = await signIn(server, { server: relay.address, onStatus: log.onStatus })
    const named = await agent.listen({
      proto: 'http',
      forwardTo: service.port,
      basicAuth: [`me:${secretText('password')}`],
    })
    const tcpTunnel = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    const known = [agent.sessionId, named.id, named.url, tcpTunnel.id, tcpTunnel.url]
    for (let turn = 0; turn < 3; turn++) {
      const reported = log.seen.length
      relay.cut()
      const lost = await log.next(({ state }) => state === 'reconnecting', reported)
      assert.equal(lost.error?.code, 'ERR_ADIT_90084')
      await log.next(isOnline, reported)
    }
    assert.deepEqual([agent.sessionId, named.id, named.url, tcpTunnel.id, tcpTunnel.url], known)
    const fetchIt = () => visit(named.url, { auth: `me:${secretText('password')}` })
    const page = await until(fetchIt, { fits: ({ status }) => status !== 404 && status !== 502 })
    assert.equal(page.body, 'still here')
    // The first options still apply: clients without the password are rejected.
    assert.equal((await visit(named.url)).status, 401)
    // Its tunnel is back a moment later, and until then a connection is refused or closed.
    const ask = async (): Promise<string> => {
      const socket = await dial(tcpTunnel.url)
      socket.end('GET / HTTP/1.0\r\n\r\n')
      return readAll(socket)
    }
    await until(() => ask().catch(() => ''), { fits: text => text.includes('still here') })
    assert.equal(relay.count, 4)
  })

  test('restores labelled tunnels under the same id', async () => {
    await using relay = await relayTo(agentPort(server))
    const log = new StatusLog()
    await using agent = await signIn(server, { server: relay.address, onStatus: log.onStatus })
    const tunnel = await agent.listen({ labels: { team: 'blue' }, forwardTo: 1 })
    const reported = log.seen.length
    relay.cut()
    await log.next(isOnline, reported)
    const { body } = await until(() => server.api.get('/tunnels'), {
      fits: ({ body: page }) => page.tunnels.some((it: { id: string }) => it.id === tunnel.id),
    })
    assert.deepEqual(body.tunnels.find((it: { id: string }) => it.id === tunnel.id).labels, { team: 'blue' })
  })

  test('keeps trying while the gateway is down, and requests an endpoint when it is up', async () => {
    await using relay = await relayTo(agentPort(server))
    await using service = await web((_, response) => response.end('late'))
    const log = new StatusLog()
    await using agent = await signIn(server, { server: relay.address, onStatus: log.onStatus })
    relay.refuse(true)
    relay.cut()
    await log.next(({ error }) => error?.code === 'ERR_ADIT_90082', log.seen.length)
    const listening = agent.listen({ proto: 'http', forwardTo: service.port })
    relay.refuse(false)
    const tunnel = await listening
    assert.equal((await visit(tunnel.url)).body, 'late')
  })

  test('detects a silent gateway on an open connection', async () => {
    await using relay = await relayTo(agentPort(server))
    const log = new StatusLog()
    await using agent = await signIn(server, {
      server: relay.address,
      onStatus: log.onStatus,
      heartbeat: { intervalMs: 30, limitMs: 150 },
    })
    const reported = log.seen.length
    relay.freeze()
    const { error } = await log.next(({ state }) => state === 'reconnecting', reported)
    assert.match(error?.message ?? '', /silent/)
    await log.next(isOnline, reported)
    assert.equal(agent.status.state, 'online')
  })

  test('resets the connections that went through it', async () => {
    await using relay = await relayTo(agentPort(server))
    await using service = await tcp(socket => socket.write('hello'))
    await using agent = await signIn(server, { server: relay.address })
    const { url } = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    const client = await dial(url)
    client.on('error', () => undefined)
    await once(client, 'data')
    const [inner] = service.sockets
    const { promise, resolve } = Promise.withResolvers<void>()
    inner?.once('close', () => resolve())
    relay.cut()
    await promise
    client.destroy()
  })

  test('reports why it is rejected, and keeps trying', async () => {
    const { body: credential } = await server.api.post('/credentials', {})
    const log = new StatusLog()
    await using agent = await signIn(server, { authtoken: credential.token, onStatus: log.onStatus })
    const tunnel = await agent.listen({ proto: 'http', forwardTo: 1 })
    const reported = log.seen.length
    await server.api.delete(`/credentials/${credential.id}`)
    const refused = await log.next(({ error }) => error?.code === 'ERR_ADIT_107', reported)
    assert.equal(refused.state, 'reconnecting')
    assert.equal(refused.retryInMs, 200)
    await log.next(({ error }) => error?.code === 'ERR_ADIT_107', log.seen.length)
    assert.equal(agent.tunnels.has(tunnel), true)
  })

  test('keeps its other tunnels when one address is taken meanwhile, and gets that one when it is free', async () => {
    await using relay = await relayTo(agentPort(server))
    await using service = await web((_, response) => response.end('mine'))
    const log = new StatusLog()
    await using agent = await signIn(server, { server: relay.address, onStatus: log.onStatus })
    const contested = await agent.listen({ proto: 'http', domain: 'contested', forwardTo: service.port })
    const quiet = await agent.listen({ proto: 'http', domain: 'quiet', forwardTo: service.port })
    relay.refuse(true)
    relay.cut()
    await using rival = await signIn(server)
    const taken = await until(() =>
      rival.listen({ proto: 'http', domain: 'contested', forwardTo: 1 }).catch(() => undefined),
    )
    const reported = log.seen.length
    relay.refuse(false)
    await log.next(isOnline, reported)
    await until(() => visit(quiet.url), { fits: ({ body }) => body === 'mine' })
    assert.equal((await visit(contested.url)).status, 502)
    await taken?.close()
    await until(() => visit(contested.url), { fits: ({ body }) => body === 'mine' })
  })

  test('closes a tunnel that its credential no longer allows', async () => {
    const { body: credential } = await server.api.post('/credentials', {})
    await using agent = await signIn(server, { authtoken: credential.token })
    const tunnel = await agent.listen({ proto: 'http', domain: 'forbidden', forwardTo: 1 })
    const other = await agent.listen({ proto: 'http', domain: 'allowed', forwardTo: 1 })
    await server.api.patch(`/credentials/${credential.id}`, { acl: ['bind:allowed.adit.localhost'] })
    const error = await tunnel.closed
    assert.equal(error?.code, 'ERR_ADIT_90053')
    assert.deepEqual(agent.tunnels, new Set([other]))
  })
})
