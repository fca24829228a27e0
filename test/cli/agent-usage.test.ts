import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { Command } from 'commander'
import { readSettings } from '#base/read-settings.ts'
import { allCommands } from '#bin/main.ts'
import { agentCommands } from '#cli/agent/commands.ts'
import { endpointsOf, planOfFlags, withVariables } from '#cli/agent/plan.ts'
import { type Plan } from '#cli/agent/tunnel-plan.ts'
import { type TunnelKind } from '#tunnel/tunnel-option.ts'
import { flagName, flagsFor, optionRows } from '#tunnel/tunnel-options.ts'
import { runCommand } from '../support/command-host.ts'

const helpOf = (kind: TunnelKind): string => {
  let text = ''
  const command = agentCommands[kind]?.() as Command
  command.configureOutput({ writeOut: each => (text += each) })
  command.outputHelp()
  return text
}

suite('the help of', () => {
  for (const kind of ['http', 'tcp', 'tls', 'tunnel'] as const satisfies TunnelKind[]) {
    test(`adit ${kind} starts with examples and has its options only`, () => {
      const help = helpOf(kind)
      assert.ok(help.startsWith(`Examples:\n  $ adit ${kind} `))
      for (const row of optionRows) {
        const isThere = new RegExp(`^  ${flagName(row)}[ \n]`, 'm').test(help)
        assert.equal(isThere, row[1].kinds.includes(kind), flagName(row))
      }
      assert.match(help, /^ {2}--server <host:port> +The gateway\. \(ADIT_SERVER_ADDR\)$/m)
      assert.match(help, /^Exit codes: 0 stopped/m)
      assert.doesNotMatch(help, /--authtoken </)
    })
  }

  test('adit http has its options under headings, and breaks lines between words', async () => {
    const { stdout } = await runCommand(['http', '--help'])
    const headings = stdout.split('\n').filter(line => /^[A-Z].*:$/.test(line))
    const groups = ['Address:', 'Access:', 'Traffic:', 'Service:', 'Inspection:', 'Agent:', 'Options:']
    assert.deepEqual(headings, ['Examples:', 'Arguments:', ...groups])
    assert.match(stdout, /^ {2}--upstream-tls-verify-cas <file\|host>\n {6}CAs for the certificate/m)
  })

  test('every command fits into 80 columns', async () => {
    const isBreakable = (line: string): boolean => line.trimStart().includes(' ') && !line.includes('$ adit')
    for (const name of [...Object.keys(allCommands), 'api', 'requests', 'status', 'usage', 'cluster']) {
      const { stdout } = await runCommand([name, '--help'])
      const tooLong = stdout.split('\n').filter(line => line.length > 80 && isBreakable(line))
      assert.deepEqual(tooLong, [], name)
    }
  })

  test('adit lists all commands', async () => {
    const { stdout, code } = await runCommand(['--help'])
    assert.equal(code, 0)
    for (const [name, make] of Object.entries(allCommands)) {
      assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
      assert.equal(make().name(), name)
    }
    for (const name of ['api', 'requests', 'completion']) assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
    const headings = stdout.split('\n').filter(line => line.endsWith(':'))
    assert.deepEqual(headings, ['Options:', 'Tunnels:', 'Agent:', 'Server:', 'Management:', 'Other:'])
  })

  test('adit without a command prints the same', async () => {
    const { stdout, code } = await runCommand([])
    assert.equal(code, 0)
    assert.equal(stdout, (await runCommand(['--help'])).stdout)
  })
})

test('the reference documents every option of tunnels', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/reference/tunnel-options.md'), 'utf8')
  for (const row of optionRows) {
    const [key, { variable }] = row
    for (const flag of flagsFor(row)) assert.match(text, new RegExp(`\`${flag}[\` ]`), flag)
    assert.ok(text.includes(`\`${key}\``), key)
    if (variable) assert.ok(text.includes(`\`${variable.name}\``), variable.name)
  }
})

test('the guide to tunnels has every option of tunnels', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/tunnels.md'), 'utf8')
  const absent = optionRows.map(flagName).filter(flag => !new RegExp(`\`${flag}[\` =]`).test(text))
  assert.deepEqual(absent, [])
})

