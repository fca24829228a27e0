import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { TunnelRecord } from '#registry/directory.ts'
import { DialError } from '#registry/agent-dialer.ts'
import { assertNoSecret, secretText } from '../../support/secrets.ts'
import { type Gateway, startGateway, TestAgent } from './support.ts'
import { until } from '../../support/until.ts'

const code = (text: string): string => /ERR_NGROK_\d+/.exec(text)?.[0] ?? text

/** The same agent on a new connection. */
async function again(gateway: Gateway, before: TestAgent, token: string, settings = {}): Promise<TestAgent> {
  const agent = await TestAgent.connect(gateway, settings)
  agent.clientId = before.clientId
  agent.cookie = before.cookie
  assert.equal((await agent.auth(token)).Error, '')
  return agent
}

const tunnelOf = (gateway: Gateway, id: string): TunnelRecord => {
  const tunnel = gateway.directory.tunnels.get(id)
  assert.ok(tunnel)
  return tunnel
}

const header = { Id: '', ClientAddr: '192.0.2.1:5', Proto: 'https', EdgeType: '0', PassthroughTLS: false }

suite('an agent that reconnects', () => {
  test('after its connection was lost keeps its session, its start time and its tunnels', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    const { startedAt } = gateway.directory.sessions.get(agent.clientId) ?? {}
    const bound = await agent.bind('https')
    const port = await agent.bind('tcp')
    const labelled = [await agent.label({ app: 'a' }), await agent.label({ app: 'a' })].map(({ Id }) => Id)
    agent.drop()
    await until(() => gateway.directory.tunnels.size === 0, { what: 'it has gone' })
    const back = await again(gateway, agent, token)
    assert.equal(back.clientId, agent.clientId)
    assert.equal(gateway.directory.sessions.get(back.clientId)?.startedAt, startedAt)
    const rebound = await back.rebind(bound)
    assert.deepEqual([rebound.Error, rebound.Id, rebound.URL], ['', bound.Id, bound.URL])
    const sameAgain = await back.rebind(port)
    assert.deepEqual([sameAgain.Error, sameAgain.Id, sameAgain.URL], ['', port.Id, port.URL])
    const ids = [await back.label({ app: 'a' }), await back.label({ app: 'a' })].map(({ Id }) => Id)
    assert.deepEqual(ids.toSorted(), labelled.toSorted())
  })

  test('while its old connection still seems to work replaces it, and keeps its names meanwhile', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    const bound = await agent.bind('https', { Domain: 'mine' })
    const labelled = await agent.label({ app: 'a' })
    const back = await again(gateway, agent, token)
    assert.match((await agent.session.closed).message, /reconnected/)
    assert.equal(back.clientId, agent.clientId)
    assert.equal(gateway.directory.sessions.size, 1)
    assert.ok(gateway.directory.tunnels.has(bound.Id))
    const other = await TestAgent.signIn(gateway, gateway.source.credential().token)
    assert.equal(code((await other.bind('https', { Domain: 'mine' })).Error), 'ERR_NGROK_334')
    // A client that connects now waits until the agent has the tunnel again.
    const dialled = gateway.sessions.dial(tunnelOf(gateway, bound.Id), header, Buffer.from('x'))
    assert.equal((await back.rebind(bound)).Id, bound.Id)
    await dialled
    await until(() => back.proxied.length === 1, { what: 'the client was forwarded over the new connection' })
    assert.equal((await back.label({ app: 'a' })).Id, labelled.Id)
  })

  test('as a new process takes over a name of its old connection', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    const bound = await agent.bind('https', { Domain: 'mine' })
    const back = await again(gateway, agent, token)
    const answer = await back.bind('https', { Domain: 'mine' })
    assert.equal(answer.Error, '')
    assert.notEqual(answer.Id, bound.Id)
    assert.equal(gateway.directory.tunnels.size, 1)
  })

  test('keeps the options that were accepted, whatever it sends', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    const BasicAuth = { credentials: [{ username: 'a', cleartext_password: secretText('password') }] }
    const bound = await agent.bind('https', { BasicAuth })
    assertNoSecret('a token', bound.Extra.Token)
    agent.drop()
    await until(() => gateway.directory.tunnels.size === 0, { what: 'it has gone' })
    const back = await again(gateway, agent, token)
    const weak = await back.rebind(bound, { Hostname: 'elsewhere.adit.localhost', BasicAuth: null })
    assert.equal(weak.URL, bound.URL)
    assert.deepEqual(tunnelOf(gateway, bound.Id).options.BasicAuth, BasicAuth)
  })

  test('with a token that cannot hold its options keeps those that it sends', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    const add = Array.from({ length: 90 }, (_, at) => `x-${at}:${crypto.randomUUID()}${crypto.randomUUID()}`)
    const bound = await agent.bind('https', { RequestHeaders: { add } })
    assert.ok(bound.Extra.Token.length < 4096)
    agent.drop()
    await until(() => gateway.directory.tunnels.size === 0, { what: 'it has gone' })
    const back = await again(gateway, agent, token)
    assert.equal((await back.rebind(bound)).URL, bound.URL)
    assert.deepEqual(tunnelOf(gateway, bound.Id).options.RequestHeaders, { add })
  })

  test('under the id of another session, without its cookie, gets a session of its own', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    const bound = await agent.bind('https')
    for (const cookie of ['', 'nonsense', `${agent.cookie}x`]) {
      const thief = await TestAgent.connect(gateway)
      thief.clientId = agent.clientId
      thief.cookie = cookie
      await thief.auth(token)
      assert.notEqual(thief.clientId, agent.clientId)
      thief.drop()
    }
    assert.equal((await agent.unbind(bound.Id)).Error, '')
  })

  test('with a stolen cookie but another credential gets a session of its own', async () => {
    await using gateway = await startGateway()
    const agent = await TestAgent.signIn(gateway, gateway.source.credential().token)
    const thief = await TestAgent.connect(gateway)
    thief.clientId = agent.clientId
    thief.cookie = agent.cookie
    await thief.auth(gateway.source.credential().token)
    assert.notEqual(thief.clientId, agent.clientId)
    assert.equal(gateway.directory.sessions.size, 2)
  })
})

