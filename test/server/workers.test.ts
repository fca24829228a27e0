import assert from 'node:assert/strict'
import { createServer, get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { connect } from 'adit'
import { startServer, type TestServer } from '../support/server.ts'

/** A service that says which connection of which visitor it answers. */
async function startService() {
  const service = createServer((_, answer) => answer.end('here')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  return { port: (service.address() as AddressInfo).port, [Symbol.dispose]: () => void service.close() }
}

const connectTo = ({ bound, authtoken, dataDir }: TestServer) =>
  connect({ server: `127.0.0.1:${bound.agent?.port}`, authtoken, ca: `${dataDir}/ca.pem` })

/** Each visit is a connection of its own, so that any worker may get it. */
async function visit({ bound }: TestServer, host: string): Promise<number | undefined> {
  const request = get({ host: '127.0.0.1', port: bound.http?.port, headers: { host }, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  await once(response.resume(), 'end')
  return response.statusCode
}

suite('several gateway processes', () => {
  test('serve one agent, wherever a visitor arrives, and show it once', async () => {
    using service = await startService()
    await using server = await startServer({ workers: '2' })
    const agent = await connectTo(server)
    await agent.listen({ proto: 'http', domain: 'shared', forwardTo: service.port })
    const visits = await Promise.all(Array.from({ length: 40 }, () => visit(server, 'shared.adit.localhost')))
    assert.deepEqual(new Set(visits), new Set([200]))
    const { body: sessions } = await server.api.get('/tunnel_sessions')
    const { body: tunnels } = await server.api.get('/tunnels')
    assert.equal(sessions.tunnel_sessions.length, 1)
    assert.equal(sessions.tunnel_sessions[0].id, agent.sessionId)
    assert.equal(tunnels.tunnels.length, 1)
    await agent.close()
  })
})
