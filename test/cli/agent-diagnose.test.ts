import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createServer as createTls, type Server } from 'node:tls'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import type { Finding } from '#cli/agent/diagnose.ts'
import { secretText } from '../support/secrets.ts'
import { environmentOf } from './agent-support.ts'
import { issue } from '../support/openssl.ts'
import { runAdit, startServer, type TestServer } from '../support/server.ts'
import { Folder } from '../support/folder.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

const steps = ['dns', 'tcp', 'tls', 'protocol', 'login', 'heartbeat']

async function findings(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Finding[]> {
  const all = { ...environmentOf(server), ...environment }
  const { stdout, code } = await runAdit(['diagnose', '--json', ...args], all)
  const { ok, steps: found } = JSON.parse(stdout) as { ok: boolean; steps: Finding[] }
  assert.equal(code, ok ? 0 : 1)
  assert.deepEqual(
    found.map(({ step }) => step),
    steps,
  )
  return found
}

/** Everything before that step is well, and nothing after it was tried. */
function assertFails(found: readonly Finding[], step: string, detail: RegExp, advice: RegExp): void {
  const at = steps.indexOf(step)
  assert.deepEqual(
    found.map(({ result }) => result),
    steps.map((_, each) => (each < at ? 'ok' : each === at ? 'failed' : 'skipped')),
  )
  assert.match(found[at]?.detail ?? '', detail)
  assert.match(found[at]?.advice ?? '', advice)
}

suite('adit diagnose', () => {
  test('finds that all is well', async () => {
    const { code, stdout, stderr } = await runAdit(['diagnose'], environmentOf(server))
    assert.deepEqual([code, stderr], [0, ''])
    const [dns = '', tcp = '', tls = '', protocol = '', login = '', heartbeat = ''] = stdout.split('\n')
    assert.match(dns, /^ok {7}dns {8}127\.0\.0\.1 is already an address$/)
    assert.match(tcp, /^ok .* connected to 127\.0\.0\.1:\d+ in [\d.]+ ms$/)
    assert.match(tls, /^ok .* TLSv1\.3, certificate for DNS:.*, signed by .*Adit.*, valid from \S+ to \S+$/)
    assert.match(protocol, /^ok .* a gateway responds, region us$/)
    assert.match(login, /^ok .* signed in with the authtoken of \S+authtoken as ts_\w+, gateway version \d/)
    assert.match(heartbeat, /^ok .* a heartbeat takes [\d.]+ ms$/)
    assert.ok(!stdout.includes(server.authtoken))
  })

  test('finds a name that does not resolve', async () => {
    assertFails(await findings(['--server', 'gateway.invalid:1']), 'dns', /ENOTFOUND|EAI_AGAIN/, /name/)
  })

  test('finds that nothing listens', async () => {
    assertFails(await findings(['--server', 'localhost:1']), 'tcp', /ECONNREFUSED.*gateway runs/, /^$/)
  })

  test('reports a port without TLS', async () => {
    const port = String(server.bound.http?.port)
    assertFails(
      await findings(['--server', `127.0.0.1:${port}`]),
      'tls',
      /does not use TLS.*agent_addr/,
      /^$/,
    )
  })

  test('finds a certificate that is not trusted', async () => {
    const found = await findings([], { ADIT_DATA_DIR: '/nonexistent', ADIT_AUTHTOKEN: server.authtoken })
    assertFails(found, 'tls', /not trusted: .*with --ca/, /^It showed a certificate for /)
  })

  test('finds something that is no gateway', async () => {
    using folder = new Folder()
    const { certificate, key, files } = await issue(folder, {
      name: 'other',
      extensions: ['subjectAltName=IP:127.0.0.1'],
    })
    const other: Server = createTls({ cert: certificate, key }, socket => {
      socket.on('error', () => undefined)
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    })
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = `127.0.0.1:${(other.address() as AddressInfo).port}`
    const found = await findings(['--server', address, '--ca', files.certificate])
    assertFails(found, 'protocol', /./, /Another program/)
    other.close()
  })

  test('reports an unknown token, without showing it', async () => {
    const token = secretText('unknown authtoken')
    const found = await findings([], { ADIT_AUTHTOKEN: token })
    assertFails(found, 'login', /ERR_ADIT_10[57]/, /ADIT_AUTHTOKEN/)
    assert.ok(!JSON.stringify(found).includes(token))
    const none = await findings(['--ca', `${server.dataDir}/ca.pem`], { ADIT_DATA_DIR: '/nonexistent' })
    assertFails(none, 'login', /no authtoken/, /add-authtoken/)
  })
})
