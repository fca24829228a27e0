import assert from 'node:assert/strict'
import dns from 'node:dns'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { connect as connectTcp, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { after, before, mock, suite, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import 'reflect-metadata'
import { ExtendedKeyUsage, type JsonGeneralNames } from '@peculiar/x509'
import { connect } from '#agent/index.ts'
import { parseProxy, proxyFor } from '#agent/proxy/proxy-url.ts'
import type { Finding } from '#cli/agent/diagnose.ts'
import { authority, issueCertificate } from '../tls/test-certificates.ts'
import { runAdit, startServer, type TestServer } from '../support/server.ts'
import { environmentOf } from '../cli/agent-support.ts'
import { relayTo } from './relay.ts'
import { signIn, stallAtConnect, StatusLog, visit, web } from './support.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../support/until.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

const DAY = 86_400_000
const usages = [ExtendedKeyUsage.serverAuth]
const elsewhere: JsonGeneralNames = [{ type: 'dns', value: 'other.example' }]
const here: JsonGeneralNames = [{ type: 'ip', value: '127.0.0.1' }]

async function listening(listener: Server): Promise<string> {
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return `127.0.0.1:${(listener.address() as AddressInfo).port}`
}

/** What the library and `adit diagnose` report for an address without a usable gateway. */
async function failures(address: string, ca?: string) {
  const token = { authtoken: server.authtoken, retry: { baseMs: 1, capMs: 4 } }
  const failed = Promise.withResolvers<Error & { code?: string }>()
  const onStatus = ({ error }: { error?: Error }) => error && failed.resolve(error)
  const stop = new AbortController()
  const connecting = connect({ server: address, ca, ...token, onStatus, signal: stop.signal })
  connecting.catch((error: Error) => failed.resolve(error))
  const error = await failed.promise
  stop.abort()
  await connecting.then(agent => agent.close()).catch(() => undefined)
  const file = join(server.dataDir, 'named.pem')
  if (ca !== undefined) writeFileSync(file, ca)
  const args = ['diagnose', '--json', '--server', address, ...(ca === undefined ? [] : ['--ca', file])]
  const { stdout, code } = await runAdit(args, { ...environmentOf(server), ADIT_DATA_DIR: '/nonexistent' })
  assert.equal(code, 1)
  const { steps } = JSON.parse(stdout) as { steps: Finding[] }
  const found = steps.find(({ result }) => result === 'failed')
  return { error, diagnosed: `${found?.step}: ${found?.detail} ${found?.advice ?? ''}` }
}

test('a gateway whose name has a second address may respond late at the first', async () => {
  // A name with two addresses needs a change of the system's files, so its resolution alone is replaced.
  const addresses = ['127.0.0.1', '127.0.0.2'].map(address => ({ address, family: 4 }))
  const resolve = (...[, , done]: [unknown, unknown, (error: null, found: typeof addresses) => void]) =>
    done(null, addresses)
  const replaced = mock.method(dns, 'lookup', resolve)
  syncBuiltinESMExports()
  try {
    const log = new StatusLog()
    stallAtConnect()
    const { onStatus } = log
    const agent = await signIn(server, { server: `localhost:${server.bound.agent?.port}`, onStatus })
    await agent.close()
    assert.deepEqual(
      log.seen.filter(({ error }) => error !== undefined),
      [],
    )
    assert.ok(replaced.mock.callCount() > 0)
  } finally {
    replaced.mock.restore()
    syncBuiltinESMExports()
  }
})

suite('a gateway that cannot be used is explained by the agent and by adit diagnose', () => {
  for (const [what, wish, code, message] of [
    [
      'expired',
      { to: Date.now() - DAY, from: Date.now() - 9 * DAY },
      90300,
      /expired on \d{4}-\d\d-\d\d\. Renew it on the gateway, or correct the clock of this machine \(now \d{4}-\d\d-\d\d \d\d:\d\d UTC\)\./,
    ],
    [
      'not valid yet',
      { from: Date.now() + DAY, to: Date.now() + 9 * DAY },
      90301,
      /is not valid before .* Correct the clock of this machine \(now /,
    ],
    [
      'for another name',
      { names: elsewhere },
      90302,
      /is for other\.example, not for 127\.0\.0\.1\. Use one of these names with --server/,
    ],
  ] as const)
    test(`its certificate is ${what}`, async () => {
      const root = await authority({ from: Date.now() - 30 * DAY, to: Date.now() + 30 * DAY })
      const leaf = await issueCertificate({ names: here, usages, issuer: root, ...wish })
      const other = createTlsServer({ cert: leaf.chain, key: leaf.keyPem }, socket => socket.destroy())
      const { error, diagnosed } = await failures(await listening(other), root.pem)
      assert.equal(error.code, `ERR_ADIT_${code}`)
      assert.match(error.message, message)
      assert.match(diagnosed, message)
      assert.match(diagnosed, /^tls: .*It showed a certificate for .* valid from \S+ to \S+\.$/)
      other.close()
    })

  test('its CA is not known, or a proxy intercepts TLS', async () => {
    const address = `127.0.0.1:${server.bound.agent?.port ?? 0}`
    const { error, diagnosed } = await failures(address, (await authority()).pem)
    const known =
      /issued by O=Adit, CN=Adit local authority .* That is the local CA of a gateway: copy ca\.pem from its data folder and set it with --ca\./
    assert.match(error.message, known)
    assert.match(diagnosed, /The file \S+named\.pem does not have it\. That is the local CA/)
    const leaf = await issueCertificate({
      names: here,
      usages,
      issuer: await authority({ name: 'Corporate Proxy' }),
    })
    const other = createTlsServer({ cert: leaf.chain, key: leaf.keyPem }, socket => socket.destroy())
    const intercepted = await failures(await listening(other))
    for (const text of [intercepted.error.message, intercepted.diagnosed])
      assert.match(
        text,
        /issued by CN=Corporate Proxy, .* a proxy that intercepts TLS, .* set its CA with --ca\./,
      )
    other.close()
  })

  test('it is the HTTPS port of another server', async () => {
    const leaf = await issueCertificate({ names: here, usages, issuer: await authority() })
    const other = createTlsServer({ cert: leaf.chain, key: leaf.keyPem, ALPNProtocols: ['h2', 'http/1.1'] })
    const { error, diagnosed } = await failures(await listening(other))
    other.close()
    const message = /is an HTTPS port that rejects the agent protocol: .* agent_addr, by default port 4443\./
    assert.equal(error.code, 'ERR_ADIT_90304')
    assert.match(error.message, message)
    assert.match(diagnosed, message)
  })

  test('it is the HTTP port', async () => {
    const { error, diagnosed } = await failures(`127.0.0.1:${server.bound.http?.port ?? 0}`)
    assert.equal(error.code, 'ERR_ADIT_90303')
    for (const text of [error.message, diagnosed])
      assert.match(text, /does not use TLS: .* by default 4443\./)
  })

  test('nothing listens, or the name is not known', async () => {
    const refused = await failures('127.0.0.1:1')
    for (const text of [refused.error.message, refused.diagnosed])
      assert.match(text, /nothing listens there \(ECONNREFUSED\)\. Check that the gateway runs/)
    const unknown = await failures('gateway.invalid:1')
    assert.match(
      unknown.error.message,
      /its name (is unknown|cannot be resolved at the moment) \(E\w+\)\. Check /,
    )
  })

  test('it rejects the address of the agent', async () => {
    const { body: policy } = await server.api.post('/ip_policies', {})
    await server.api.post('/ip_policy_rules', {
      ip_policy_id: policy.id,
      cidr: '192.0.2.0/24',
      action: 'allow',
    })
    const { body: restriction } = await server.api.post('/ip_restrictions', {
      type: 'agent',
      enforced: true,
      ip_policy_ids: [policy.id],
    })
    try {
      const args = ['diagnose', '--json']
      const { stdout } = await runAdit(args, environmentOf(server))
      const { steps } = JSON.parse(stdout) as { steps: Finding[] }
      const found = steps.find(({ result }) => result === 'failed')
      assert.match(
        found?.detail ?? '',
        /may not connect from 127\.0\.0\.1: .* Allow this address in an IP policy/,
      )
      assert.match(found?.advice ?? '', /The token is fine: .*ip-restrictions list/)
    } finally {
      await server.api.delete(`/ip_restrictions/${restriction.id}`)
    }
  })
})

test('--ca counts beside the CAs of the machine, --ca-only alone', async () => {
  const file = join(server.dataDir, 'another.pem')
  writeFileSync(file, (await authority()).pem)
  const environment = {
    ...environmentOf(server),
    ADIT_DATA_DIR: '/nonexistent',
    ADIT_AUTHTOKEN: server.authtoken,
    // Here the machine trusts the CA of the gateway, as it does for one with a public domain.
    NODE_EXTRA_CA_CERTS: join(server.dataDir, 'ca.pem'),
  }
  assert.equal((await runAdit(['diagnose', '--ca', file], environment)).code, 0)
  assert.equal((await runAdit(['diagnose'], environment)).code, 0)
  const only = await runAdit(['diagnose', '--ca', file, '--ca-only'], environment)
  assert.equal(only.code, 1)
  assert.match(only.stdout, /The file \S+another\.pem does not have it/)
})

/** A proxy that speaks CONNECT, and counts. */
function connectProxy(credentials?: string) {
  const asked: string[] = []
  const proxy = createHttpServer((_, response) => response.end('a web page'))
  proxy.on('connect', (request, client: Socket) => {
    asked.push(request.url ?? '')
    const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
    if (request.headers['proxy-authorization'] !== expected) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    const [host = '', port = ''] = (request.url ?? '').split(':')
    const upstream = connectTcp(Number(port), host, () => client.write('HTTP/1.1 200 OK\r\n\r\n'))
    joined(client, upstream)
  })
  return { proxy, asked }
}

function joined(client: Socket, upstream: Socket): void {
  client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
  upstream.on('error', () => client.destroy()).on('close', () => client.destroy())
  client.pipe(upstream).pipe(client)
}

/** A SOCKS5 proxy with a password, byte by byte as slow networks deliver. */
function socksProxy(asked: string[]): Server {
  return createServer(client => {
    client.on('error', () => undefined)
    const answers = new Map<string, string>([
      ['05020002', '0502'],
      ['010275730270 77'.replaceAll(' ', ''), '0100'],
    ])
    let bytes = ''
    const read = (data: Buffer): void => {
      bytes += data.toString('hex')
      const answer = answers.get(bytes)
      if (answer !== undefined) {
        bytes = ''
        for (const byte of Buffer.from(answer, 'hex')) client.write(Buffer.from([byte]))
      } else if (bytes.startsWith('05010001') && bytes.length === 20) {
        const host = Buffer.from(bytes.slice(8, 16), 'hex').join('.')
        const port = Number.parseInt(bytes.slice(16), 16)
        asked.push(`${host}:${port}`)
        client.off('data', read)
        const upstream = connectTcp(port, host, () => {
          client.write(Buffer.from('05000001000000000000', 'hex'))
          joined(client, upstream)
        })
      }
    }
    client.on('data', read)
  })
}

suite('an agent at the HTTPS port of the gateway', () => {
  const port = (): number => server.bound.https?.port ?? 0

  test('opens tunnels, and reconnects after its connection was cut', async () => {
    await using service = await web((_, response) => response.end('over 443'))
    await using relay = await relayTo(port())
    const log = new StatusLog()
    await using agent = await signIn(server, { server: relay.address, onStatus: log.onStatus })
    const { url } = await agent.listen({ proto: 'http', forwardTo: service.port })
    assert.equal((await visit(url)).body, 'over 443')
    // Those of the tests before may not be closed yet.
    const metrics = async () => (await fetch(`${server.api.url}/metrics`)).text()
    await until(metrics, { fits: text => /^adit_connections\{kind="agent"\} 1$/m.test(text) })
    assert.match(await metrics(), /^adit_connections\{kind="https"\} 0$/m)
    const seen = log.seen.length
    relay.cut()
    await log.next(({ state }) => state === 'online', seen)
    assert.equal((await visit(url)).body, 'over 443')
  })

  test('does not delay the end of the gateway', async () => {
    const other = await startServer()
    const log = new StatusLog()
    const address = `127.0.0.1:${other.bound.https?.port ?? 0}`
    await using agent = await signIn(other, { server: address, onStatus: log.onStatus })
    const begun = performance.now()
    await other[Symbol.asyncDispose]()
    assert.ok(performance.now() - begun < 20_000)
    assert.equal((await log.next(({ state }) => state === 'reconnecting')).state, 'reconnecting')
    assert.equal(agent.tunnels.size, 0)
  })

  test('is diagnosed as one at the agent port', async () => {
    const { stdout, code } = await runAdit(
      ['diagnose', '--json', '--server', `127.0.0.1:${port()}`],
      environmentOf(server),
    )
    assert.equal(code, 0, stdout)
  })
})

suite('an agent behind a proxy', () => {
  const options = () => ({
    server: `127.0.0.1:${server.bound.agent?.port ?? 0}`,
    authtoken: server.authtoken,
    ca: join(server.dataDir, 'ca.pem'),
    retry: { baseMs: 1, capMs: 4 },
  })

  test('connects by CONNECT, with a password', async () => {
    const { proxy, asked } = connectProxy('us:pw')
    const agent = await connect({ ...options(), proxy: `http://us:pw@${await listening(proxy)}` })
    assert.deepEqual(asked, [options().server])
    const tunnel = await agent.listen({ forwardTo: 1 })
    assert.match(tunnel.url, /^https:/)
    await agent.close()
    proxy.close()
  })

  test('connects by SOCKS5, with a password', async () => {
    const asked: string[] = []
    const proxy = socksProxy(asked)
    const agent = await connect({ ...options(), proxy: `socks5://us:pw@${await listening(proxy)}` })
    assert.deepEqual(asked, [options().server])
    await agent.close()
    proxy.close()
  })

  test('reports why the proxy refused', async () => {
    const { proxy } = connectProxy('us:pw')
    const address = await listening(proxy)
    for (const [url, message] of [
      [
        `http://${address}`,
        `The proxy http://${address} requires a user name and password: write them as http://user:password@host:port.`,
      ],
      [`socks5://${address}`, `The proxy socks5://${address} is not a SOCKS5 proxy.`],
      [
        'http://127.0.0.1:1',
        'The proxy http://127.0.0.1:1 cannot be reached: ECONNREFUSED. Check proxy_url or https_proxy.',
      ],
    ] as const) {
      const failed = Promise.withResolvers<Error>()
      const stop = new AbortController()
      const onStatus = ({ error }: { error?: Error }) => error && failed.resolve(error)
      const connecting = connect({ ...options(), proxy: url, onStatus, signal: stop.signal })
      connecting.catch(() => undefined)
      assert.equal((await failed.promise).message, message)
      stop.abort()
      await connecting.catch(() => undefined)
    }
    proxy.close()
  })

  test('takes the proxy of the environment, except for names in no_proxy and this machine', () => {
    const environment = { https_proxy: 'http://u:p@proxy.test:3128', NO_PROXY: 'internal.test,.corp.test' }
    assert.deepEqual(
      proxyFor('gateway.test', undefined, environment),
      parseProxy('http://u:p@proxy.test:3128'),
    )
    assert.equal(proxyFor('gateway.test', undefined, environment)?.text, 'http://proxy.test:3128')
    for (const host of ['localhost', '127.0.0.1', 'a.internal.test', 'internal.test', 'a.corp.test'])
      assert.equal(proxyFor(host, undefined, environment), undefined, host)
    assert.equal(proxyFor('notinternal.test', undefined, environment)?.port, 3128)
    assert.equal(proxyFor('127.0.0.1', 'socks5h://p.test', {})?.port, 1080)
    assert.throws(() => proxyFor('a.test', 'ftp://u:secret@p', {}), {
      message:
        'The proxy ftp://p cannot be used: its address must be http://host:port or socks5://host:port.',
    })
  })
})
