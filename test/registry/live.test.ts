import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Live } from '#api/live.ts'
import { derivedId, isId, newId } from '#base/ids.ts'
import { LiveView } from '#registry/live.ts'
import { group, httpsEdge, startRouter } from '../gateway/routing/support.ts'
import { noRequests } from '../support/no-requests.ts'
import { until } from '../support/until.ts'

async function startLive() {
  const plan = await startRouter()
  // The API asks for exactly this.
  const live: Live = new LiveView({
    ...plan.gateway,
    dialer: plan.gateway.sessions,
    requests: noRequests,
    explain: () => assert.fail(),
  })
  return { ...plan, live, [Symbol.asyncDispose]: () => plan[Symbol.asyncDispose]() }
}

suite('what is online', () => {
  test('shows sessions', async () => {
    await using world = await startLive()
    const agent = await world.agent()
    const [session] = await world.live.list('tunnel_session', { limit: 10 })
    const record = world.gateway.directory.sessions.get(agent.clientId)
    assert.deepEqual(session, {
      id: agent.clientId,
      agent_version: '1.7.0',
      credential: record?.credentialId,
      ip: '127.0.0.1',
      metadata: 'about me',
      os: 'linux',
      region: 'us',
      started_at: record?.startedAt,
      transport: 'adit/v2',
    })
    assert.deepEqual(await world.live.get('tunnel_session', agent.clientId), session)
    assert.equal(await world.live.get('tunnel_session', newId('ts')), undefined)
    agent.drop()
    await until(() => world.gateway.directory.sessions.size === 0, { what: 'it has gone' })
    assert.deepEqual(await world.live.list('tunnel_session', { limit: 10 }), [])
  })

  test('shows a tunnel and its endpoint', async () => {
    await using world = await startLive()
    const domain = world.source.put('reserved_domain', newId('rd'), { domain: 'app.example.com' })
    const agent = await world.agent()
    const { Id, URL: url } = await agent.bind('https', { Domain: 'app.example.com' })
    const endpoint = Id.replace('tn_', 'ep_')
    const tunnel = await world.live.get('tunnel', Id)
    const started_at = world.gateway.directory.tunnels.get(Id)?.startedAt
    assert.deepEqual(tunnel, {
      id: Id,
      public_url: url,
      started_at,
      metadata: 'a tunnel',
      proto: 'https',
      region: 'us',
      tunnel_session: agent.clientId,
      endpoint,
      labels: {},
      backends: [],
      forwards_to: 'localhost:80',
    })
    assert.deepEqual(await world.live.get('endpoint', endpoint), {
      id: endpoint,
      region: 'us',
      created_at: started_at,
      updated_at: started_at,
      public_url: 'https://app.example.com:8443',
      proto: 'https',
      hostport: 'app.example.com:8443',
      type: 'ephemeral',
      metadata: 'a tunnel',
      domain,
      tcp_addr: null,
      tunnel: Id,
      edge: null,
    })
  })

  test('shows a labelled tunnel with the groups it serves, and without an endpoint', async () => {
    await using world = await startLive()
    const agent = await world.agent()
    const serving = group(world.source, { app: 'a' })
    group(world.source, { app: 'a', zone: 'other' })
    const { Id } = await agent.label({ app: 'a', zone: 'b' })
    assert.partialDeepStrictEqual(await world.live.get('tunnel', Id), {
      public_url: '',
      proto: null,
      endpoint: null,
      labels: { app: 'a', zone: 'b' },
      backends: [serving],
    })
    assert.deepEqual(await world.live.list('endpoint', { limit: 10 }), [])
    assert.deepEqual(await world.live.tunnelsOf({ labels: { app: 'a' }, ownerId: '' }), [Id])
    assert.deepEqual(await world.live.tunnelsOf({ labels: { app: 'b' }, ownerId: '' }), [])
  })

  test('shows an endpoint for every address of an edge, always under the same id', async () => {
    await using world = await startLive()
    const edge = httpsEdge(world.source, ['a.test', '*.b.test'])
    const addr = world.source.put('reserved_addr', newId('ra'), { addr: '1.tcp.adit.localhost:20009' })
    const tcp = world.source.put('tcp_edge', newId('edgtcp'), { hostports: ['1.tcp.adit.localhost:20009'] })
    const shown = await world.live.list('endpoint', { limit: 10 })
    const view = ({ public_url, hostport, edge: of, type, proto, tcp_addr }: (typeof shown)[number]) =>
      JSON.stringify([public_url, hostport, of, type, proto, tcp_addr])
    const expected = [
      ['https://*.b.test:8443', '*.b.test:443', edge, 'edge', 'https', null],
      ['https://a.test:8443', 'a.test:443', edge, 'edge', 'https', null],
      ['tcp://1.tcp.adit.localhost:20009', '1.tcp.adit.localhost:20009', tcp, 'edge', 'tcp', addr],
    ]
    assert.deepEqual(new Set(shown.map(view)), new Set(expected.map(each => JSON.stringify(each))))
    for (const body of shown) {
      assert.ok(isId(String(body['id'])))
      assert.deepEqual(await world.live.get('endpoint', String(body['id'])), body)
    }
    world.source.put('https_edge', edge, { hostports: ['a.test:443'], metadata: 'changed' })
    const ids = shown.map(({ id }) => id)
    const later = await world.live.list('endpoint', { limit: 10 })
    assert.equal(later.length, 2)
    assert.ok(later.every(({ id }) => ids.includes(id)))
  })

  test('is returned in pages, newest first', async () => {
    await using world = await startLive()
    const agent = await world.agent()
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.unshift((await agent.bind('https')).Id)
    const pages: unknown[] = []
    for (let before: string | undefined; ;) {
      const page = await world.live.list('tunnel', { limit: 2, ...(before !== undefined && { before }) })
      if (page.length === 0) break
      assert.ok(page.length <= 2)
      pages.push(...page.map(({ id }) => id))
      before = String(page.at(-1)?.['id'])
    }
    assert.deepEqual(pages, ids)
  })

  test('reports an agent with several connections once, and what it replaces', async () => {
    await using world = await startLive()
    const { directory } = world.gateway
    const agent = await world.agent()
    const { Id } = await agent.bind('https')
    const seen: string[] = []
    const stop = world.live.watchOnline(({ id, change }) => seen.push(`${id} ${change}`))
    const [session, tunnel] = [directory.sessions.get(agent.clientId), directory.tunnels.get(Id)]
    assert.ok(session && tunnel)
    const endpoint = Id.replace('tn_', 'ep_')
    await directory.addSession({ ...session, ip: '192.0.2.1' })
    assert.deepEqual(seen.splice(0), [`${session.id} updated`])
    await directory.addTunnel({ ...tunnel, metadata: 'other' })
    const both = (change: string): string[] => [`${Id} ${change}`, `${endpoint} ${change}`]
    assert.deepEqual(seen.splice(0), [...both('deleted'), ...both('created')])
    const other = { id: `${session.id}/1`, node: session.node }
    await directory.addSession({ ...session, ...other })
    await directory.addTunnel({ ...tunnel, id: `${Id}/1`, sessionId: other.id })
    await directory.removeSession(session.id, session.node)
    assert.deepEqual(seen, [])
    await directory.removeSession(other.id, other.node)
    assert.deepEqual(seen.splice(0), [...both('deleted'), `${session.id} deleted`])
    stop()
    await directory.addSession(session)
    assert.deepEqual(seen, [])
  })

  test('reports the endpoints of an edge that changes', async () => {
    await using world = await startLive()
    const edge = httpsEdge(world.source, ['a.test', 'b.test'])
    const [a, b] = ['a.test', 'b.test'].map(name => derivedId('ep', edge, `${name}:443`))
    const seen: string[] = []
    world.live.watchOnline(({ kind, id, change }) => seen.push(`${kind} ${id} ${change}`))
    world.source.put('https_edge', edge, { hostports: ['a.test:443', 'c.test:443'] })
    const c = derivedId('ep', edge, 'c.test:443')
    assert.deepEqual(seen, [`endpoint ${b} deleted`, `endpoint ${a} updated`, `endpoint ${c} created`])
  })

  test('takes commands', async () => {
    await using world = await startLive()
    const agent = await world.agent()
    void world.live.command(agent.clientId, 'stop').catch(() => undefined)
    await until(() => agent.commands.length === 1, { what: 'the agent got the command' })
  })
})
