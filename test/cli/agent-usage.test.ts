import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Command } from 'commander'
import { readSettings } from '#base/read-settings.ts'
import { agentCommands } from '#cli/agent/commands.ts'
import { endpointsOf, planOfFlags } from '#cli/agent/plan.ts'
import type { TunnelKind } from '#cli/agent/tunnel-option.ts'
import { flagName, optionRows } from '#cli/agent/tunnel-options.ts'
import { runAdit } from '../support/server.ts'

const commands = new Map(agentCommands().map(command => [command.name(), command]))
const helpOf = (name: string): string => {
  let text = ''
  const command = commands.get(name) as Command
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
      assert.match(help, /^Exit codes: 0 told to stop/m)
      assert.doesNotMatch(help, /--authtoken </)
    })
  }

  test('adit lists all commands', async () => {
    const { stdout, code } = await runAdit(['--help'])
    assert.equal(code, 0)
    for (const name of [...commands.keys(), 'serve', 'api'])
      assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
  })
})

suite('wrong usage', () => {
  for (const [args, complaint] of [
    [['htpp', '80'], /Did you mean http\?/],
    [['http'], /missing required argument 'port\|host:port\|url'/],
    [['http', '80', '81'], /too many arguments/],
    [['http', '80', '--nam', 'x'], /unknown option '--nam'\n\(Did you mean --name\?\)/],
    [['http', 'nowhere'], /"nowhere" is not an address to forward to/],
    [['http', '80', '--server', 'gateway'], /^adit: --server must be host:port\n$/],
    [['http', '80', '--scheme', 'ftp'], /^adit: --scheme must be a list of https and http\n$/],
    [['http', '80', '--basic-auth', 'me'], /^adit: --basic-auth must be a list of user:password\n$/],
    [
      ['http', '80', '--label', 'a'],
      /^adit: --label must be a map of names to texts, as a flag name=value\n$/,
    ],
    [['http', '80', '--url', 'tcp://a:1'], /^adit: --url must start with https:\/\/ or http:\/\/\n$/],
    [['http', '80', '--log', 'xml'], /^adit: --log must be one of text, json\n$/],
    [['tls', '80', '--crt', 'x'], /^adit: --crt needs a key as well\n$/],
    [['tcp', '80', '--host-header', 'x'], /unknown option '--host-header'/],
    [['tunnel', '80'], /^adit: --label must be given\n$/],
    [['http', '80', '--authtoken', 'x'], /unknown option '--authtoken'/],
    [
      ['config', 'add-authtoken', 'two words'],
      /^adit: the authtoken must be 1 to 512 visible ASCII characters\n$/,
    ],
  ] as const) {
    test(`is refused with 2: ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await runAdit(args, { XDG_CONFIG_HOME: '/nonexistent' })
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
      assert.match(stderr, complaint)
    })
  }

  test('of a file ends with 78', async () => {
    const { code, stderr } = await runAdit(['http', '80', '--config', '/nonexistent.yml'])
    assert.deepEqual([code, stderr], [78, 'adit: there is no file /nonexistent.yml\n'])
    const token = await runAdit(['http', '80', '--authtoken-file', '/nonexistent'], {
      XDG_CONFIG_HOME: '/none',
    })
    assert.deepEqual([token.code, token.stderr], [78, 'adit: the file /nonexistent cannot be read: ENOENT\n'])
  })
})

suite('flags', () => {
  const plan = (kind: TunnelKind, flags: Record<string, string[]>) =>
    planOfFlags(kind, '80', new Map(Object.entries(flags)))

  test('become the options of an endpoint', () => {
    assert.deepEqual(
      plan('http', {
        '--name': ['shop'],
        '--request-header-add': ['a: b', 'c: d'],
        '--request-header-remove': ['e'],
        '--allow-cidr': ['10.0.0.0/8'],
        '--proxy-proto': ['2'],
        '--no-verify-upstream': ['false'],
      }),
      {
        forwardTo: '80',
        proto: 'https',
        domain: 'shop',
        requestHeaders: { add: ['a: b', 'c: d'], remove: ['e'] },
        allowCidrs: ['10.0.0.0/8'],
        proxyProto: 2,
        verifyUpstream: false,
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

  test('decide on which endpoints there are', () => {
    const protos = (flags: Record<string, string[]>, isLocal: boolean) =>
      endpointsOf(plan('http', flags), isLocal).map(({ proto }) => proto)
    assert.deepEqual(protos({}, true), ['https', 'http'])
    assert.deepEqual(protos({}, false), ['https'])
    assert.deepEqual(protos({ '--scheme': ['http,https'] }, false), ['http', 'https'])
    assert.deepEqual(protos({ '--scheme': ['http'] }, true), ['http'])
    assert.deepEqual(protos({ '--url': ['http://a.example'] }, true), ['http'])
    assert.deepEqual(endpointsOf(plan('tls', { '--crt': ['c'], '--key': ['k'] }), true), [
      { forwardTo: '80', proto: 'tls', terminate: { crt: 'c', key: 'k' } },
    ])
  })
})

test('adit serve does not mind the variables of agents', () => {
  const environment = { ADIT_SERVER_ADDR: 'a:1', ADIT_CA_FILE: 'x', ADIT_AUTHTOKEN: 'y' }
  assert.equal(readSettings(new Map(), environment).authtoken?.reveal(), 'y')
})
