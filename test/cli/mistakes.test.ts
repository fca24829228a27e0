import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecureServer, type Server } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { configFile, environmentOf, spawnAgent, visit } from './agent-support.ts'
import { authority, issueCertificate, type CertificateOptions } from '../tls/test-certificates.ts'
import { Folder } from '../support/folder.ts'
import { runAdit, startServer, type TestServer } from '../support/server.ts'

const DAY = 86_400_000

let server: TestServer
let otherHttps: Server
before(async () => {
  server = await startServer()
  const { chain: cert, keyPem: key } = await issueCertificate({ issuer: await authority() })
  otherHttps = createSecureServer({ cert, key, ALPNProtocols: ['h2', 'http/1.1'] })
  await once(otherHttps.listen(0, '127.0.0.1'), 'listening')
})
after(() => {
  otherHttps.close()
  return server[Symbol.asyncDispose]()
})

/** What a person types, and what says the problem, its cause and what to change. */
interface Mistake {
  readonly args: readonly string[]
  readonly code: number
  readonly problem: RegExp
  readonly fix: RegExp
  /** Relative to the server of the test when absent. */
  readonly environment?: Record<string, string>
}

const file = (text: string): string => {
  const path = join(server.dataDir, `mistake-${text.length}.yml`)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}
const serve = (environment: Record<string, string>) => ({
  args: ['serve'],
  environment: {
    ADIT_API_ADDR: '127.0.0.1:0',
    ADIT_HTTP_ADDR: 'off',
    ADIT_HTTPS_ADDR: 'off',
    ...environment,
  },
})

