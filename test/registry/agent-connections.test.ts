import assert from 'node:assert/strict'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { connect } from 'node:tls'
import { newId } from '#base/ids.ts'
import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import { connectionId } from '#registry/agent-connections.ts'
import { LiveView } from '#registry/live.ts'
import { LocalDirectory } from '#registry/local-directory.ts'
import { dialAnyConnection } from '#gateway/cluster-links/dial-any-connection.ts'
import { Records } from '#registry/records/records.ts'
import { elsewhereAlpn, OWN_ALPN } from '#tunnel/alpn.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'
import { info, startGateway } from '../gateway/agents/support.ts'
import { tunnelRecord } from '../support/records.ts'
import { noRequests } from '../support/no-requests.ts'

/** An agent with one tunnel, connected to two processes. */
async function twice() {
  const directory = new LocalDirectory()
  const [session, tunnel] = [newId('ts'), newId('tn')]
  for (const [leg, node] of ['w1', 'w2'].entries()) {
    await directory.addSession(sessionOf(connectionId(session, leg), node))
    await directory.addTunnel(tunnelOf(connectionId(tunnel, leg), connectionId(session, leg), node))
  }
  return { directory, session, tunnel }
}

const sessionOf = (id: string, node: string): SessionRecord => ({
  id,
  node,
  credentialId: 'cr_1',
  agentVersion: '1',
  userAgent: 'adit/1',
  ip: '192.0.2.1',
  localIp: '192.0.2.2',
  serverName: undefined,
  metadata: '',
  os: 'linux',
  arch: 'x64',
  region: 'us',
  startedAt: '2026-01-01T00:00:00Z',
  transport: 'adit/v2',
})

const tunnelOf = (id: string, sessionId: string, node: string): TunnelRecord => {
  const host = 'twice.adit.localhost'
  return tunnelRecord({ id, sessionId, node, address: { scheme: 'http', host }, url: `http://${host}` })
}

const header: ProxyHeader = {
  Id: '',
  ClientAddr: '192.0.2.1:1234',
  Proto: 'http',
  EdgeType: '0',
  PassthroughTLS: false,
}

