import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import { mayBind } from '#gateway/agents/acl.ts'
import type { EndpointAddress } from '#registry/directory.ts'
import type { JsonObject } from '#base/json-fields.ts'
import { info, startGateway, TestAgent } from './support.ts'
import { freePort } from '../../support/free-ports.ts'
import { until } from '../../support/until.ts'

async function online(options: Parameters<typeof startGateway>[0] = {}, acl: readonly string[] = []) {
  const gateway = await startGateway(options)
  const agent = await TestAgent.signIn(gateway, gateway.source.credential(acl).token)
  return { gateway, agent, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() }
}

const code = (text: string): string => /ERR_NGROK_\d+/.exec(text)?.[0] ?? text

suite('a tunnel with a hostname', () => {
  test('gets a random name under the shared domain by default, and its options in the response', async () => {
    await using world = await online()
    const { agent, gateway } = world
    const opts = {
      Domain: '',
      Hostname: '',
      Auth: '',
      Subdomain: '',
      HostHeaderRewrite: false,
      ProxyProto: 0,
    }
    const answer = await agent.bind('https', { ...opts, Compression: null })
    assert.equal(answer.Error, '')
    const host = /^https:\/\/([a-z0-9]{10}\.adit\.localhost):8443$/.exec(answer.URL)?.[1]
    assert.ok(host, answer.URL)
    assert.deepEqual(answer.Opts, { ...opts, Compression: null, Hostname: host, URL: answer.URL })
    assert.match(answer.Id, /^tn_[0-9A-Za-z]{27}$/)
    assert.equal(answer.Extra.TunnelID, answer.Id)
    assert.partialDeepStrictEqual(gateway.directory.tunnels.get(answer.Id), {
      sessionId: agent.clientId,
      url: answer.URL,
      address: { scheme: 'https', host },
      forwardsTo: 'localhost:80',
      forwardsProto: 'http1',
      metadata: 'a tunnel',
    })
  })

  const named: readonly (readonly [JsonObject, string])[] = [
    [{ URL: 'https://one.adit.localhost', Domain: 'two.adit.localhost' }, 'one'],
    [{ URL: 'https://One.Adit.Localhost:8443/' }, 'one'],
    [{ Domain: 'two.adit.localhost', Hostname: 'three.adit.localhost' }, 'two'],
    [{ Hostname: 'three.adit.localhost', Subdomain: 'four' }, 'three'],
    [{ Subdomain: 'four' }, 'four'],
    [{ Domain: 'five' }, 'five'],
  ]
  for (const [opts, label] of named)
    test(`requested as ${JSON.stringify(opts)} is ${label}`, async () => {
      await using world = await online()
      const answer = await world.agent.bind('https', opts)
      assert.equal(answer.URL, `https://${label}.adit.localhost:8443`, answer.Error)
    })

  test('has no port in its URL if it is the default port', async () => {
    await using world = await online({ info: { httpsPort: 443, httpPort: 80 } })
    assert.equal((await world.agent.bind('https', { Domain: 'a' })).URL, 'https://a.adit.localhost')
    assert.equal((await world.agent.bind('http', { Domain: 'a' })).URL, 'http://a.adit.localhost')
    assert.equal((await world.agent.bind('tls', { Domain: 'b' })).URL, 'tls://b.adit.localhost')
  })

  test('is refused where its listener is off', async () => {
    await using world = await online({ info: { httpPort: undefined, httpsPort: undefined } })
    for (const proto of ['http', 'https', 'tls'])
      assert.equal(code((await world.agent.bind(proto)).Error), 'ERR_NGROK_90062', proto)
  })

  test('outside the shared domain needs a reservation of the name or of a wildcard above it', async () => {
    await using world = await online()
    const { agent, gateway } = world
    assert.equal(code((await agent.bind('https', { Domain: 'app.example.com' })).Error), 'ERR_NGROK_90054')
    const exact = gateway.source.put('reserved_domain', newId('rd'), { domain: 'app.example.com' })
    const wide = gateway.source.put('reserved_domain', newId('rd'), { domain: '*.example.org' })
    const first = await agent.bind('https', { Domain: 'app.example.com' })
    assert.equal(first.URL, 'https://app.example.com:8443')
    assert.equal(gateway.directory.tunnels.get(first.Id)?.domainId, exact)
    const second = await agent.bind('https', { Domain: 'a.b.example.org' })
    assert.equal(gateway.directory.tunnels.get(second.Id)?.domainId, wide)
    assert.equal(code((await agent.bind('https', { Domain: 'example.org' })).Error), 'ERR_NGROK_90054')
    assert.equal((await agent.bind('https', { Domain: '*.example.org' })).Error, '')
  })

  for (const name of [
    'api',
    'tcp',
    'adit.localhost',
    'x.tcp.adit.localhost',
    '*.adit.localhost',
    '-a',
    'a_b',
    '1.2.3.4',
  ])
    test(`cannot be ${name}`, async () => {
      await using world = await online()
      const { Error: text } = await world.agent.bind('https', { Domain: name })
      assert.match(code(text), /ERR_NGROK_(90055|90054)/)
      assert.equal(world.gateway.directory.tunnels.size, 0)
    })

  test('cannot have a name that an edge serves, directly or by a wildcard', async () => {
    await using world = await online()
    const { agent, gateway } = world
    gateway.source.put('reserved_domain', newId('rd'), { domain: '*.example.com' })
    gateway.source.put('https_edge', newId('edghts'), { hostports: ['a.adit.localhost:443'] })
    gateway.source.put('tls_edge', newId('edgtls'), { hostports: ['*.example.com:443'] })
    for (const name of ['a.adit.localhost', 'b.example.com'])
      assert.equal(code((await agent.bind('https', { Domain: name })).Error), 'ERR_NGROK_90052', name)
  })

  test('of http and of https are two, of https and tls one', async () => {
    await using world = await online()
    const { agent } = world
    assert.equal((await agent.bind('https', { Domain: 'a' })).Error, '')
    assert.equal((await agent.bind('http', { Domain: 'a' })).Error, '')
    assert.equal(code((await agent.bind('tls', { Domain: 'a' })).Error), 'ERR_NGROK_334')
  })

  test('cannot be bound twice by one agent', async () => {
    await using world = await online()
    assert.equal((await world.agent.bind('https', { Domain: 'a' })).Error, '')
    const { Error: text } = await world.agent.bind('https', { Domain: 'a' })
    assert.equal(code(text), 'ERR_NGROK_334')
    assert.ok(text.includes(world.agent.clientId))
  })
})

