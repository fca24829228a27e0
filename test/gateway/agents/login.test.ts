import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { tokenHash } from '#base/secrets.ts'
import type { SessionRecord } from '#registry/directory.ts'
import { call } from '#tunnel/rpc.ts'
import { plainAnswer, srvInfoAnswer } from '#tunnel/messages.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { recordingLog, startGateway, TestAgent } from './support.ts'
import { until } from '../../support/until.ts'
import { closed } from '../../support/net.ts'

suite('an agent that signs in', () => {
  test('with a known token gets a session with the details that it sent', async () => {
    await using gateway = await startGateway()
    const { id, token } = gateway.source.credential()
    const agent = await TestAgent.connect(gateway)
    const answer = await agent.auth(token)
    assert.equal(answer.Error, '')
    assert.equal(answer.Version, '3')
    assert.equal(answer.Extra.Region, 'us')
    assert.match(answer.ClientId, /^ts_[0-9A-Za-z]{27}$/)
    assert.partialDeepStrictEqual(gateway.directory.sessions.get(answer.ClientId), {
      credentialId: id,
      agentVersion: '1.7.0',
      os: 'linux',
      ip: '127.0.0.1',
      metadata: 'about me',
      region: 'us',
      transport: 'adit/v2',
      node: 'node-1',
    })
  })

  test('with an unknown token gets the error code that agents know, and is disconnected', async () => {
    await using gateway = await startGateway()
    const agent = await TestAgent.connect(gateway)
    const { Error: text } = await agent.auth('not-a-token-of-ours')
    assert.match(text, /^The authtoken is unknown.*\n\nERR_NGROK_107\n$/s)
    assert.equal(gateway.directory.sessions.size, 0)
    await agent.session.closed
  })

  test('with a credential that another process has just created is accepted', async () => {
    await using gateway = await startGateway()
    const { id, token } = gateway.source.credential()
    gateway.source.remove(id)
    gateway.source.elsewhere = () =>
      gateway.source.put('credential', id, { token_hash: tokenHash(token), acl: [], owner_id: 'usr_1' })
    const agent = await TestAgent.connect(gateway)
    assert.equal((await agent.auth(token)).Error, '')
  })

  test('with the credential of an owner whom another process has just activated is accepted', async () => {
    await using gateway = await startGateway()
    gateway.source.user('usr_1', { active: false })
    const { token } = gateway.source.credential()
    gateway.source.elsewhere = () => gateway.source.user('usr_1')
    const agent = await TestAgent.connect(gateway)
    assert.equal((await agent.auth(token)).Error, '')
  })

  test('shares one read of the store with all other unknown credentials at that time', async () => {
    await using gateway = await startGateway()
    const agents = await Promise.all(Array.from({ length: 40 }, () => TestAgent.connect(gateway)))
    const begun = performance.now()
    const answers = await Promise.all(agents.map(agent => agent.auth('not-a-token-of-ours')))
    for (const { Error: text } of answers) assert.match(text, /ERR_NGROK_107/)
    // One for each 100 ms that it took, and one at either end.
    assert.ok(
      gateway.source.refreshes <= (performance.now() - begun) / 100 + 2,
      `${gateway.source.refreshes}`,
    )
  })

  for (const [token, error] of [
    ['', /^The agent sent no authtoken\. .*\n\nERR_NGROK_4018\n$/],
    ['with blank', /\n\nERR_NGROK_105\n$/],
    ['x'.repeat(600), /\n\nERR_NGROK_105\n$/],
    ['ümlaut', /\n\nERR_NGROK_105\n$/],
  ] as const)
    test(`with "${token.slice(0, 20)}" is refused as missing or malformed`, async () => {
      await using gateway = await startGateway()
      const agent = await TestAgent.connect(gateway)
      assert.match((await agent.auth(token)).Error, error)
    })

  test('with the old version only is answered in it', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.connect(gateway)
    const request = { Version: ['2'], ClientId: '', Extra: { Authtoken: token } }
    const answer = await call(agent.session, {
      type: streamTypes.auth,
      request,
      answer: value => value as { Version: string; Error: string },
    })
    assert.equal(answer.Error, '')
    assert.equal(answer.Version, '2')
  })

  test('twice on one connection is refused the second time', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    assert.match((await agent.auth(token)).Error, /already signed in/)
    assert.equal(gateway.directory.sessions.size, 1)
  })

  test('from a denied address is refused when the restriction is enforced', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    gateway.source.restrict('agent', true, '192.0.2.0/24')
    const agent = await TestAgent.connect(gateway)
    assert.match((await agent.auth(token)).Error, /may not connect from 127\.0\.0\.1.*ERR_NGROK_90050/s)
  })

  test('from a denied address is accepted with a logged warning when the restriction is not enforced', async () => {
    const { log, lines } = recordingLog()
    await using gateway = await startGateway({ log })
    const { token } = gateway.source.credential()
    gateway.source.restrict('agent', false, '192.0.2.0/24')
    const agent = await TestAgent.connect(gateway)
    assert.equal((await agent.auth(token)).Error, '')
    assert.ok(lines.some(({ level, fields }) => level === 'warn' && fields['ip'] === '127.0.0.1'))
    assert.ok(!JSON.stringify(lines).includes(token))
  })

  test('is refused when the session limit is reached', async () => {
    await using gateway = await startGateway({ sessions: { maxSessions: 1 } })
    const { token } = gateway.source.credential()
    await TestAgent.signIn(gateway, token)
    const second = await TestAgent.connect(gateway)
    assert.match((await second.auth(token)).Error, /ERR_NGROK_108/)
  })

  test('may offer the agent protocol by ALPN, another protocol, or none', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const names: unknown[] = []
    for (const alpn of [['adit-tunnel/1'], ['something-else'], undefined]) {
      const agent = await TestAgent.signIn(gateway, token, alpn ? { alpn } : {})
      names.push(agent.socket.alpnProtocol)
    }
    assert.deepEqual(names, ['adit-tunnel/1', false, false])
  })
})