suite('the address of another agent', () => {
  test('is granted neither for its tunnel id nor for a replayed bind of another credential', async () => {
    await using gateway = await startGateway()
    const agent = await TestAgent.signIn(gateway, gateway.source.credential().token)
    const bound = await agent.bind('https', { Domain: 'mine' })
    const thief = await TestAgent.signIn(gateway, gateway.source.credential().token)
    const byId = await thief.bind('https', { Domain: 'other' }, { id: bound.Id })
    assert.notEqual(byId.Id, bound.Id)
    assert.equal(code((await thief.rebind(bound)).Error), 'ERR_NGROK_334')
    assert.equal(tunnelOf(gateway, bound.Id).sessionId, agent.clientId)
  })

  test('is granted to the same credential with its token', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    const bound = await agent.bind('https', { Domain: 'mine' })
    const other = await TestAgent.signIn(gateway, token)
    const taken = await other.rebind(bound)
    assert.deepEqual([taken.Error, taken.Id], ['', bound.Id])
    assert.equal(tunnelOf(gateway, bound.Id).sessionId, other.clientId)
    await agent.unbind(bound.Id)
    assert.ok(gateway.directory.tunnels.has(bound.Id))
  })

  test('is refused while that agent answers, even to the same credential', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token)
    await agent.bind('https', { Domain: 'mine' })
    const other = await TestAgent.signIn(gateway, token)
    const { Error: text } = await other.bind('https', { Domain: 'mine' })
    assert.equal(code(text), 'ERR_NGROK_334')
    assert.ok(text.includes(agent.clientId))
  })

  test('is taken over by the same credential when that agent does not answer', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const silent = await TestAgent.signIn(gateway, token, { mute: true })
    const bound = await silent.bind('https', { Domain: 'mine' })
    const other = await TestAgent.signIn(gateway, token)
    const answer = await other.bind('https', { Domain: 'mine' })
    assert.equal(answer.Error, '')
    assert.ok(!gateway.directory.sessions.has(silent.clientId))
    assert.ok(!gateway.directory.tunnels.has(bound.Id))
    await silent.session.closed
  })

  test('is not taken over by another credential, even when that agent does not answer', async () => {
    await using gateway = await startGateway()
    const silent = await TestAgent.signIn(gateway, gateway.source.credential().token, { mute: true })
    await silent.bind('https', { Domain: 'mine' })
    const other = await TestAgent.signIn(gateway, gateway.source.credential().token)
    assert.equal(code((await other.bind('https', { Domain: 'mine' })).Error), 'ERR_NGROK_334')
  })

  test('is granted to exactly one of many concurrent binds', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const silent = await TestAgent.signIn(gateway, token, { mute: true })
    await silent.bind('https', { Domain: 'mine' })
    const agents = await Promise.all(Array.from({ length: 8 }, () => TestAgent.signIn(gateway, token)))
    const answers = await Promise.all(agents.map(agent => agent.bind('https', { Domain: 'mine' })))
    const winners = answers.filter(({ Error: text }) => text === '')
    assert.equal(winners.length, 1)
    assert.ok(answers.every(({ Error: text }) => text === '' || code(text) === 'ERR_NGROK_334'))
    assert.equal(gateway.directory.tunnels.size, 1)
    assert.equal(tunnelOf(gateway, winners[0]?.Id ?? '').url, 'https://mine.adit.localhost:8443')
  })
})