suite('a tunnel with a port', () => {
  test('gets a random port by default', async () => {
    await using world = await online()
    const answer = await world.agent.bind('tcp', { Addr: '', ProxyProto: 0 })
    const port = Number(/^tcp:\/\/1\.tcp\.adit\.localhost:(\d+)$/.exec(answer.URL)?.[1])
    assert.ok(port >= info.randomTcpPorts.first && port <= info.randomTcpPorts.last, answer.URL)
    assert.deepEqual(answer.Opts, { Addr: `1.tcp.adit.localhost:${port}`, ProxyProto: 0, URL: answer.URL })
  })

  test('may request a free port, by URL or address, but not one in use', async () => {
    await using world = await online()
    const { agent } = world
    for (const form of ['tcp://1.tcp.adit.localhost:PORT', '1.tcp.adit.localhost:PORT', ':PORT', 'PORT']) {
      const port = await freePort()
      const text = form.replace('PORT', String(port))
      const answer = await agent.bind('tcp', form.includes('//') ? { URL: text } : { Addr: text })
      assert.equal(answer.URL, `tcp://1.tcp.adit.localhost:${port}`, answer.Error)
      assert.equal(code((await agent.bind('tcp', { Addr: text })).Error), 'ERR_NGROK_334')
      await agent.unbind(answer.Id)
    }
  })

  test('may use a reserved address', async () => {
    await using world = await online()
    const port = await freePort()
    const addr = world.gateway.source.put('reserved_addr', newId('ra'), {
      addr: `1.tcp.eu.adit.localhost:${port}`,
    })
    const answer = await world.agent.bind('tcp', { Addr: `:${port}` })
    assert.equal(answer.URL, `tcp://1.tcp.eu.adit.localhost:${port}`)
    assert.equal(world.gateway.directory.tunnels.get(answer.Id)?.addrId, addr)
  })

  test('is refused outside the range, on a port of an edge, and where another program listens', async () => {
    await using world = await online({ info: { tcp_ports: { first: 2000, last: 65_535 } } })
    const { agent, gateway } = world
    assert.equal(code((await agent.bind('tcp', { Addr: ':1999' })).Error), 'ERR_NGROK_90056')
    assert.equal(code((await agent.bind('tcp', { Addr: ':http' })).Error), 'ERR_NGROK_90056')
    const edgePort = await freePort()
    gateway.source.put('tcp_edge', newId('edgtcp'), { hostports: [`1.tcp.adit.localhost:${edgePort}`] })
    assert.equal(code((await agent.bind('tcp', { Addr: `:${edgePort}` })).Error), 'ERR_NGROK_90052')
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    assert.match((await agent.bind('tcp', { Addr: `:${port}` })).Error, /another program.*90056/s)
    server.close()
  })

  test('never gets a random port that is reserved, served by an edge or in use; with none left it is refused', async () => {
    const first = await freePort()
    const randomTcpPorts = { first, last: first }
    await using world = await online({ info: { randomTcpPorts } })
    const { agent, gateway } = world
    const addr = gateway.source.put('reserved_addr', newId('ra'), { addr: `1.tcp.adit.localhost:${first}` })
    assert.equal(code((await agent.bind('tcp')).Error), 'ERR_NGROK_90061')
    gateway.source.remove(addr)
    assert.equal((await agent.bind('tcp')).Error, '')
    assert.equal(code((await agent.bind('tcp')).Error), 'ERR_NGROK_90061')
  })
})

