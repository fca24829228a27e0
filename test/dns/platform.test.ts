import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { readSettings } from '#base/read-settings.ts'
import { serve } from '#server/serve.ts'
import { openStore } from '#store/open.ts'
import { signIn, visit, web } from '../agent/support.ts'
import { newMember } from '../support/members.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { dig, kdig } from './support.ts'
import { resolveAt } from '../support/resolve-at.ts'
import { until } from '../support/until.ts'
import { newFolder } from '../support/folder.ts'

const withDns = (more: Record<string, string> = {}) =>
  startServer({ domain: 'adit.test', dns_addr: '127.0.0.1:0', ...more })
const portOf = ({ dns: bound }: TestServer): number => bound?.port ?? assert.fail('DNS is off')

suite('the platform', () => {
  test('answers for its domain, and counts the queries', async () => {
    await using server = await withDns({ caa: 'letsencrypt.org' })
    const port = portOf(server)
    assert.deepEqual((await dig(port, 'any.adit.test', 'A')).answers, ['any.adit.test. 300 IN A 127.0.0.1'])
    const { answers } = await kdig(port, 'adit.test', 'NS')
    assert.deepEqual(
      answers.map(line => line.split(' ').at(-1)),
      ['ns1.adit.test.', 'ns2.adit.test.'],
    )
    assert.equal((await dig(port, 'adit.test', 'CAA', '+short')).text.trim(), '0 issue "letsencrypt.org"')
    assert.equal((await dig(port, 'example.org', 'A')).status, 'REFUSED')
    const metrics = await fetch(`${server.api.url}/metrics`, {
      headers: { authorization: `Bearer ${server.api.token}` },
    })
    const text = await metrics.text()
    assert.match(text, /^adit_dns_queries_total\{result="noerror"\} 3$/m)
    assert.match(text, /^adit_dns_queries_total\{result="refused"\} 1$/m)
  })

  test('lists its zones for admins, as it serves them', async () => {
    await using server = await withDns({ caa: 'letsencrypt.org', public_addresses: '192.0.2.1,2001:db8::1' })
    const { body } = await server.api.get('/dns_zones')
    const [zone, ...others] = body.dns_zones
    assert.deepEqual([zone.domain, others], ['adit.test', []])
    assert.equal(zone.record_count, zone.records.length)
    const of = (name: string, type: string): string[] =>
      zone.records.flatMap((each: { name: string; type: string; ttl: number; value: string }) =>
        each.name === name && each.type === type ? [`${each.ttl} ${each.value}`] : [],
      )
    assert.deepEqual(of('adit.test', 'NS'), ['3600 ns1.adit.test', '3600 ns2.adit.test'])
    assert.deepEqual(of('adit.test', 'CAA'), ['300 0 issue "letsencrypt.org"'])
    assert.deepEqual(of('*.adit.test', 'A'), ['300 192.0.2.1'])
    assert.deepEqual(of('*.adit.test', 'AAAA'), ['300 2001:db8::1'])
    const { text } = await dig(portOf(server), 'adit.test', 'SOA', '+short')
    assert.deepEqual(of('adit.test', 'SOA'), [`30 ${text.trim().replaceAll('. ', ' ')}`])
    assert.equal(zone.serial, Number(text.split(' ')[2]))
    assert.deepEqual((await server.api.get(`/dns_zones/${zone.id}`)).body, zone)
    const { token } = await newMember(server.api)
    for (const path of ['/dns_zones', `/dns_zones/${zone.id}`])
      assert.equal((await server.api.get(path, { token })).status, 403)
  })

  test('answers for a challenge', async () => {
    const folder = newFolder()
    {
      await using store = await openStore({ databaseUrl: undefined, dataDir: folder })
      const body = {
        type: 'dns-01',
        name: '*.example.org',
        token: 'token',
        key_authorization: 'token.thumbprint',
        target: 'abc.acme.adit.test',
        expires_at: new Date(Date.now() + 60_000).toISOString(),
      }
      const row = {
        id: 'acme_1',
        kind: 'acme_challenge',
        parent: null,
        version: 1,
        body: JSON.stringify(body),
      }
      await store.commit([{ op: 'insert', entry: { row, refs: [], claims: [] } }])
    }
    await using server = await withDns({ data_dir: folder })
    const proof = hash('sha256', 'token.thumbprint', 'base64url')
    const { text } = await dig(portOf(server), 'abc.acme.adit.test', 'TXT', '+short')
    assert.equal(text.trim(), `"${proof}"`)
    const { body } = await server.api.get('/dns_zones')
    assert.deepEqual(
      body.dns_zones[0].records.filter(({ type }: { type: string }) => type === 'TXT'),
      [{ name: 'abc.acme.adit.test', type: 'TXT', ttl: 1, value: `"${proof}"` }],
    )
  })

  test('does not start with a port for DNS that is taken', async () => {
    await using server = await withDns()
    const flags = { data_dir: newFolder(), dns_addr: `127.0.0.1:${portOf(server)}`, log_level: 'silent' }
    const off = { api_addr: 'off', http_addr: 'off', https_addr: 'off', agent_addr: 'off', ssh_addr: 'off' }
    const settings = readSettings(new Map(Object.entries({ ...flags, ...off })), {})
    await assert.rejects(serve(settings), {
      name: 'StartError',
      message: /^cannot listen on .*\(ADIT_DNS_ADDR\): another program uses it; .*ADIT_DNS_ADDR=off/,
    })
  })
})

