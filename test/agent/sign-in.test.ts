import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { type AgentError, connect, forward } from '#agent/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { secretText } from '../support/secrets.ts'
import { addressOf, disposable, HOST, optionsFor, signIn, StatusLog, visit, web } from './support.ts'
import { until } from '../support/until.ts'

suite('signing in', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server[Symbol.asyncDispose]())

  test('shows the agent in the API, with its own description', async () => {
    await using agent = await signIn(server, { metadata: 'from a test', userAgent: 'tester/1' })
    const { body } = await server.api.get(`/tunnel_sessions/${agent.sessionId}`)
    assert.equal(body.metadata, 'from a test')
    assert.equal(body.os, process.platform)
    assert.equal(agent.status.state, 'online')
    assert.equal(agent.status.region, 'us')
  })

  test('takes address and token from the environment', async () => {
    process.env['ADIT_SERVER_ADDR'] = addressOf(server)
    process.env['ADIT_AUTHTOKEN'] = server.authtoken
    process.env['ADIT_DATA_DIR'] = server.dataDir
    try {
      // On loopback the authority in the data folder is trusted as well.
      await using agent = disposable(await connect())
      assert.match(agent.sessionId, /^ts_/)
    } finally {
      for (const name of ['SERVER_ADDR', 'AUTHTOKEN', 'DATA_DIR']) delete process.env[`ADIT_${name}`]
    }
  })

  const refused = async (options: object, expected: object) => {
    const log = new StatusLog()
    await assert.rejects(connect({ ...optionsFor(server), onStatus: log.onStatus, ...options }), {
      name: 'AgentError',
      ...expected,
    })
    return log
  }

  test('is refused for an unknown token', async () => {
    const log = await refused(
      { authtoken: secretText('unknown authtoken') },
      { code: 'ERR_ADIT_107', permanent: true },
    )
    assert.deepEqual(
      log.seen.map(({ state }) => state),
      ['connecting', 'closed'],
    )
  })

  test('is refused for a missing or malformed token', async () => {
    await refused({ authtoken: '' }, { code: 'ERR_ADIT_4018', permanent: true, message: /ADIT_AUTHTOKEN/ })
    await refused({ authtoken: 'a b' }, { code: 'ERR_ADIT_105', permanent: true })
  })

  test('fails if the certificate of the gateway is not trusted', async () => {
    await refused({ ca: 'host' }, { code: 'ERR_ADIT_90083', permanent: true, message: /not trusted/ })
  })

  test('fails for an invalid address or CA', async () => {
    await refused({ server: 'non sense' }, { code: 'ERR_ADIT_90080', permanent: true })
    await refused({ ca: '/does/not/exist' }, { code: 'ERR_ADIT_90081', permanent: true, message: /ENOENT/ })
    await refused({ ca: '-----BEGIN nothing' }, { permanent: true })
  })

  test('is retried until the gateway is reachable, or the caller aborts', async () => {
    const silent = createServer(socket => socket.destroy())
    await once(silent.listen(0, HOST), 'listening')
    const { port } = silent.address() as { port: number }
    const log = new StatusLog()
    const stop = new AbortController()
    const connecting = connect({
      ...optionsFor(server),
      server: `${HOST}:${port}`,
      onStatus: log.onStatus,
      retry: { baseMs: 1, capMs: 4 },
      signal: stop.signal,
    })
    await log.next(({ error }) => error !== undefined, 4)
    const { state, error, retryInMs = NaN } = log.seen[3] ?? {}
    assert.equal(state, 'connecting')
    assert.equal(error?.code, 'ERR_ADIT_90082')
    assert.ok(retryInMs >= 0 && retryInMs <= 4)
    stop.abort()
    await assert.rejects(connecting, { name: 'AgentError', code: 'ERR_ADIT_90085' })
    silent.close()
  })

  test('ends with the signal', async () => {
    const stop = new AbortController()
    const agent = await connect({ ...optionsFor(server), signal: stop.signal })
    stop.abort()
    await agent.closed
    assert.equal(agent.status.state, 'closed')
    await assert.rejects(agent.listen({ forwardTo: 1 }), { code: 'ERR_ADIT_90085' })
    await assert.rejects(connect({ ...optionsFor(server), signal: stop.signal }), { code: 'ERR_ADIT_90085' })
  })

  test('may be for one tunnel only, and ends with it', async () => {
    await using service = await web((_, response) => response.end('alone'))
    const tunnel = await forward({
      ...optionsFor(server),
      onConnection: undefined,
      proto: 'http',
      forwardTo: service.port,
    })
    assert.equal((await visit(tunnel.url)).body, 'alone')
    // The sessions of the tests before may still be listed.
    const count = async () => (await server.api.get('/tunnel_sessions')).body.tunnel_sessions.length
    await until(count, { what: 'one session', fits: found => found === 1 })
    await tunnel.close()
    await until(count, { what: 'no session', fits: found => found === 0 })
  })

  test('leaves nothing behind when the one tunnel is refused', async () => {
    const wrong = forward({
      ...optionsFor(server),
      onConnection: undefined,
      proto: 'http',
      forwardTo: 'no/port',
    })
    await assert.rejects(wrong, (error: AgentError) => error.code === 'ERR_ADIT_90087' && error.permanent)
  })

  test('reports the latency of the gateway', async () => {
    const begun = performance.now()
    await using agent = await signIn(server, { heartbeat: { intervalMs: 20 } })
    const latency = await until(() => agent.latencyMs)
    assert.ok(latency > 0 && latency < performance.now() - begun)
    assert.equal(agent.status.latencyMs, agent.latencyMs)
  })
})