suite('the options of a tunnel', () => {
  const refused: readonly (readonly [string, JsonObject])[] = [
    ['tcp', { Compression: {} }],
    ['tls', { CircuitBreaker: { error_threshold: 0.5 } }],
    ['https', { CircuitBreaker: { error_threshold: 2 } }],
    ['https', { OAuth: { provider: 'google' } }],
    ['https', { OIDC: { issuer_url: 'https://idp.example' } }],
    ['https', { WebhookVerification: { provider: 'github' } }],
    ['https', { MutualTLSCA: { mutual_tls_ca: '' } }],
    ['tcp', { WebsocketTCPConverter: {} }],
    ['https', { UserAgentFilter: { allow: ['('] } }],
    ['https', { TrafficPolicy: '{}' }],
    ['https', { Policy: { Inbound: [] } }],
    ['https', { TLSTermination: {} }],
    ['https', { ProxyProto: 3 }],
    ['https', { BasicAuth: { credentials: [] } }],
    ['tls', { MutualTLSAtEdge: { mutual_tls_ca: '' } }],
    ['tls', { MutualTLSAtAgent: true }],
    ['tls', { BasicAuth: { credentials: [{ username: 'a', cleartext_password: 'b' }] } }],
    ['tls', { TLSTermination: { cert: 'AAAA', key: 'AAAA' } }],
    ['tls', { TLSTermination: { sealed_key: 'AAAA' } }],
    ['tcp', { Auth: 'a:b' }],
    ['tcp', { RequestHeaders: { add: ['a:b'] } }],
    ['tcp', { IPRestriction: { allow_cidrs: ['nonsense'] } }],
    ['tcp', { TrafficPolicy: 'x' }],
  ]
  for (const [proto, opts] of refused)
    test(`${JSON.stringify(opts)} are refused on ${proto}`, async () => {
      await using world = await online()
      const { Error: text } = await world.agent.bind(proto, opts)
      assert.equal(code(text), 'ERR_NGROK_90058')
      assert.ok(text.includes(String(Object.keys(opts)[0])), text)
      assert.equal(world.gateway.directory.tunnels.size, 0)
    })

  const accepted: readonly (readonly [string, JsonObject])[] = [
    ['https', { BasicAuth: { credentials: [{ username: 'a', cleartext_password: 'b' }] }, ProxyProto: 2 }],
    ['https', { Auth: 'a:b', HostHeaderRewrite: true, LocalUrlScheme: 'http' }],
    ['https', { IPRestriction: { allow_cidrs: ['10.0.0.0/8'] } }],
    ['https', { Compression: {}, WebsocketTCPConverter: {}, UserAgentFilter: { deny: ['bot'] } }],
    ['http', { RequestHeaders: { add: ['a:b'] }, ResponseHeaders: { remove: ['c'] } }],
    ['tls', { TLSTermination: {}, MutualTLSAtAgent: false, TrafficPolicy: null }],
    ['tls', { TLSTermination: null, IPRestriction: { deny_cidrs: ['10.0.0.0/8'] } }],
    ['tcp', { ProxyProto: 1, Policy: null, TrafficPolicy: '' }],
  ]
  for (const [proto, opts] of accepted)
    test(`${JSON.stringify(opts)} are accepted on ${proto}`, async () => {
      await using world = await online()
      const answer = await world.agent.bind(proto, opts)
      assert.equal(answer.Error, '')
      assert.partialDeepStrictEqual(answer.Opts, opts)
    })

  for (const extra of [
    { IPPolicyRef: 'x' },
    { Bindings: ['internal'] },
    { Bindings: ['public', 'kubernetes'] },
  ])
    test(`${JSON.stringify(extra)} beside them is refused`, async () => {
      await using world = await online()
      assert.equal(code((await world.agent.bind('https', {}, { extra })).Error), 'ERR_NGROK_90058')
    })

  test('of an unknown protocol are refused', async () => {
    await using world = await online()
    assert.equal(code((await world.agent.bind('gopher')).Error), 'ERR_NGROK_90057')
  })

  test('may be changed later where the protocol allows it', async () => {
    await using world = await online()
    const { agent, gateway } = world
    const { Id } = await agent.bind('https')
    assert.equal((await agent.patch({ TunnelId: Id, Metadata: 'changed' })).Error, '')
    assert.equal(gateway.directory.tunnels.get(Id)?.metadata, 'changed')
    assert.equal(code((await agent.patch({ TunnelId: Id, TrafficPolicy: 'x' })).Error), 'ERR_NGROK_90058')
    assert.notEqual((await agent.patch({ TunnelId: newId('tn') })).Error, '')
  })
})

