import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { Command } from 'commander'
import { commandLine, spelledOut } from '#cli/agent/argv.ts'
import { addAgentFlags, addTunnelFlags } from '#cli/agent/flags.ts'
import { flagsOf, type Flags } from '#cli/agent/given-flags.ts'
import { translateFlags } from '#cli/agent/hosted-flags.ts'
import { planOfFlags } from '#cli/agent/plan.ts'
import type { Plan } from '#cli/agent/tunnel-plan.ts'
import type { TunnelKind } from '#tunnel/tunnel-option.ts'
import { spawnAgent, visit, webService } from './agent-support.ts'
import { issue } from '../support/openssl.ts'
import { runAdit, startServer, type TestServer } from '../support/server.ts'
import { Folder } from '../support/folder.ts'

/** Reads a command line as the program does; the action is what a user would have started. */
function parsed(args: readonly string[]): { kind: TunnelKind; target: string; flags: Flags } {
  const program = new Command('adit').exitOverride()
  let found: { kind: TunnelKind; target: string; flags: Flags } | undefined
  for (const kind of ['http', 'tcp', 'tls', 'tunnel'] as const) {
    const command = program.command(kind).argument('<target>').exitOverride()
    command.configureOutput({ writeErr: () => undefined })
    addAgentFlags(addTunnelFlags(command, kind), kind)
    command.action((target: string) => {
      found = { kind, target, flags: flagsOf(command) }
    })
  }
  program.parse(spelledOut(commandLine(args), program), { from: 'user' })
  assert.ok(found, 'no command ran')
  return found
}

function planned(args: readonly string[]): Plan {
  const { kind, target, flags } = parsed(args)
  return planOfFlags(kind, target, translateFlags(flags).flags)
}

const http = { forwardTo: '80', proto: 'https' }

/** Flags of the hosted agent's `http` command, and what they make of the tunnel. */
const accepted: readonly (readonly [args: readonly string[], part: object])[] = [
  [['--app-protocol=http2'], { upstreamProtocol: 'http2' }],
  [['--authtoken=x'], {}],
  [['--basic-auth', 'a:b'], { basicAuth: ['a:b'] }],
  [['--auth', 'a:b'], { basicAuth: ['a:b'] }],
  [['--bind-tls=false'], { proto: 'http', schemes: ['http'] }],
  [['--bind-tls=both'], { schemes: ['https', 'http'] }],
  [['--binding', 'public'], {}],
  [['--cidr-allow', '10.0.0.0/8', '--cidr-allow=::1/128'], { allowCidrs: ['10.0.0.0/8', '::1/128'] }],
  [['--cidr-deny', '10.0.0.0/8'], { denyCidrs: ['10.0.0.0/8'] }],
  [['--circuit-breaker', '0.5'], { circuitBreaker: 0.5 }],
  [['--compression'], { compression: true }],
  [['--compression=false'], { compression: false }],
  [['--config', 'x'], {}],
  [['--description', 'a shop'], { description: 'a shop' }],
  [['--domain', 'a'], { domain: 'a' }],
  [['--host-header', 'rewrite'], { hostHeader: 'rewrite' }],
  [['--host-header=preserve'], { hostHeader: undefined }],
  [['--hostname', 'a.example.com'], { domain: 'a.example.com' }],
  [['--inspect=false'], { inspect: false }],
  [['--metadata', 'm'], { metadata: 'm' }],
  [['--mutual-tls-cas', 'f'], { mutualTlsCas: 'f' }],
  [['--name', 'a'], { domain: 'a' }],
  [['--oauth', 'google', '--oauth-scope', 's'], { oauth: { provider: 'google', scopes: ['s'] } }],
  [
    ['--oauth=google', '--oauth-allow-domain', 'd', '--oauth-allow-email', 'a@b.c', '--oauth-client-id', 'i'],
    { oauth: { provider: 'google', allowDomains: ['d'], allowEmails: ['a@b.c'], clientId: 'i' } },
  ],
  [
    ['--oidc', 'https://a.test', '--oidc-client-id', 'i', '--oidc-scope', 's'],
    { oidc: { issuerUrl: 'https://a.test', clientId: 'i', scopes: ['s'] } },
  ],
  [['--pooling-enabled'], { poolingEnabled: true }],
  [['--pooling-enabled=true'], { poolingEnabled: true }],
  [['--proxy-proto', '2'], { proxyProto: 2 }],
  [['--region', 'us-cal-1'], {}],
  [
    ['--request-header-add', 'a:b', '--request-header-remove', 'c'],
    { requestHeaders: { add: ['a:b'], remove: ['c'] } },
  ],
  [
    ['--response-header-add', 'a:b', '--response-header-remove', 'c'],
    { responseHeaders: { add: ['a:b'], remove: ['c'] } },
  ],
  [['--scheme', 'http'], { proto: 'http', schemes: ['http'] }],
  [['--subdomain', 'a'], { domain: 'a' }],
  [['--ua-filter-allow', 'a', '--ua-filter-deny', 'b'], { userAgentFilter: { allow: ['a'], deny: ['b'] } }],
  [['--upstream-protocol', 'http2'], { upstreamProtocol: 'http2' }],
  [['--upstream-proxy-protocol', '1'], { proxyProto: 1 }],
  [['--upstream-tls-verify'], { verifyUpstream: true }],
  [['--upstream-tls-verify=false'], { verifyUpstream: false }],
  [['--upstream-tls-verify-cas', 'f'], { upstreamCas: 'f' }],
  [['--url', 'https://a.example.com'], { url: 'https://a.example.com' }],
  [['--verify-webhook', 'github'], { verifyWebhook: { provider: 'github' } }],
  [['--websocket-tcp-converter=true'], { websocketTcpConverter: true }],
  [['--websocket-tcp-converter', 'true'], { websocketTcpConverter: true }],
]