suite('a connection before it has signed in', () => {
  test('gets the region, and its heartbeats are echoed', async () => {
    await using gateway = await startGateway()
    const agent = await TestAgent.connect(gateway)
    const info = await call(agent.session, { type: streamTypes.srvInfo, request: {}, answer: srvInfoAnswer })
    assert.equal(info.Region, 'us')
    const beat = await agent.session.open(streamTypes.heartbeat)
    const echo = Promise.withResolvers<Buffer>()
    beat.attach({ data: echo.resolve, end: () => undefined, closed: () => undefined })
    beat.write(Buffer.from('beat'))
    assert.equal((await echo.promise).toString(), 'beat')
  })

  for (const type of ['bind', 'unbind', 'startTunnelWithLabel', 'patchTunnelState'] as const)
    test(`is refused ${type}`, async () => {
      await using gateway = await startGateway()
      const agent = await TestAgent.connect(gateway)
      const answer = await call(agent.session, { type: streamTypes[type], request: {}, answer: plainAnswer })
      assert.match(answer.Error, /must sign in first.*ERR_NGROK_90051/s)
      assert.equal(gateway.directory.tunnels.size, 0)
    })

  test('is closed when it does not sign in in time', async () => {
    await using gateway = await startGateway({ agents: { loginMs: 50 } })
    const agent = await TestAgent.connect(gateway)
    assert.equal((await agent.session.closed).code, 'remote_gone_away')
  })

  test('is not closed for a slow gateway once its token is known', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const loginMs = 10_000
    // No other connection is accepted before it has signed in.
    await using gateway = await startGateway({ agents: { loginMs, unauthenticated: { total: 1 } } })
    const { directory, source } = gateway
    const add = directory.addSession.bind(directory)
    const [begun, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    t.mock.method(directory, 'addSession', async (record: SessionRecord) => {
      begun.resolve()
      await slow.promise
      return add(record)
    })
    const agent = await TestAgent.connect(gateway)
    const answer = agent.auth(source.credential().token)
    await begun.promise
    t.mock.timers.tick(loginMs)
    const next = await TestAgent.connect(gateway)
    slow.resolve()
    assert.equal((await answer).Error, '')
    next.drop()
  })

  test('is not taken for silent when its sign-in has taken the gateway longer than that', async t => {
    const heartbeat = { intervalMs: 20, limitMs: 120 }
    await using gateway = await startGateway({ agents: { heartbeat } })
    const { directory, source } = gateway
    const add = directory.addSession.bind(directory)
    t.mock.method(directory, 'addSession', async (record: SessionRecord) => {
      await pause(2 * heartbeat.limitMs)
      return add(record)
    })
    const agent = await TestAgent.connect(gateway)
    assert.equal((await agent.auth(source.credential().token)).Error, '')
    agent.drop()
  })

  test('waits while others sign in, and is not closed for that', async () => {
    // Each handshake takes so long that most wait for longer than one may take.
    const [agents, deadlineMs, slowMs] = [20, 400, 60]
    const block = (): void => {
      for (const end = performance.now() + slowMs; performance.now() < end;);
    }
    await using gateway = await startGateway({
      agents: { handshakes: { deadlineMs, active: 2, perTurn: 1 }, handshaken: block },
    })
    const { token } = gateway.source.credential()
    const begun = performance.now()
    const signedIn = await Promise.all(Array.from({ length: agents }, () => TestAgent.signIn(gateway, token)))
    assert.ok(performance.now() - begun > 2 * deadlineMs)
    for (const agent of signedIn) agent.drop()
  })

  test('that has waited too long for others is closed before its handshake costs anything', async () => {
    const waitMs = 100
    let handshakes = 0
    await using gateway = await startGateway({
      agents: { handshakes: { waitMs, active: 1 }, handshaken: () => handshakes++ },
    })
    const { token } = gateway.source.credential()
    // It does not sign in before the others have waited too long.
    const slow = await TestAgent.connect(gateway)
    const late = Promise.all([0, 1].map(() => assert.rejects(TestAgent.connect(gateway))))
    await until(() => gateway.listener.connections === 3)
    await pause(2 * waitMs)
    assert.equal((await slow.auth(token)).Error, '')
    await late
    assert.equal(handshakes, 1)
    await TestAgent.signIn(gateway, token)
  })

  test('is closed when it does not complete the TLS handshake in time', async () => {
    await using gateway = await startGateway({ agents: { handshakes: { deadlineMs: 50 } } })
    const socket = connect(gateway.port, '127.0.0.1').on('error', () => undefined)
    await closed(socket)
    assert.ok(socket.destroyed)
  })

  test('is refused above the limit of unauthenticated connections; authenticated ones do not count', async () => {
    await using gateway = await startGateway({ agents: { unauthenticated: { total: 2 } } })
    const { token } = gateway.source.credential()
    await TestAgent.signIn(gateway, token)
    await TestAgent.signIn(gateway, token)
    const first = await TestAgent.signIn(gateway, token)
    await TestAgent.connect(gateway)
    await TestAgent.connect(gateway)
    await assert.rejects(TestAgent.connect(gateway))
    assert.equal(gateway.directory.sessions.size, 3)
    first.drop()
  })

  test('cannot make the gateway buffer a large message', async () => {
    await using gateway = await startGateway()
    const agent = await TestAgent.connect(gateway)
    const request = { Version: ['3'], Extra: { Metadata: 'x'.repeat(100_000) } }
    const answer = await call(agent.session, { type: streamTypes.auth, request, answer: plainAnswer })
    assert.match(answer.Error, /larger than 65536 bytes/)
  })
})