suite('the ACL of a credential', () => {
  const https = (host: string): EndpointAddress => ({ scheme: 'https', host })
  const tcp = (host: string, port: number): EndpointAddress => ({ scheme: 'tcp', host, port })
  const rows: readonly (readonly [readonly string[], EndpointAddress, boolean])[] = [
    [[], https('a.test'), true],
    [['*'], https('a.test'), true],
    [['bind:a.test'], https('a.test'), true],
    [['bind:A.Test'], https('a.test'), true],
    [['bind:a.test'], https('b.test'), false],
    [['bind:a.test'], https('x.a.test'), false],
    [['bind:*.a.test'], https('x.a.test'), true],
    [['bind:*.a.test'], https('a.test'), false],
    [['bind:*.a.test'], https('xa.test'), false],
    [['bind:a.test:443'], https('a.test'), false],
    [['bind:1.tcp.test:20001'], tcp('1.tcp.test', 20_001), true],
    [['bind:1.tcp.test:20001'], tcp('1.tcp.test', 20_002), false],
    [['bind:1.tcp.test'], tcp('1.tcp.test', 20_001), false],
    [['bind:a=b'], https('a.test'), false],
    [['bind:b.test', 'bind:a.test'], https('a.test'), true],
  ]
  for (const [acl, address, allowed] of rows)
    test(`[${acl.join(', ')}] ${allowed ? 'allows' : 'refuses'} ${JSON.stringify(address)}`, () => {
      assert.equal(mayBind(acl, address, {}), allowed)
    })

  test('must allow every label of a labelled tunnel', () => {
    assert.equal(mayBind(['bind:a=1'], undefined, { a: '1' }), true)
    assert.equal(mayBind(['bind:a=1'], undefined, { a: '2' }), false)
    assert.equal(mayBind(['bind:a=1'], undefined, { a: '1', b: '1' }), false)
    assert.equal(mayBind(['bind:a=1', 'bind:b=1'], undefined, { a: '1', b: '1' }), true)
    assert.equal(mayBind(['bind:a.test'], undefined, { a: '1' }), false)
  })

  test('applies to requested and random names, ports and labels', async () => {
    await using world = await online({}, ['bind:mine.adit.localhost', 'bind:app=web'])
    const { agent } = world
    assert.equal((await agent.bind('https', { Domain: 'mine' })).Error, '')
    const { Error: text } = await agent.bind('https', { Domain: 'yours' })
    assert.match(text, /may not bind yours\.adit\.localhost.*bind:mine\.adit\.localhost.*ERR_NGROK_90053/s)
    for (const proto of ['https', 'tcp'])
      assert.equal(code((await agent.bind(proto)).Error), 'ERR_NGROK_90053')
    assert.equal((await agent.label({ app: 'web' })).Error, '')
    assert.equal(code((await agent.label({ app: 'db' })).Error), 'ERR_NGROK_90053')
  })

  test('with a wildcard allows random names', async () => {
    await using world = await online({}, ['bind:*.adit.localhost'])
    assert.equal((await world.agent.bind('https')).Error, '')
  })

  test('that no longer allows a tunnel closes it, and the agent gets the reason', async () => {
    await using world = await online()
    const { agent, gateway } = world
    const kept = await agent.bind('https', { Domain: 'kept' })
    const lost = await agent.bind('https', { Domain: 'lost' })
    const id = gateway.directory.sessions.get(agent.clientId)?.credentialId ?? ''
    gateway.source.put('credential', id, { token_hash: 'x', acl: ['bind:kept.adit.localhost'] })
    await until(() => !gateway.directory.tunnels.has(lost.Id), { what: 'the tunnel has gone' })
    assert.ok(gateway.directory.tunnels.has(kept.Id))
    await until(() => agent.stopped.length === 1, { what: 'the agent was notified' })
    assert.partialDeepStrictEqual(agent.stopped[0], { Id: lost.Id, ErrorCode: 'ERR_NGROK_90053' })
  })
})