const mistakes: Readonly<Record<string, () => Mistake>> = {
  'a data folder that another server uses': () => ({
    ...serve({ ADIT_DATA_DIR: server.dataDir }),
    code: 1,
    problem: /Another process uses this database: it holds \S+/,
    fix: /stop it, or choose another one with ADIT_DATA_DIR/,
  }),
  'a data folder that is a file': () => ({
    ...serve({ ADIT_DATA_DIR: join(server.dataDir, 'ca.pem') }),
    code: 1,
    problem: /the data folder \S+ca\.pem \(ADIT_DATA_DIR\) cannot be used: it is a file/,
    fix: /Choose a folder that this user can write, with ADIT_DATA_DIR/,
  }),
  'a data folder where no folder can be': () => ({
    ...serve({ ADIT_DATA_DIR: '/proc/adit/data' }),
    code: 1,
    problem: /the data folder \/proc\/adit\/data \(ADIT_DATA_DIR\) cannot be used: /,
    fix: /Choose a folder/,
  }),
  'a key in a settings file': () => ({
    args: ['serve', '--config', file('domian: x\n')],
    code: 2,
    problem: /"domian" is not a setting/,
    fix: /did you mean "domain"\? adit serve --help lists them/,
  }),
  'a settings file that is not YAML': () => ({
    args: ['serve', '--config', file('domain: x\nhttp_addr: [\n')],
    code: 2,
    problem: /mistake-\d+\.yml:\d+:\d+: this is not YAML: /,
    fix: /must be sufficiently indented and end with a \]\n$/,
  }),
  'a settings file that is not there': () => ({
    args: ['serve', '--config', '/nonexistent/server.yml'],
    code: 2,
    problem: /there is no settings file \/nonexistent\/server\.yml\./,
    fix: /Check --config and ADIT_CONFIG\n$/,
  }),
  'a variable': () => ({
    ...serve({ ADIT_DOMAINE: 'x' }),
    code: 2,
    problem: /ADIT_DOMAINE is not a setting/,
    fix: /did you mean ADIT_DOMAIN\?/,
  }),
  'a flag of the server': () => ({
    args: ['serve', '--domian', 'x'],
    code: 2,
    problem: /unknown option '--domian'/,
    fix: /Did you mean --domain\?/,
  }),
  'a flag of another server': () => ({
    args: ['serve', '-c', 'x'],
    code: 2,
    problem: /^error: unknown option '-c' \(/,
    fix: /\(adit serve --help lists all settings\)\n$/,
  }),
  'a command of another agent': () => ({
    args: ['login'],
    code: 2,
    problem: /^error: unknown command 'login'\n/,
    fix: /\(adit --help lists all commands\)\n$/,
  }),
  'help for a command that does not exist': () => ({
    args: ['help', 'login'],
    code: 2,
    problem: /^error: unknown command 'login'\n/,
    fix: /\(adit --help lists all commands\)\n$/,
  }),
  'a server that is not the API': () => ({
    args: ['api', '--url', `http://127.0.0.1:${server.bound.http?.port ?? 0}`, 'self'],
    environment: { ADIT_API_KEY: 'x' },
    code: 69,
    problem: /The response \(status 404\) is not the API's\.\n/,
    fix: /Set its URL with --url or ADIT_API_URL\.\n$/,
  }),
  'a value': () => ({
    ...serve({ ADIT_WORKERS: 'many' }),
    code: 2,
    problem: /ADIT_WORKERS must be/,
    fix: /a whole number between 1 and 64/,
  }),
  'a port that is none': () => ({
    args: ['http', '99999'],
    code: 2,
    problem: /"99999" is not an address to forward to/,
    fix: /write a port from 1 to 65535, host:port, /,
  }),
  'no address': () => ({
    args: ['http'],
    code: 2,
    problem: /missing required argument/,
    fix: /for example: adit http 3000/,
  }),
  'a wrong token': () => ({
    args: ['http', '1'],
    environment: { ADIT_AUTHTOKEN: 'x'.repeat(49) },
    code: 4,
    problem: /The authtoken is unknown/,
    fix: /"adit config add-authtoken -"/,
  }),
  'no token': () => ({
    args: ['http', '1'],
    environment: { ADIT_DATA_DIR: '/nonexistent' },
    code: 4,
    problem: /there is no authtoken to sign in with/,
    fix: /"adit config add-authtoken -"/,
  }),
  'a name that is invalid': () => ({
    args: ['http', '1', '--name', 'bad_name!'],
    code: 1,
    problem: /"bad_name!" cannot be the name of an endpoint: it is not a valid host name/,
    fix: /Use letters, digits and dashes/,
  }),
  'a domain that is not reserved': () => ({
    args: ['http', '1', '--name', 'www.example.com'],
    code: 1,
    problem: /neither under adit\.localhost nor reserved/,
    fix: /Reserve it first: adit api reserved-domains create/,
  }),
  'a URL for the gateway': () => ({
    args: ['http', '1', '--server', 'https://gateway.example'],
    code: 2,
    problem: /--server must be/,
    fix: /host:port or a host/,
  }),
  'the HTTP port of the gateway': () => ({
    args: ['http', '1', '--server', `127.0.0.1:${server.bound.http?.port ?? 0}`],
    code: 1,
    problem: /does not use TLS: it is probably a plain HTTP port/,
    fix: /Use the agent port of the gateway/,
  }),
  'the HTTPS port of another server': () => ({
    args: ['http', '1', '--server', `127.0.0.1:${(otherHttps.address() as AddressInfo).port}`],
    code: 1,
    problem: /is an HTTPS port that rejects the agent protocol/,
    fix: /agent_addr, by default port 4443/,
  }),
  'a CA that is not known': () => ({
    args: ['http', '1'],
    environment: { ADIT_DATA_DIR: '/nonexistent', ADIT_AUTHTOKEN: server.authtoken },
    code: 1,
    problem: /is not trusted: it was issued by O=Adit/,
    fix: /copy ca\.pem from its data folder and set it with --ca/,
  }),
  'a file that is not YAML': () => ({
    args: ['start', '--all', '--config', file('tunnels:\n  a: 1\n b: 2\n')],
    code: 78,
    problem: /:3:\d+: this is not YAML: /,
    fix: /same column|indent|end/i,
  }),
  'a key of the agent’s file': () => ({
    args: ['start', '--all', '--config', file('tunnels:\n  a: {proto: http, addr: 1, hostname: x}\n')],
    code: 78,
    problem: /:2:29: "hostname" is unknown\./,
    fix: /Did you mean "domain"\? Allowed are /,
  }),
  'a tunnel that is not in the file': () => ({
    args: ['start', 'wbe', '--config', file('tunnels:\n  web: {proto: http, addr: 1}\n')],
    code: 2,
    problem: /there is no tunnel "wbe"/,
    fix: /has web/,
  }),
  'no file': () => ({
    args: ['start', 'web'],
    code: 78,
    problem: /there is no file \S+/,
    fix: /create it with "adit config edit"/,
  }),
  'a file that was named and is not there': () => ({
    args: ['start', 'web', '--config', '/nonexistent.yml'],
    code: 78,
    problem: /there is no file \/nonexistent\.yml/,
    fix: /Check the path after --config/,
  }),
  'a provider without an application': () => ({
    args: ['http', '1', '--oauth', 'google'],
    code: 1,
    problem: /the server has no managed application for Google/,
    fix: /supply a client_id and a client_secret, .*\n.*\n {2}Its flags: --oauth, .*--oauth-client-id, /,
  }),
  'a sender of webhooks': () => ({
    args: ['http', '1', '--verify-webhook', 'githb'],
    environment: { ADIT_VERIFY_WEBHOOK_SECRET: 'x' },
    code: 1,
    problem: /"githb" is not a supported sender/,
    fix: /the most similar one is "github"\.\n/,
  }),
  'a port that is not offered': () => ({
    args: ['tcp', '1', '--port', '80'],
    code: 1,
    problem: /Port 80 cannot be used: ports from \d+ to \d+ may be used/,
    fix: /setting tcp_ports/,
  }),
  'an API that does not run': () => ({
    args: ['api', 'tunnels', 'list', '--url', 'http://127.0.0.1:1'],
    code: 69,
    problem: /no answer from http:\/\/127\.0\.0\.1:1/,
    fix: /Is it running\? Set its URL with --url or ADIT_API_URL/,
  }),
  'a wrong API key': () => ({
    args: ['api', 'tunnels', 'list', '--url', server.api.url],
    environment: { ADIT_API_KEY: 'x'.repeat(49) },
    code: 4,
    problem: /API key/,
    fix: /--key-file, ADIT_API_KEY/,
  }),
}