suite('the two connections of an agent', () => {
  test('are one session, one tunnel and one endpoint, also while either is lost', async () => {
    for (const lost of [undefined, 'w1', 'w2']) {
      const { directory, session, tunnel } = await twice()
      if (lost !== undefined) directory.removeNode(lost)
      const fleet = { command: async () => undefined, roundTrip: async () => 12.3456 }
      const live = new LiveView({
        info,
        directory,
        records: new Records(),
        dialer: fleet,
        requests: noRequests,
        explain: () => assert.fail(),
      })
      const ids = async (kind: 'tunnel_session' | 'tunnel' | 'endpoint') =>
        (await live.list(kind, { limit: 10 })).map(({ id }) => id)
      assert.deepEqual(await ids('tunnel_session'), [session])
      assert.deepEqual(await ids('tunnel'), [tunnel])
      assert.deepEqual(await ids('endpoint'), [tunnel.replace('tn_', 'ep_')])
      const shown = await live.get('tunnel', tunnel)
      assert.deepEqual([shown?.['id'], shown?.['tunnel_session']], [tunnel, session])
      assert.equal((await live.get('tunnel_session', session))?.['id'], session)
      assert.equal((await live.get('endpoint', tunnel.replace('tn_', 'ep_')))?.['tunnel'], tunnel)
      assert.deepEqual(await live.agentLink(session), {
        arch: 'x64',
        connections: lost === undefined ? 2 : 1,
        round_trip_ms: 12.346,
      })
      assert.equal(await live.get('tunnel_session', `${session}/1`), undefined)
      assert.equal(await live.get('tunnel', `${tunnel}/1`), undefined)
    }
  })

  test('leave nothing behind in a process that has ended, also when the agent has come back elsewhere', async () => {
    const { directory, session, tunnel } = await twice()
    const removed: string[] = []
    directory.watch({
      removed: ({ id }) => void removed.push(id),
      sessionRemoved: ({ id }) => void removed.push(id),
    })
    await directory.addSession(sessionOf(session, 'w2'))
    directory.removeNode('w1')
    assert.deepEqual(removed, [tunnel])
    assert.deepEqual([...directory.sessions.keys()], [session, `${session}/1`])
    directory.removeNode('w2')
    assert.equal(directory.sessions.size + directory.tunnels.size, 0)
    const other = tunnelOf(newId('tn'), newId('ts'), 'w1')
    assert.deepEqual(await directory.addTunnel(other), { ok: true })
  })

  test('replace each other when one is lost and not every process has noticed', async () => {
    const { directory, tunnel } = await twice()
    const tried: string[] = []
    const stream = {} as ByteStream
    const dial: AgentDialer['dial'] = async ({ node }, { Id }) => {
      tried.push(`${node} ${Id}`)
      if (node === 'w1') throw new DialError('offline', 'lost')
      return stream
    }
    const first = directory.tunnels.get(tunnel)
    assert.ok(first)
    const any = dialAnyConnection('w3', directory.tunnels, dial)
    assert.equal(await any(first, { ...header, Id: tunnel }, Buffer.alloc(0)), stream)
    assert.deepEqual(tried, [`w1 ${tunnel}`, `w2 ${tunnel}/1`])
    directory.removeNode('w2')
    await assert.rejects(any(first, header, Buffer.alloc(0)), { code: 'offline', message: 'lost' })
  })

  test('are tried when they are opened while another one is refused', async () => {
    const { directory, tunnel } = await twice()
    const [first, second] = [directory.tunnels.get(tunnel), directory.tunnels.get(`${tunnel}/1`)]
    assert.ok(first && second)
    await directory.removeTunnel(second.id)
    const stream = {} as ByteStream
    const any = dialAnyConnection('w3', directory.tunnels, async ({ node }) => {
      if (node === second.node) return stream
      await directory.addTunnel(second)
      throw new DialError('offline', 'refused')
    })
    assert.equal(await any(first, { ...header, Id: tunnel }, Buffer.alloc(0)), stream)
  })

  test('are used where the client is, before one of another process', async () => {
    const { directory, tunnel } = await twice()
    const tried: string[] = []
    const dial: AgentDialer['dial'] = async ({ node }, { Id }) => {
      tried.push(`${node} ${Id}`)
      throw new DialError('offline', node)
    }
    const first = directory.tunnels.get(tunnel)
    assert.ok(first)
    const any = dialAnyConnection('w2', directory.tunnels, dial)
    await assert.rejects(any(first, { ...header, Id: tunnel }, Buffer.alloc(0)), { code: 'offline' })
    assert.deepEqual(tried, [`w2 ${tunnel}/1`, `w1 ${tunnel}`])
  })

  test('do not stand in for one that has as many connections as it can take', async () => {
    const { directory, tunnel } = await twice()
    const busy: AgentDialer['dial'] = async ({ node }) => {
      throw new DialError(node === 'w1' ? 'busy' : 'offline', node)
    }
    const first = directory.tunnels.get(tunnel)
    assert.ok(first)
    await assert.rejects(dialAnyConnection('w3', directory.tunnels, busy)(first, header, Buffer.alloc(0)), {
      code: 'busy',
      message: 'w1',
    })
  })

  test('are kept apart: a process that is not wanted rejects an agent before the handshake', async () => {
    await using gateway = await startGateway()
    const dial = (...protocols: string[]) =>
      connect({ port: gateway.port, rejectUnauthorized: false, ALPNProtocols: [OWN_ALPN, ...protocols] })
    const sentAway = dial(elsewhereAlpn(info.node))
    const [error] = (await once(sentAway, 'error')) as [NodeJS.ErrnoException]
    assert.equal(error.code, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL')
    const taken = dial(elsewhereAlpn('another'))
    await once(taken, 'secureConnect')
    assert.equal(taken.alpnProtocol, OWN_ALPN)
    taken.destroy()
  })
})