suite('wrong usage', () => {
  for (const [args, complaint] of [
    [['htpp', '80'], /Did you mean http\?/],
    [['http'], /missing required argument 'port\|host:port\|url'/],
    [['http', '80', '81'], /too many arguments/],
    [['http', '80', '--nam', 'x'], /unknown option '--nam'\n\(Did you mean --name\?\)/],
    [['http', 'nowhere'], /"nowhere" is not an address to forward to/],
    [
      ['http', '80', '--server', 'https://gateway'],
      /^adit: --server must be host:port or a host, or several separated by commas\n$/,
    ],
    [['http', '80', '--scheme', 'ftp'], /^adit: --scheme must be a list of https and http\n$/],
    [['http', '80', '--basic-auth', 'me'], /^adit: --basic-auth must be a list of user:password\n$/],
    [
      ['http', '80', '--label', 'a'],
      /^adit: --label must be a map of names to values; the flag takes name=value\n$/,
    ],
    [['http', '80', '--url', 'tcp://a:1'], /^adit: --url must start with https:\/\/ or http:\/\/\n$/],
    [['http', '80', '--log-format', 'xml'], /^adit: --log-format must be one of term, logfmt, json\n$/],
    [['http', '80', '--log-level', 'all'], /^adit: --log-level must be one of debug, info, warn, /],
    [['tls', '80', '--crt', 'x'], /^adit: --crt needs a key as well\n$/],
    [
      ['http', '80', '--oauth-allow-email', 'a@b.c'],
      /^adit: --oauth-allow-email needs a provider as well\n$/,
    ],
    [['tcp', '80', '--host-header', 'x'], /unknown option '--host-header'/],
    [['tunnel', '80'], /^adit: --label must be given\n$/],
    [
      ['config', 'add-authtoken', 'two words'],
      /^adit: the authtoken must be 1 to 512 visible ASCII characters\n$/,
    ],
  ] as const) {
    test(`is refused with 2: ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await runCommand(args, { XDG_CONFIG_HOME: '/nonexistent' })
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
      assert.match(stderr, complaint)
    })
  }

  test('of a file ends with 78', async () => {
    const { code, stderr } = await runCommand(['http', '80', '--config', '/nonexistent.yml'])
    assert.deepEqual(
      [code, stderr],
      [
        78,
        'adit: there is no file /nonexistent.yml. Check the path after --config, or create it with "adit config edit"\n',
      ],
    )
    const token = await runCommand(['http', '80', '--authtoken-file', '/nonexistent'], {
      XDG_CONFIG_HOME: '/none',
    })
    assert.deepEqual([token.code, token.stderr], [78, 'adit: the file /nonexistent cannot be read: ENOENT\n'])
    const secret = await runCommand(
      ['http', '80', '--oidc', 'https://a.test', '--oidc-client-secret-file', '/nonexistent'],
      { XDG_CONFIG_HOME: '/none' },
    )
    assert.deepEqual([secret.code, secret.stderr], [token.code, token.stderr])
  })
})

suite('flags', () => {
  const plan = (kind: TunnelKind, flags: Record<string, string[]>) =>
    planOfFlags(kind, '80', new Map(Object.entries(flags)))

  test('become the options of an endpoint', () => {
    assert.deepEqual(
      plan('http', {
        '--name': ['shop'],
        '--pooling-enabled': ['true'],
        '--request-header-add': ['a: b', 'c: d'],
        '--request-header-remove': ['e'],
        '--allow-cidr': ['10.0.0.0/8'],
        '--proxy-proto': ['2'],
        '--no-verify-upstream': ['false'],
        '--compression': ['true'],
        '--circuit-breaker': ['0.25'],
        '--oauth': ['google'],
        '--oauth-allow-email': ['a@b.c', 'd@e.f'],
        '--oauth-allow-domain': ['example.com'],
        '--ua-deny': ['bot', 'spider'],
        '--websocket-tcp-converter': ['true'],
      }),
      {
        forwardTo: '80',
        proto: 'https',
        poolingEnabled: true,
        domain: 'shop',
        requestHeaders: { add: ['a: b', 'c: d'], remove: ['e'] },
        allowCidrs: ['10.0.0.0/8'],
        proxyProto: 2,
        verifyUpstream: false,
        compression: true,
        circuitBreaker: 0.25,
        oauth: { provider: 'google', allowEmails: ['a@b.c', 'd@e.f'], allowDomains: ['example.com'] },
        userAgentFilter: { deny: ['bot', 'spider'] },
        websocketTcpConverter: true,
      },
    )
    assert.deepEqual(plan('tcp', { '--port': ['2200'] }), {
      forwardTo: '80',
      proto: 'tcp',
      remoteAddr: '2200',
    })
    assert.deepEqual(plan('http', { '--label': ['a=b', 'c=d=e'] }), {
      forwardTo: '80',
      labels: { a: 'b', c: 'd=e' },
    })
  })

  test('are refused when they cannot be read or are not enough', () => {
    const wrong: readonly [kind: TunnelKind, flags: Record<string, string[]>, message: string][] = [
      ['http', { '--circuit-breaker': ['half'] }, '--circuit-breaker must be a number from 0 to 1'],
      ['http', { '--circuit-breaker': [''] }, '--circuit-breaker must be a number from 0 to 1'],
      ['http', { '--circuit-breaker': ['-1'] }, '--circuit-breaker must be a number from 0 to 1'],
      ['http', { '--oauth': [''] }, '--oauth must be a provider such as google'],
      ['http', { '--oidc-client-id': ['x'] }, '--oidc-client-id needs an issuer as well'],
      ['tcp', { '--compression': ['true'] }, '--compression is not an option of tcp tunnels'],
      [
        'tls',
        { '--mutual-tls-ca': ['f'] },
        '--mutual-tls-ca needs a crt and a key as well, to terminate TLS in this agent',
      ],
    ]
    for (const [kind, flags, message] of wrong)
      assert.throws(() => plan(kind, flags), { name: 'UsageError', message })
  })

  test('decide on which endpoints there are', () => {
    const protos = (flags: Record<string, string[]>, isLocal: boolean) =>
      endpointsOf(plan('http', flags), isLocal).map(({ proto }) => proto)
    assert.deepEqual(protos({}, true), ['https', 'http'])
    assert.deepEqual(protos({}, false), ['https'])
    assert.deepEqual(protos({ '--scheme': ['http,https'] }, false), ['http', 'https'])
    assert.deepEqual(protos({ '--scheme': ['http'] }, true), ['http'])
    assert.deepEqual(protos({ '--url': ['http://a.example'] }, true), ['http'])
    assert.deepEqual(protos({ '--mutual-tls-ca': ['f'] }, true), ['https'])
    assert.deepEqual(endpointsOf(plan('tls', { '--crt': ['c'], '--key': ['k'] }), true), [
      { forwardTo: '80', proto: 'tls', terminate: { crt: 'c', key: 'k' } },
    ])
    const asking = plan('tls', { '--crt': ['c'], '--key': ['k'], '--mutual-tls-ca': ['f'] })
    assert.deepEqual(endpointsOf(asking, true), [
      { forwardTo: '80', proto: 'tls', terminate: { crt: 'c', key: 'k', clientCa: 'f' } },
    ])
  })
})

suite('secrets in variables', () => {
  const variables = optionRows.flatMap(([, { variable }]) => variable?.name ?? [])
  const environment = Object.fromEntries(variables.map(name => [name, `of ${name}`]))

  test('are for the tunnels that they are missing from', () => {
    const plan: Plan = {
      oauth: { provider: 'github', clientId: 'a' },
      oidc: { issuerUrl: 'https://a.test', clientId: 'b' },
      verifyWebhook: { provider: 'stripe' },
    }
    assert.deepEqual(withVariables(plan, environment), {
      oauth: { provider: 'github', clientId: 'a', clientSecret: 'of ADIT_OAUTH_CLIENT_SECRET' },
      oidc: { issuerUrl: 'https://a.test', clientId: 'b', clientSecret: 'of ADIT_OIDC_CLIENT_SECRET' },
      verifyWebhook: { provider: 'stripe', secret: 'of ADIT_VERIFY_WEBHOOK_SECRET' },
    })
  })

  test('change nothing else', () => {
    const plans: Plan[] = [
      {},
      // The application is the gateway's.
      { oauth: { provider: 'google' } },
      { oauth: { provider: 'google', clientId: 'a', clientSecret: 'b' } },
      { oidc: { issuerUrl: 'https://a.test', clientId: 'b', clientSecret: 'c' } },
      { verifyWebhook: { provider: 'stripe', secret: 'a' } },
    ]
    for (const plan of plans) assert.deepEqual(withVariables(plan, environment), plan)
    const lacking = { verifyWebhook: { provider: 'sns' } }
    assert.deepEqual(withVariables(lacking, { ADIT_VERIFY_WEBHOOK_SECRET: '' }), lacking)
  })

  test('are refused, and not repeated, when they have several lines', () => {
    const reported = (error: Error) =>
      error.message.startsWith('ADIT_VERIFY_WEBHOOK_SECRET must be one line of text') &&
      !error.message.includes('hush')
    const several = { ADIT_VERIFY_WEBHOOK_SECRET: 'hush\nhush' }
    assert.throws(() => withVariables({ verifyWebhook: { provider: 'stripe' } }, several), reported)
  })

  test('do not disturb adit serve', () => {
    assert.equal(variables.length, 3)
    assert.doesNotThrow(() => readSettings(new Map(), environment))
  })
})

test('adit serve does not mind the variables of agents', () => {
  const environment = { ADIT_SERVER_ADDR: 'a:1', ADIT_CA_FILE: 'x', ADIT_AUTHTOKEN: 'y' }
  assert.equal(readSettings(new Map(), environment).authtoken?.reveal(), 'y')
})
