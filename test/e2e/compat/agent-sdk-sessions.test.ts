import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { callback, accessTo, Sdk } from './agent-sdk/sdk.ts'
import { openWorld, type World } from './agent-sdk/world.ts'
import { until } from '../../support/until.ts'

suite('the published SDK @ngrok/ngrok: sessions, commands and the end', { concurrency: true }, () => {
  let world: World
  before(async () => {
    world = await openWorld()
  })
  after(() => world[Symbol.asyncDispose]())

  const newSdk = (): Sdk => new Sdk(accessTo(world.server))
  const to = () => `http://127.0.0.1:${world.port}/`
  const status = async (path: string) => (await world.server.api.get(path)).status
  const goes = async (id: string, withinMs = 5000): Promise<void> => {
    const begun = performance.now()
    await until(async () => (await status(`/tunnels/${id}`)) === 404, { what: `${id} is gone` })
    // How soon depends on what else the machine does; it is judged in long runs.
    if (process.env['TEST_LONG'] === '1') assert.ok(performance.now() - begun < withinMs)
  }

  /** The session whose metadata is this. */
  const sessionWith = async (metadata: string): Promise<{ id: string }> => {
    const { body } = await world.server.api.get('/tunnel_sessions')
    return body.tunnel_sessions.find((each: { metadata: string }) => each.metadata === metadata)
  }

  suite('what the API shows', () => {
    let sdk: Sdk
    let domain: { id: string; domain: string }
    let listener: { id: string; url: string }
    let shown: { id: string }
    before(async () => {
      sdk = newSdk()
      const session = await sdk.connect(['metadata', 'shown'])
      domain = (await world.server.api.post('/reserved_domains', { domain: 'shown.adit.localhost' })).body
      listener = await sdk.call(
        session,
        ['httpEndpoint'],
        ['domain', domain.domain],
        ['metadata', 'a tunnel'],
        ['listenAndForward', to()],
      )
      shown = await sessionWith('shown')
    })
    after(() => sdk[Symbol.asyncDispose]())

    const read = async (path: string) => (await world.server.api.get(path)).body
    const uri = (path: string, id: string): string => `${world.server.api.url}/${path}/${id}`
    const ref = (path: string, id: string) => ({ id, uri: uri(path, id) })

    test('of the session', async () => {
      const { credentials } = await read('/credentials')
      const reported = await read(`/tunnel_sessions/${shown.id}`)
      assert.match(reported.started_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      assert.deepEqual(reported, {
        agent_version: '1.7.0',
        credential: ref('credentials', credentials.at(-1).id),
        id: shown.id,
        ip: '127.0.0.1',
        metadata: 'shown',
        os: 'linux',
        region: 'us',
        started_at: reported.started_at,
        transport: 'adit/v2',
        uri: uri('tunnel_sessions', shown.id),
      })
    })

    test('of its tunnel', async () => {
      const tunnel = await read(`/tunnels/${listener.id}`)
      assert.deepEqual(tunnel, {
        backends: [],
        endpoint: tunnel.endpoint,
        forwards_to: to(),
        id: listener.id,
        labels: {},
        metadata: 'a tunnel',
        proto: 'https',
        public_url: listener.url,
        region: 'us',
        started_at: tunnel.started_at,
        tunnel_session: ref('tunnel_sessions', shown.id),
      })
    })

    test('of its endpoint', async () => {
      const tunnel = await read(`/tunnels/${listener.id}`)
      const endpoint = await read(`/endpoints/${tunnel.endpoint.id}`)
      assert.deepEqual(endpoint, {
        created_at: tunnel.started_at,
        domain: ref('reserved_domains', domain.id),
        edge: null,
        hostport: `shown.adit.localhost:${world.server.bound.https?.port}`,
        id: tunnel.endpoint.id,
        metadata: 'a tunnel',
        proto: 'https',
        public_url: listener.url,
        region: 'us',
        tcp_addr: null,
        tunnel: ref('tunnels', listener.id),
        type: 'ephemeral',
        updated_at: tunnel.started_at,
        uri: endpoint.uri,
      })
    })
  })

  test('stop, restart and update reach the callbacks of the application', async () => {
    await using sdk = newSdk()
    const on = (command: string) => [`handle${command}Command`, callback(command)] as const
    await sdk.connect(['metadata', 'obedient'], on('Stop'), on('Restart'), on('Update'))
    const { id } = await sessionWith('obedient')
    for (const command of ['Stop', 'Restart', 'Update']) {
      const called = sdk.next(command)
      const answer = await world.server.api.post(`/tunnel_sessions/${id}/${command.toLowerCase()}`)
      assert.equal(answer.status, 204)
      const args = await called
      if (command === 'Update') assert.deepEqual(args, [{ version: '', permitMajorVersion: false }])
    }
    assert.equal(await status(`/tunnel_sessions/${id}`), 200)
  })

  test('stop, restart and update without callbacks are refused with the reason of the SDK', async () => {
    await using sdk = newSdk()
    await sdk.connect(['metadata', 'stubborn'])
    const { id } = await sessionWith('stubborn')
    for (const [command, number] of Object.entries({ restart: 804, stop: 805, update: 806 })) {
      const headers = { 'ngrok-version': '2' }
      const { status: code, body } = await world.server.api.post(
        `/tunnel_sessions/${id}/${command}`,
        {},
        { headers },
      )
      assert.deepEqual([code, body.error_code], [400, `ERR_NGROK_${number}`])
      assert.equal(
        body.msg,
        `The agent does not support ${command}: the agent has not defined a callback for this operation.`,
      )
    }
  })

  test('listener.close(), disconnect(), kill(): the tunnel is closed, the session stays', async () => {
    await using sdk = newSdk()
    const options = { addr: world.port, session_metadata: 'closing' }
    const [one, two, three] = [
      await sdk.forward(options),
      await sdk.forward(options),
      await sdk.forward(options),
    ]
    await sdk.call(one, ['close'])
    await goes(one.id)
    await sdk.call(0, ['disconnect', two.url])
    await goes(two.id)
    assert.deepEqual(
      (await sdk.listeners()).map(({ id }) => id),
      [three.id],
    )
    assert.equal((await world.visit(three.url)).status, 200)
    assert.equal((await world.visit(one.url)).headers['ngrok-error-code'], 'ERR_NGROK_3200')
    await sdk.call(0, ['kill'])
    await goes(three.id)
    await sdk.forward(options)
  })

  test('the process ends or is killed: tunnel and session are gone', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await using sdk = newSdk()
      const { id } = await sdk.forward({ addr: world.port, session_metadata: signal })
      const session = await sessionWith(signal)
      await sdk.end(signal)
      await goes(id)
      await until(async () => (await status(`/tunnel_sessions/${session.id}`)) === 404, {
        what: 'the session is gone',
      })
    }
  })

  test('session.close() sends nothing: the gateway ends the session within 20 seconds without a heartbeat', async () => {
    await using sdk = newSdk()
    const session = await sdk.connect(['metadata', 'silent'])
    const { id, url } = await sdk.call(session, ['httpEndpoint'], ['listenAndForward', to()])
    const silent = await sessionWith('silent')
    assert.equal((await world.visit(url)).status, 200)
    await sdk.call(session, ['close'])
    await goes(id, 20_000)
    assert.equal(await status(`/tunnel_sessions/${silent.id}`), 404)
    assert.equal((await world.visit(url)).status, 503)
  })

  test('its credential is deleted: the session ends within 5 seconds', async () => {
    const { api } = world.server
    const { body: credential } = await api.post('/credentials', {})
    await using sdk = new Sdk({ ...accessTo(world.server), authtoken: credential.token })
    const lost = sdk.next('lost')
    const session = await sdk.connect(['metadata', 'revoked'], ['handleDisconnection', callback('lost')])
    const { id, url } = await sdk.call(session, ['httpEndpoint'], ['listenAndForward', to()])
    assert.equal((await world.visit(url)).status, 200)
    assert.equal((await api.delete(`/credentials/${credential.id}`)).status, 204)
    await lost
    await goes(id)
    assert.equal(await sessionWith('revoked'), undefined)
  })
})