suite('an agent that is connected', () => {
  test('and silent is disconnected and removed from the directory', async () => {
    await using gateway = await startGateway({ agents: { heartbeat: { intervalMs: 20, limitMs: 120 } } })
    const { token } = gateway.source.credential()
    await TestAgent.signIn(gateway, token, { mute: true })
    await until(() => gateway.directory.sessions.size === 0, { what: 'the silent agent has gone' })
  })

  test('and answers heartbeats stays', async () => {
    await using gateway = await startGateway({ agents: { heartbeat: { intervalMs: 20, limitMs: 120 } } })
    const { token } = gateway.source.credential()
    await TestAgent.signIn(gateway, token)
    await new Promise(resolve => setTimeout(resolve, 300))
    assert.equal(gateway.directory.sessions.size, 1)
  })

  test('is disconnected when its credential is deleted', async () => {
    await using gateway = await startGateway()
    const { id, token } = gateway.source.credential()
    const kept = await TestAgent.signIn(gateway, gateway.source.credential().token)
    const agent = await TestAgent.signIn(gateway, token)
    await agent.bind('https')
    gateway.source.remove(id)
    const reason = await agent.session.closed
    assert.match(reason.message, /credential was deleted/)
    await until(() => gateway.directory.sessions.size === 1, { what: 'only the other is left' })
    assert.ok(gateway.directory.sessions.has(kept.clientId))
    assert.equal(gateway.directory.tunnels.size, 0)
    const back = await TestAgent.connect(gateway)
    assert.match((await back.auth(token)).Error, /ERR_NGROK_107/)
  })

  test('is disconnected when its address becomes denied', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    gateway.source.restrict('agent', true, '192.0.2.0/24')
    await agent.session.closed
    await until(() => gateway.directory.sessions.size === 0, { what: 'it has gone' })
  })

  test('stays when the restriction is not enforced', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    gateway.source.restrict('agent', false, '192.0.2.0/24')
    await new Promise(resolve => setTimeout(resolve, 50))
    assert.equal((await agent.bind('https')).Error, '')
  })

  test('is disconnected when the gateway stops, after its streams have finished', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    const { Id } = await agent.bind('https')
    const tunnel = gateway.directory.tunnels.get(Id)
    assert.ok(tunnel)
    const header = { Id, ClientAddr: '127.0.0.1:1', Proto: 'https', EdgeType: '0', PassthroughTLS: false }
    const stream = await gateway.sessions.dial(tunnel, header, Buffer.from('hello'))
    await until(() => agent.proxied.length === 1, { what: 'it came through' })
    const drained = gateway.listener.drain(10_000)
    stream.attach({ data: () => undefined, end: () => undefined, closed: () => undefined })
    stream.end()
    agent.proxied[0]?.stream.attach({
      data: () => undefined,
      end: () => agent.proxied[0]?.stream.end(),
      closed: () => undefined,
    })
    await drained
    assert.equal(gateway.directory.sessions.size, 0)
  })
})