const secret =
  /^--\S+ is not accepted, because every user .* Write the secret to a file and use --\S+-file, or set ADIT_\w+\.$/
const policy = /^--\S+ is not supported: Adit has no traffic policies\. Use a flag for each rule instead, /

const rejected: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [
    ['http', '80', '--binding=internal'],
    /^--binding internal is not supported: .*use "adit tunnel --label"\.$/,
  ],
  [['http', '80', '--bind-tls=maybe'], /^--bind-tls must be true, false or both; see --scheme\.$/],
  [['http', '80', '--compression=maybe'], /^--compression must be true or false$/],
  [['http', '80', '--oauth-client-secret=x'], secret],
  [['http', '80', '--oidc-client-secret', 'x'], secret],
  [['http', '80', '--verify-webhook-secret', 'x'], secret],
  [['http', '80', '--traffic-policy-file', 'x'], policy],
  [['tcp', '80', '--traffic-policy-url', 'x'], policy],
  [['tls', '80', '--policy-file', 'x'], policy],
  [['tls', '80', '--terminate-at=edge'], /^--terminate-at edge is not supported: use "adit http", /],
  [
    ['tls', '80', '--terminate-at=agent'],
    /^--terminate-at agent needs the certificate .*: add --crt and --key\.$/,
  ],
]