suite('an agent ingress', () => {
  let server: TestServer
  let port: number
  let ca: string
  before(async () => {
    server = await withDns()
    port = portOf(server)
    ca = readFileSync(join(server.dataDir, 'ca.pem'), 'utf8')
  })
  after(() => server[Symbol.asyncDispose]())

  const create = async (domain: string) => {
    const { body, status } = await server.api.post('/agent_ingresses', { domain })
    assert.equal(status, 201)
    return body as { id: string; ns_targets: string[]; region_domains: string[] }
  }
  const connectAs = async (servername: string): Promise<string> => {
    const socket = connectTls({ host: '127.0.0.1', port: server.bound.agent?.port ?? 0, servername, ca })
    try {
      await once(socket, 'secureConnect')
      return 'served'
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error)
    } finally {
      socket.destroy()
    }
  }

  /** The gateway gets a change separately, perhaps after DNS. */
  const untilAnswered = async (name: string, wanted: string): Promise<void> => {
    await until(() => connectAs(name), { fits: answer => answer === wanted })
  }

  test('is answered for as the API shows it', async () => {
    const { ns_targets, region_domains } = await create('first.example.net')
    assert.deepEqual(ns_targets, ['ns1.adit.test', 'ns2.adit.test'])
    assert.deepEqual(region_domains, ['tunnel.us.first.example.net'])
    const ask = () => dig(port, 'first.example.net', 'NS')
    const { answers } = await until(ask, { fits: ({ status }) => status === 'NOERROR' })
    assert.deepEqual(
      answers.map(line => line.split(' ').at(-1)),
      ns_targets.map(name => `${name}.`),
    )
    for (const name of [...ns_targets, ...region_domains])
      assert.equal((await dig(port, name, 'A', '+short')).text.trim(), '127.0.0.1')
  })

  test('accepts agents that connect by its name, which DNS resolves', async () => {
    const { region_domains } = await create('second.example.net')
    const [name = ''] = region_domains
    await until(() => dig(port, name, 'A'), { fits: ({ answers }) => answers.length > 0 })
    await untilAnswered(name, 'served')
    using _ = resolveAt('second.example.net', [`127.0.0.1:${port}`])
    await using service = await web((_request, response) => response.end('through the ingress'))
    await using agent = await signIn(server, { server: `${name}:${server.bound.agent?.port}` })
    const { url } = await agent.listen({ forwardTo: service.port })
    assert.equal((await visit(url, { ca })).body, 'through the ingress')
  })

  test('that is not there gets no service', async () => {
    const { id } = await create('third.example.net')
    const name = 'tunnel.us.third.example.net'
    await until(() => dig(port, name, 'A'), { fits: ({ answers }) => answers.length > 0 })
    await untilAnswered(name, 'served')
    assert.equal(await connectAs('third.example.net'), 'served')
    assert.equal(await connectAs('adit.test'), 'served')
    assert.equal(await connectAs('tunnel.us.unknown.example.net'), 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME')
    await server.api.delete(`/agent_ingresses/${id}`)
    await until(() => dig(port, name, 'A'), { fits: ({ status }) => status === 'REFUSED' })
    await untilAnswered(name, 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME')
  })
})