suite('a connection through a tunnel', () => {
  test('arrives with its header and first bytes', async () => {
    await using gateway = await startGateway()
    const agent = await TestAgent.signIn(gateway, gateway.source.credential().token)
    const { Id } = await agent.bind('https')
    const stream = await gateway.sessions.dial(tunnelOf(gateway, Id), header, Buffer.from('hello'))
    await until(() => agent.proxied.length === 1, { what: 'it came through' })
    const [proxied] = agent.proxied
    assert.deepEqual(proxied?.header, { ...header, Id })
    const received = Promise.withResolvers<string>()
    stream.attach({
      data: bytes => received.resolve(bytes.toString()),
      end: () => undefined,
      closed: () => undefined,
    })
    proxied?.stream.attach({
      data: bytes => proxied.stream.write(Buffer.from(bytes)),
      end: () => undefined,
      closed: () => undefined,
    })
    assert.equal(await received.promise, 'hello')
  })

  test('waits until an agent of another vendor has finished its bind', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token, { userAgent: 'ngrok-go/1.12.1' })
    const { Id } = await agent.bind('https')
    await gateway.sessions.dial(tunnelOf(gateway, Id), header, Buffer.alloc(0))
    await until(() => agent.proxied.length === 1, { what: 'it came through' })
  })

  test('is retried once when the agent has no free stream', async () => {
    await using gateway = await startGateway()
    const { token } = gateway.source.credential()
    const agent = await TestAgent.signIn(gateway, token, { userAgent: 'ngrok-go/1.12.1' })
    const { Id } = await agent.bind('https')
    agent.onProxied = stream => {
      if (agent.proxied.length === 1) return stream.reset('accept_queue_full')
      const pieces: Buffer[] = []
      stream.attach({
        data: bytes => void pieces.push(Buffer.from(bytes)),
        end: () => stream.end(Buffer.concat(pieces)),
        closed: () => undefined,
      })
    }
    const stream = await gateway.sessions.dial(tunnelOf(gateway, Id), header, Buffer.from('one '))
    const received = Promise.withResolvers<string>()
    let text = ''
    stream.attach({
      data: bytes => (text += bytes.toString()),
      end: () => received.resolve(text),
      closed: error => received.reject(error ?? new Error('closed')),
    })
    stream.write(Buffer.from('two '))
    stream.end(Buffer.from('three'))
    assert.equal(await received.promise, 'one two three')
    assert.equal(agent.proxied.length, 2)
  })

  test('fails when the agent is offline or unknown', async () => {
    await using gateway = await startGateway()
    const agent = await TestAgent.signIn(gateway, gateway.source.credential().token)
    const { Id } = await agent.bind('https')
    const tunnel = tunnelOf(gateway, Id)
    agent.drop()
    await until(() => gateway.directory.tunnels.size === 0, { what: 'it has gone' })
    const offline = (error: unknown) => error instanceof DialError && error.code === 'offline'
    await assert.rejects(gateway.sessions.dial(tunnel, header, Buffer.alloc(0)), offline)
  })
})
