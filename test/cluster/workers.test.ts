import assert from 'node:assert/strict'
import { createServer, get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { connect } from 'adit'
import { disposable } from '../agent/support.ts'
import { workersOf } from '../support/processes.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

/** A service that responds with the same text to every request. */
async function startService() {
  const service = createServer((_, answer) => answer.end('here')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  return { port: (service.address() as AddressInfo).port, [Symbol.dispose]: () => void service.close() }
}

const connectTo = async ({ bound, authtoken, dataDir }: TestServer) =>
  disposable(
    await connect({
      server: `127.0.0.1:${bound.agent?.port}`,
      authtoken,
      ca: `${dataDir}/ca.pem`,
      retry: { baseMs: 50, capMs: 500 },
    }),
  )

/** Each visit is a connection of its own, so that any worker may get it. */
async function visit({ bound }: TestServer, host: string): Promise<number | undefined> {
  const request = get({ host: '127.0.0.1', port: bound.http?.port, headers: { host }, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  await once(response.resume(), 'end')
  return response.statusCode
}

/** How many connections with agents each gateway process has, as the system tells. */
function agentConnections({ bound }: TestServer): number[] {
  const port = (bound.agent?.port ?? 0).toString(16).toUpperCase().padStart(4, '0')
  const inodes = new Set(
    readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map(line => line.trim().split(/\s+/))
      .filter(([, local = '', , state]) => local.endsWith(`:${port}`) && state === '01')
      .map(fields => `socket:[${fields[9]}]`),
  )
  const isHeld = (path: string): boolean => {
    try {
      return inodes.has(readlinkSync(path))
    } catch {
      return false
    }
  }
  return workersOf(process.pid).map(
    pid => readdirSync(`/proc/${pid}/fd`).filter(fd => isHeld(`/proc/${pid}/fd/${fd}`)).length,
  )
}

/** An agent keeps one connection with each of two processes. */
async function untilBothHaveTheAgent(server: TestServer): Promise<void> {
  await until(() => agentConnections(server).join() === '1,1')
}

suite('several gateway processes', () => {
  test('show the public ports in the addresses of edges, as one process does', async () => {
    for (const workers of ['1', '2']) {
      await using server = await startServer({ workers, public_https_port: '8443' })
      await server.api.post('/reserved_domains', { domain: 'a.example.test' })
      await server.api.post('/edges/https', { hostports: ['a.example.test:443'] })
      const { body } = await server.api.get('/endpoints')
      assert.equal(body.endpoints[0].public_url, 'https://a.example.test:8443', `workers: ${workers}`)
    }
  })

  test('serve one agent, whatever process a client connects to, and list it once', async () => {
    using service = await startService()
    await using server = await startServer({ workers: '2' })
    await using agent = await connectTo(server)
    await agent.listen({ proto: 'http', domain: 'shared', forwardTo: service.port })
    const visits = await Promise.all(Array.from({ length: 40 }, () => visit(server, 'shared.adit.localhost')))
    assert.deepEqual(new Set(visits), new Set([200]))
    const { body: sessions } = await server.api.get('/tunnel_sessions')
    const { body: tunnels } = await server.api.get('/tunnels')
    assert.equal(sessions.tunnel_sessions.length, 1)
    assert.equal(sessions.tunnel_sessions[0].id, agent.sessionId)
    assert.equal(tunnels.tunnels.length, 1)
  })

  test('have the second connection of an agent, so that the loss of one process is not noticed', async () => {
    using service = await startService()
    await using server = await startServer({ workers: '2' })
    await using agent = await connectTo(server)
    const { id } = await agent.listen({ proto: 'http', domain: 'twice', forwardTo: service.port })
    const serves = async (visits: number): Promise<void> => {
      while (visits-- > 0) assert.equal(await visit(server, 'twice.adit.localhost'), 200)
    }
    // One of them has the first connection of the agent, the other the second one.
    for (const victim of workersOf(process.pid)) {
      await untilBothHaveTheAgent(server)
      // The tunnel follows a connection at once; nothing tells of it, but it is there before so many are answered.
      await serves(50)
      process.kill(victim, 'SIGKILL')
      // Until its listeners are closed the system may still give it connections, which are then reset.
      await until(() => !existsSync(`/proc/${victim}`))
      await serves(20)
      const { body } = await server.api.get('/tunnels')
      assert.equal(body.tunnels.length, 1)
      assert.equal(body.tunnels[0].id, id)
      assert.equal(body.tunnels[0].tunnel_session.id, agent.sessionId)
    }
    await untilBothHaveTheAgent(server)
    await serves(1)
  })
})