suite('a session', () => {
  test('may have at most 256 tunnels', async () => {
    await using world = await online()
    const answers = await Promise.all(Array.from({ length: 257 }, () => world.agent.bind('https')))
    assert.equal(answers.filter(({ Error: text }) => text === '').length, 256)
    assert.equal(answers.filter(({ Error: text }) => code(text) === 'ERR_NGROK_90060').length, 1)
  })

  test('may unbind a tunnel repeatedly', async () => {
    await using world = await online()
    const { agent, gateway } = world
    const { Id } = await agent.bind('https', { Domain: 'a' })
    for (let times = 0; times < 3; times++) assert.equal((await agent.unbind(Id)).Error, '')
    assert.equal(gateway.directory.tunnels.size, 0)
    assert.equal((await agent.bind('https', { Domain: 'a' })).Error, '')
  })

  test('cannot unbind a tunnel of another session', async () => {
    await using world = await online()
    const { agent, gateway } = world
    const { Id } = await agent.bind('https')
    const other = await TestAgent.signIn(gateway, gateway.source.credential().token)
    assert.equal((await other.unbind(Id)).Error, '')
    assert.ok(gateway.directory.tunnels.has(Id))
  })

  test('may have labelled tunnels, several with the same labels', async () => {
    await using world = await online()
    const { agent, gateway } = world
    const first = await agent.label({ app: 'web' })
    const second = await agent.label({ app: 'web' })
    assert.notEqual(first.Id, second.Id)
    assert.partialDeepStrictEqual(gateway.directory.tunnels.get(first.Id), {
      labels: { app: 'web' },
      url: '',
      metadata: 'labelled',
    })
    for (const labels of [{}, { '': 'x' }, { 'a=b': 'c' }])
      assert.equal(code((await agent.label(labels)).Error), 'ERR_NGROK_90059')
  })
})
