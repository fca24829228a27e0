import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { CLIENT } from '../auth/providers/provider-shapes.ts'
import { type ModuleName, moduleChecks, moduleSettings } from '../support/module-checks.ts'
import { type ModuleWorld, openModuleWorld } from '../support/module-world.ts'
import { runAdit } from '../support/server.ts'
import { configFile, environmentOf, spawnAgent } from './agent-support.ts'

let world: ModuleWorld
const files = { oauth: '', authorities: '' }
before(async () => {
  world = await openModuleWorld()
  files.oauth = await world.folder.write('oauth-secret', CLIENT.secret)
  files.authorities = await world.folder.write('authorities.pem', world.people.root.pem)
})
after(() => world[Symbol.asyncDispose]())

interface Asked {
  readonly flags: readonly string[]
  readonly environment?: Record<string, string>
}

const repeated = (flag: string, values: readonly string[]): string[] => values.flatMap(each => [flag, each])

const asked = (): Readonly<Record<ModuleName, Asked>> => ({
  compression: { flags: ['--compression'] },
  'circuit breaker': { flags: ['--circuit-breaker', String(moduleSettings.share)] },
  OAuth: {
    flags: `--oauth github --oauth-client-id ${CLIENT.id} --oauth-client-secret-file ${files.oauth}`
      .split(' ')
      .concat(repeated('--oauth-allow-email', [moduleSettings.emails.ann, moduleSettings.emails.other])),
  },
  'OpenID Connect': {
    flags: `--oidc ${world.issuer} --oidc-client-id ${moduleSettings.openIdClient.id} --oidc-scope email`
      .split(' ')
      .concat(['--oidc-allow-email', moduleSettings.openIdEmail]),
    environment: { ADIT_OIDC_CLIENT_SECRET: moduleSettings.openIdClient.secret },
  },
  'webhook verification': {
    flags: ['--verify-webhook', moduleSettings.webhook.provider],
    environment: { ADIT_VERIFY_WEBHOOK_SECRET: moduleSettings.webhook.secret },
  },
  'user agent filter': {
    flags: [
      ...repeated('--ua-allow', moduleSettings.userAgents.allow),
      ...repeated('--ua-deny', moduleSettings.userAgents.deny),
    ],
  },
  'mutual TLS': { flags: ['--mutual-tls-ca', files.authorities] },
  'WebSocket to TCP': { flags: ['--websocket-tcp-converter'] },
})

const serviceFor = (name: string): string =>
  String(name === 'WebSocket to TCP' ? world.echoPort : world.webPort)

suite('adit http requests a module, and it applies to clients', () => {
  for (const [name, prove] of Object.entries(moduleChecks))
    test(name, async () => {
      const { flags, environment = {} } = asked()[name as ModuleName]
      const args = ['http', serviceFor(name), ...flags, '--inspect', 'on']
      await using agent = spawnAgent(world.server, args, environment)
      await agent.waitForOutput(/msg=online/)
      const urls = [...agent.output.matchAll(/^url=(\S+)/gm)].map(match => match[1] ?? '')
      const schemes = name === 'mutual TLS' ? ['https'] : ['https', 'http']
      assert.deepEqual(
        urls.map(url => url.split(':')[0]),
        schemes,
      )
      await prove(urls[0] ?? '', world)
      assert.equal(await agent.ends('SIGTERM'), 0)
      assert.equal(agent.errorOutput, '')
    })
})

suite('adit start', () => {
  const file = () => `
tunnels:
  compression: {proto: http, addr: ${world.webPort}, compression: true}
  circuit breaker: {proto: http, addr: ${world.webPort}, circuit_breaker: ${moduleSettings.share}}
  OAuth:
    proto: http
    addr: ${world.webPort}
    oauth:
      provider: github
      client_id: ${CLIENT.id}
      allow_domains: [example.test]
  OpenID Connect:
    proto: http
    addr: ${world.webPort}
    oidc:
      issuer_url: ${world.issuer}
      client_id: ${moduleSettings.openIdClient.id}
      client_secret: ${moduleSettings.openIdClient.secret}
      scopes: [email]
      allow_emails: [${moduleSettings.openIdEmail}]
  webhook verification:
    proto: http
    addr: ${world.webPort}
    verify_webhook: {provider: ${moduleSettings.webhook.provider}, secret: ${moduleSettings.webhook.secret}}
  user agent filter:
    proto: http
    addr: ${world.webPort}
    user_agent_filter: ${JSON.stringify(moduleSettings.userAgents)}
  mutual TLS: {proto: http, addr: ${world.webPort}, mutual_tls_cas: ${files.authorities}}
  WebSocket to TCP: {proto: http, addr: ${world.echoPort}, websocket_tcp_converter: true}
`
  test('does the same for the tunnels of a file', async () => {
    const names = Object.keys(moduleChecks).map((name, at) => [name, `module-${at}`] as const)
    const domains = names.reduce(
      (text, [name, domain]) =>
        text
          .replace(`  ${name}: {`, `  ${name}: {domain: ${domain}, schemes: https, `)
          .replace(`  ${name}:\n`, `  ${name}:\n    domain: ${domain}\n    schemes: https\n`),
      file(),
    )
    using config = configFile(domains)
    const environment = { ...config.environment, ADIT_OAUTH_CLIENT_SECRET: CLIENT.secret }
    await using agent = spawnAgent(world.server, ['start', '--all'], environment)
    await agent.waitForOutput(/msg=online/)
    for (const [name, domain] of names) {
      const [, url = ''] = new RegExp(`^url=(https://${domain}\\.\\S+) `, 'm').exec(agent.output) ?? []
      await moduleChecks[name as ModuleName](url, world)
    }
  })
})

suite('adit http reports what is wrong', () => {
  const cases: readonly [flags: readonly string[], reported: RegExp][] = [
    [['--oauth', 'unknown'], /^adit: The option OAuth cannot be used: "unknown" is not one of /],
    [['--oauth', 'google', '--oauth-allow-email', 'a@b.c'], /option OAuth cannot be used: .*oauth_google/],
    [['--oidc', 'https://idp.example'], /option OIDC cannot be used: it names no client_id\./],
    [['--verify-webhook', 'github'], /option WebhookVerification cannot be used: a secret is required/],
    [['--ua-deny', '('], /option UserAgentFilter cannot be used: "\(" is not a regular expression/],
  ]
  for (const [flags, reported] of cases)
    test(flags.join(' '), async () => {
      const { code, stdout, stderr } = await runAdit(['http', '1', ...flags], environmentOf(world.server))
      assert.equal(code, 1)
      assert.doesNotMatch(stdout, /url=/)
      assert.match(stderr, reported)
      assert.match(stderr, /\n {2}code ERR_ADIT_90058\n/)
    })

  test('of a file that cannot be read, or holds something else', async () => {
    const run = (path: string) => runAdit(['http', '1', '--mutual-tls-ca', path], environmentOf(world.server))
    const missing = await run('/nonexistent')
    assert.deepEqual([missing.code, /\/nonexistent.*ENOENT/.test(missing.stderr)], [78, true])
    const wrong = await run(files.oauth)
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /the CAs for client certificates are not certificates in PEM/)
    assert.ok(!wrong.stderr.includes(CLIENT.secret))
  })
})
