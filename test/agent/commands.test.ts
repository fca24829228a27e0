import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { connect, type UpdateRequest } from '#agent/index.ts'
import { plainAnswer } from '#tunnel/messages.ts'
import { call } from '#tunnel/rpc.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { ScriptedGateway } from './scripted-gateway.ts'
import { disposable, signIn } from './support.ts'

suite('commands of the API', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server[Symbol.asyncDispose]())

  test('are passed to the program, which decides', async () => {
    const received: (string | UpdateRequest)[] = []
    await using agent = await signIn(server, {
      commands: {
        stop: () => void received.push('stop'),
        restart: async () => void received.push('restart'),
        update: request => void received.push(request),
      },
    })
    for (const command of ['stop', 'restart', 'update']) {
      const { status, body } = await server.api.post(`/tunnel_sessions/${agent.sessionId}/${command}`, {})
      assert.equal(status, 204, JSON.stringify(body))
    }
    assert.deepEqual(received, ['stop', 'restart', { version: '', permitMajor: false }])
    assert.equal(agent.status.state, 'online')
  })

  test('are refused with the reason of the program', async () => {
    await using agent = await signIn(server, {
      commands: {
        restart: () => undefined,
        update: async () => {
          throw new Error('this is the latest version')
        },
      },
      unsupported: { restart: 'not on Windows' },
    })
    const said = async (command: string): Promise<string> => {
      const { status, body } = await server.api.post(`/tunnel_sessions/${agent.sessionId}/${command}`, {})
      assert.equal(status, 400)
      return body.msg as string
    }
    assert.match(await said('restart'), /not on Windows/)
    assert.match(await said('update'), /this is the latest version/)
    assert.match(await said('stop'), /has not defined a callback/)
  })
})

suite('a gateway', () => {
  test('gets a response also for a command that was not announced', async () => {
    await using gateway = await ScriptedGateway.start()
    await using _ = disposable(await connect(gateway.options()))
    const session = gateway.ends[0]?.session
    assert.ok(session)
    const answer = await call(session, { type: streamTypes.restart, request: {}, answer: plainAnswer })
    assert.match(answer.Error, /has not defined a callback/)
  })

  test('stops a tunnel, for good and with its reason', async () => {
    await using gateway = await ScriptedGateway.start()
    await using agent = disposable(await connect(gateway.options()))
    const tunnel = await agent.listen({ forwardTo: 1 })
    const kept = await agent.listen({ forwardTo: 1 })
    const end = gateway.ends[0]
    assert.ok(end)
    const request = { Id: tunnel.id, Message: 'stopped by an admin', ErrorCode: 'ERR_NGROK_9001' }
    const answer = await call(end.session, { type: streamTypes.stopTunnel, request, answer: plainAnswer })
    assert.equal(answer.Error, '')
    const error = await tunnel.closed
    assert.deepEqual([error?.message, error?.code], ['stopped by an admin', 'ERR_ADIT_9001'])
    assert.deepEqual(agent.tunnels, new Set([kept]))
    end.socket.destroy()
    const again = await gateway.until(() => gateway.ends[1]?.binds[0] && gateway.ends[1])
    assert.deepEqual(
      again.binds.map(({ Id, Extra, Opts }) => [Id, Extra.Token, Opts['URL']]),
      [[kept.id, `t-${kept.id}`, kept.url]],
    )
  })

  test('gets one unbind for each tunnel, and then GOAWAY, when an agent is closed', async () => {
    await using gateway = await ScriptedGateway.start()
    const agent = await connect(gateway.options())
    const tunnels = [
      await agent.listen({ forwardTo: 1 }),
      await agent.listen({ labels: { a: 'b' }, forwardTo: 1 }),
    ]
    const end = gateway.ends[0]
    assert.ok(end)
    await agent.close()
    assert.deepEqual(
      end.unbinds,
      tunnels.map(({ id }) => id),
    )
    assert.equal((await end.session.closed).code, 'remote_gone_away')
    assert.deepEqual(await Promise.all(tunnels.map(({ closed }) => closed)), [undefined, undefined])
  })

  test('that does not respond does not keep an agent from being closed', async () => {
    await using gateway = await ScriptedGateway.start()
    const agent = await connect(gateway.options())
    await agent.listen({ forwardTo: 1 })
    gateway.ends[0]?.socket.pause()
    const begun = performance.now()
    await agent.close()
    assert.ok(performance.now() - begun < 20_000)
    assert.equal(agent.status.state, 'closed')
  })

  test('may open a connection right after its response', async () => {
    await using gateway = await ScriptedGateway.start({
      bind: ({ Proto }, end) => {
        void end.visit('tn_now', 'at once')
        return { Id: 'tn_now', URL: 'tcp://x:1', Proto, Opts: {}, Extra: { Token: '' } }
      },
    })
    await using agent = disposable(await connect(gateway.options()))
    const { promise, resolve } = Promise.withResolvers<string>()
    await agent.listen({
      proto: 'tcp',
      onConnection: stream => stream.on('data', bytes => resolve(String(bytes))),
    })
    assert.equal(await promise, 'at once')
  })
})