suite('a mistake is answered with its cause and what to change', () => {
  for (const [what, mistake] of Object.entries(mistakes))
    test(what, async () => {
      const { args, code, problem, fix, environment = {} } = mistake()
      const known = args[0] === 'serve' ? {} : environmentOf(server)
      const finished = await runAdit(args, { ...known, ...environment })
      assert.match(finished.stderr, problem)
      assert.match(finished.stderr, fix)
      assert.doesNotMatch(finished.stderr, /^\s+at /m, 'a stack')
      assert.equal(finished.code, code)
    })

  test('a credential whose owner is not active', async () => {
    const { body: user } = await server.api.post('/users', { email: 'away@example.com', name: 'away' })
    const { body: credential } = await server.api.post('/credentials', { owner_id: user['id'] })
    await server.api.patch(`/users/${String(user['id'])}`, { active: false })
    const environment = { ...environmentOf(server), ADIT_AUTHTOKEN: String(credential['token']) }
    const { code, stderr } = await runAdit(['http', '1'], environment)
    assert.equal(code, 4)
    assert.match(stderr, /The owner of this credential is not active.*An admin can set "active"/)
  })

  test('a name that is taken, also by an edge', async () => {
    await using agent = spawnAgent(server, ['http', '1', '--name', 'taken'])
    await agent.waitForOutput(/^url=/m)
    const taken = await runAdit(['http', '1', '--name', 'taken'], environmentOf(server))
    assert.equal(taken.code, 5)
    assert.match(taken.stderr, /is already online.*Stop that one, choose another name/)
    await server.api.post('/reserved_domains', { name: 'edged' })
    await server.api.post('/edges/https', { hostports: ['edged.adit.localhost:443'] })
    const edge = await runAdit(['http', '1', '--name', 'edged'], environmentOf(server))
    assert.equal(edge.code, 5)
    assert.match(edge.stderr, /is served by .*edge.*adit tunnel --label/)
  })

  test('a domain that is reserved already, and one that is still in use', async () => {
    const environment = { ADIT_API_URL: server.api.url, ADIT_API_KEY: server.api.token }
    const reserve = ['api', 'reserved-domains', 'create', '--name', 'once']
    const first = await runAdit([...reserve, '--output', 'json'], environment)
    assert.equal(first.code, 0, first.stderr)
    const again = await runAdit(reserve, environment)
    assert.equal(again.code, 5)
    assert.match(again.stderr, /"once\.adit\.localhost" is already reserved, by rd_/)
    await server.api.post('/edges/https', { hostports: ['once.adit.localhost:443'] })
    const { id } = JSON.parse(first.stdout) as { id: string }
    const used = await runAdit(['api', 'reserved-domains', 'delete', id, '--yes'], environment)
    assert.equal(used.code, 5, used.stderr)
    assert.match(used.stderr, /still in use by .* Change or delete that first/)
  })

  test('a port of the server that is taken', async () => {
    const port = String(server.bound.http?.port)
    const { code, stderr } = await runAdit(['serve'], {
      ADIT_DATA_DIR: join(server.dataDir, 'second'),
      ADIT_API_ADDR: '127.0.0.1:0',
      ADIT_HTTPS_ADDR: 'off',
      ADIT_AGENT_ADDR: '127.0.0.1:0',
      ADIT_SSH_ADDR: 'off',
      ADIT_HTTP_ADDR: `127.0.0.1:${port}`,
    })
    assert.equal(code, 1)
    assert.match(stderr, /cannot listen on 127\.0\.0\.1:\d+ \(ADIT_HTTP_ADDR\): another program uses it/)
    assert.match(stderr, /stop that program, set ADIT_HTTP_ADDR=/)
  })

  test('a service that is not there is named at once', async () => {
    await using agent = spawnAgent(server, ['http', '1'])
    await agent.waitForOutput(
      /msg="Nothing is listening on localhost:1 yet\. Start your service there, or use its port\."/,
    )
  })

  test('a socket that is not there is named at once', async () => {
    await using agent = spawnAgent(server, ['http', 'unix:/nonexistent/service.sock'])
    await agent.waitForOutput(
      /msg="Nothing is listening on unix:\/nonexistent\/service\.sock yet\. Start your service there, or use its path\."/,
    )
  })

  test('https:// for a service that speaks http', async () => {
    const service = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
    await once(service, 'listening')
    const target = `https://localhost:${(service.address() as AddressInfo).port}`
    await using agent = spawnAgent(server, ['http', target, '--scheme', 'http'])
    const [, url = ''] = await agent.waitForOutput(/^url=(\S+) /m)
    assert.equal((await visit(url)).status, 502)
    await agent.waitForOutput(
      /cannot be reached: it does not use TLS \(EPROTO\)\. Write http:\/\/ instead of https:\/\//,
    )
    service.close()
  })

  test('a certificate of a service that is not trusted', async () => {
    const target = `https://localhost:${server.bound.agent?.port ?? 0}`
    await using agent = spawnAgent(server, ['http', target, '--scheme', 'http'])
    const [, url = ''] = await agent.waitForOutput(/^url=(\S+) /m)
    await visit(url)
    await agent.waitForOutput(
      /its certificate is not trusted \(\w+\)\. Set its CA with --upstream-tls-verify-cas, or accept/,
    )
  })

  const forOther: CertificateOptions = { names: [{ type: 'dns', value: 'other.example' }] }
  for (const [what, wish, explanation] of [
    [
      'has expired',
      { from: Date.now() - 9 * DAY, to: Date.now() - DAY },
      /its certificate has expired \(CERT_HAS_EXPIRED\)\. Renew it, or accept any certificate with --no-verify/,
    ],
    [
      'is for another name',
      forOther,
      /its certificate is for another name \(ERR_TLS_CERT_ALTNAME_INVALID\)\. Forward to a name that it has, or/,
    ],
  ] as const)
    test(`a certificate of a service that ${what}`, async () => {
      const root = await authority({ from: Date.now() - 30 * DAY, to: Date.now() + 30 * DAY })
      const names = [{ type: 'dns' as const, value: 'localhost' }]
      const leaf = await issueCertificate({ names, usages: [], issuer: root, ...wish })
      await using service = createSecureServer({ cert: leaf.chain, key: leaf.keyPem })
      await once(service.listen(0, '127.0.0.1'), 'listening')
      const target = `https://localhost:${(service.address() as AddressInfo).port}`
      const cas = join(server.dataDir, 'service-cas.pem')
      writeFileSync(cas, root.pem)
      const trust = ['--upstream-tls-verify-cas', cas]
      await using agent = spawnAgent(server, ['http', target, '--scheme', 'http', ...trust])
      const [, url = ''] = await agent.waitForOutput(/^url=(\S+) /m)
      await visit(url)
      await agent.waitForOutput(explanation)
    })

  test('a certificate of a tunnel that its clients do not accept', async () => {
    const { pem, keyPem } = await issueCertificate()
    using folder = new Folder()
    const crt = await folder.write('tunnel.pem', pem)
    const key = await folder.write('tunnel.key', keyPem)
    await using agent = spawnAgent(server, ['tls', '1', '--name', 'own', '--crt', crt, '--key', key])
    await agent.waitForOutput(/^url=tls:/m)
    const port = server.bound.https?.port ?? 0
    const asked = {
      port,
      servername: 'own.adit.localhost',
      maxVersion: 'TLSv1.2',
      ciphers: 'ECDHE-RSA-AES128-SHA',
    }
    const client = connectTls({ host: '127.0.0.1', ...asked } as ConnectionOptions)
    client.on('error', () => undefined)
    const [line] = await agent.waitForOutput(/^.*ERR_SSL_NO_SHARED_CIPHER.*$/m)
    assert.match(line, /msg="A client failed in the TLS handshake with this agent: ERR_SSL_NO_SHARED_CIPHER"/)
  })

  test('an authtoken of the gateway that this user may not read', async () => {
    using folder = new Folder()
    // A folder cannot be read as a file, also by root.
    mkdirSync(folder.file('authtoken'))
    const environment = {
      ...environmentOf(server),
      ADIT_AUTHTOKEN: '',
      ADIT_DATA_DIR: folder.path,
      ADIT_CA_FILE: join(server.dataDir, 'ca.pem'),
    }
    const { code, stderr } = await runAdit(['http', '1'], environment)
    assert.equal(code, 4, stderr)
    assert.match(
      stderr,
      /^adit: there is no authtoken to sign in with: \S+\/authtoken cannot be read \(EISDIR\)\n/,
    )
    const diagnosed = await runAdit(['diagnose'], environment)
    assert.match(
      diagnosed.stdout,
      /^failed +login +there is no authtoken to sign in with: \S+\/authtoken cannot/m,
    )
  })

  test('a file with tabs, with their position', async () => {
    using config = configFile('tunnels:\n\tweb: 1\n')
    const { code, stderr } = await runAdit(['config', 'check'], config.environment)
    assert.equal(code, 78)
    assert.match(stderr, /:2:\d+: this is not YAML: /)
  })
})