suite('flags of the hosted agent', () => {
  for (const [args, part] of accepted)
    test(`are accepted: http ${args.join(' ')}`, () => {
      assert.deepEqual(planned(['http', '80', ...args]), { ...http, ...part })
      // One dash, and the address at the end.
      const single = args.map(arg => arg.replace(/^--/, '-'))
      assert.deepEqual(planned(['http', ...single, '80']), { ...http, ...part })
    })

  test('are accepted by tcp, tls and tunnel', () => {
    const tcp = ['--cidr-allow=::1/128', '--region', 'eu', '--remote-addr=a:1', '--upstream-proxy-protocol=2']
    assert.deepEqual(planned(['tcp', '22', ...tcp]), {
      forwardTo: '22',
      proto: 'tcp',
      allowCidrs: ['::1/128'],
      proxyProto: 2,
      remoteAddr: 'a:1',
    })
    const tls = ['--hostname', 'a', '--terminate-at=agent', '--crt', 'c', '--key', 'k', '--mutual-tls-cas=f']
    assert.deepEqual(planned(['tls', ...tls, '443']), {
      forwardTo: '443',
      proto: 'tls',
      domain: 'a',
      crt: 'c',
      key: 'k',
      mutualTlsCas: 'f',
    })
    assert.deepEqual(planned(['tunnel', '--label', 'a=b', '--inspect=false', '80']), {
      forwardTo: '80',
      labels: { a: 'b' },
      inspect: false,
    })
  })

  for (const [args, message] of rejected)
    test(`are rejected with what to use instead: ${args.join(' ')}`, () => {
      assert.throws(() => planned(args), { name: 'UsageError', message })
    })

  test('report that a region has no effect', () => {
    const { notes } = translateFlags(parsed(['http', '80', '--region', 'eu']).flags)
    assert.deepEqual(notes, ['--region eu is ignored: --server selects the gateway'])
  })

  test('may stand before the command', () => {
    const { flags, target } = parsed(['--config', 'a.yml', '-log=stdout', 'http', '80'])
    assert.deepEqual([target, flags.get('--config'), flags.get('--log')], ['80', ['a.yml'], ['stdout']])
  })

  test('are values where an option needs one, and arguments after two dashes', () => {
    assert.deepEqual(planned(['http', '--metadata', '-inspect', '80']), { ...http, metadata: '-inspect' })
    assert.deepEqual(parsed(['http', '--inspect', '--', '80']).target, '80')
  })

  test('end with 2 in the program itself', async () => {
    const { code, stderr } = await runAdit(['http', '80', '--traffic-policy-file', 'x'])
    assert.equal(code, 2)
    assert.match(stderr, /^adit: --traffic-policy-file is not supported/)
  })
})

suite('at a gateway', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server[Symbol.asyncDispose]())

  test('--authtoken signs in, --subdomain names and --description is shown', async () => {
    await using service = await webService((_, response) => response.end('hello'))
    const flags = ['-subdomain=hosted', '-bind-tls=false', '--description', 'a shop', '-region=eu']
    await using agent = spawnAgent(
      server,
      ['http', `-authtoken=${server.authtoken}`, ...flags, service.port],
      {
        ADIT_AUTHTOKEN: 'x'.repeat(49),
      },
    )
    const [, url = ''] = await agent.waitForOutput(/^url=(http:\/\/hosted\.\S+) /m)
    await agent.waitForOutput(/msg="--region eu is ignored/)
    assert.equal((await visit(url)).body, 'hello')
    const { body } = await server.api.get('/tunnels')
    const tunnel = body.tunnels.find((it: { public_url: string }) => it.public_url === url)
    assert.equal(tunnel?.metadata, 'a shop')
  })

  test('--upstream-tls-verify-cas decides which service is trusted', async () => {
    using folder = new Folder()
    const extensions = ['subjectAltName=DNS:localhost']
    const [own, other] = await Promise.all([
      issue(folder, { name: 'own', extensions }),
      issue(folder, { name: 'other', extensions }),
    ])
    const service = createTlsServer({ cert: own.certificate, key: own.key }, (_, response) =>
      response.end('hi'),
    )
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    const target = `https://localhost:${(service.address() as AddressInfo).port}`
    for (const [file, status] of [
      [own.files.certificate, 200],
      [other.files.certificate, 502],
    ] as const) {
      const args = ['http', target, '--scheme', 'http', '--upstream-tls-verify-cas', file]
      await using agent = spawnAgent(server, args)
      const [, url = ''] = await agent.waitForOutput(/^url=(\S+) /m)
      assert.equal((await visit(url)).status, status)
    }
    service.closeAllConnections()
    service.close()
  })
})
