import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { parseConfig } from '#cli/agent/config-file.ts'
import { hostedPaths } from '#cli/agent/config-file.ts'
import { checkConfig, readConfig } from '#cli/agent/config.ts'
import { secretText } from '../support/secrets.ts'
import { runAdit } from '../support/server.ts'
import { configFile } from './agent-support.ts'
import { newFolder } from '../support/folder.ts'

const read = (text: string) => checkConfig(parseConfig('ngrok.yml', text))
const settingsOf = (text: string) =>
  Object.fromEntries([...read(text).settings].map(([name, { raw }]) => [name, raw]))
const plansOf = (text: string) =>
  Object.fromEntries([...read(text).tunnels].map(([name, { plan }]) => [name, plan]))

const second = `
version: "2"
authtoken: abc
region: eu
server_addr: gateway.example.com:4443
root_cas: trusted
console_ui: false
log: stdout
log_format: json
log_level: error
metadata: mine
tunnels:
  web:
    proto: http
    addr: 3000
    hostname: shop.example.com
    bind_tls: both
    auth: me:password
    host_header: preserve
    inspect: false
    ip_restriction: {allow_cidrs: [10.0.0.0/8], deny_cidrs: ["::1/128"]}
    request_header: {add: ["a: b"], remove: [c]}
    response_header: {add: ["d: e"]}
    oauth: {provider: google, oauth_scopes: [email], allow_domains: [example.com]}
    user_agent_filter: {deny: [bot]}
    verify_webhook: {provider: github, secret: hush}
    mutual_tls_cas: ca.pem
    proxy_proto: "2"
    circuit_breaker: 0.5
  sub: {proto: tls, addr: 443, subdomain: a, terminate_at: upstream}
  db: {proto: tcp, addr: "localhost:5432", remote_addr: "1.tcp.example.com:20001"}
  back: {addr: 9, labels: [service=shop, zone=a=b]}
`

const third = `
version: 3
agent:
  authtoken: abc
  connect_url: gateway.example.com
  connect_cas: /etc/ca.pem
  heartbeat_interval: 10s
endpoints:
  - name: web
    url: https://shop.example.com
    upstream: {url: 8080, protocol: http2}
    description: the shop
    pooling_enabled: true
  - name: plain
    url: shop.example.com
    upstream: {url: example.internal}
  - name: local
    upstream: {url: "https://"}
    bindings: [public]
  - name: unencrypted
    url: "http://"
    upstream: {url: 80}
  - name: ssh
    url: tcp://
    upstream: {url: "tcp://localhost:22", proxy_protocol: 1}
  - name: own
    url: tls://own.example.com
    upstream: {url: "localhost:443"}
    agent_tls_termination:
      server_certificate: c.pem
      server_private_key: k.pem
      mutual_tls_certificate_authorities: [ca.pem]
tunnels:
  old: {proto: http, addr: 1}
`

suite('a file of the hosted agent', () => {
  test('of version 2 is read as it is', () => {
    assert.deepEqual(settingsOf(second), {
      authtoken: 'abc',
      server: 'gateway.example.com:4443',
      log: 'stdout',
      log_format: 'json',
      log_level: 'error',
      metadata: 'mine',
    })
    assert.deepEqual(plansOf(second), {
      web: {
        forwardTo: '3000',
        proto: 'https',
        domain: 'shop.example.com',
        schemes: ['https', 'http'],
        basicAuth: ['me:password'],
        inspect: false,
        allowCidrs: ['10.0.0.0/8'],
        denyCidrs: ['::1/128'],
        requestHeaders: { add: ['a: b'], remove: ['c'] },
        responseHeaders: { add: ['d: e'] },
        oauth: { provider: 'google', scopes: ['email'], allowDomains: ['example.com'] },
        userAgentFilter: { deny: ['bot'] },
        verifyWebhook: { provider: 'github', secret: 'hush' },
        mutualTlsCas: 'ca.pem',
        proxyProto: 2,
        circuitBreaker: 0.5,
      },
      sub: { forwardTo: '443', proto: 'tls', domain: 'a' },
      db: { forwardTo: 'localhost:5432', proto: 'tcp', remoteAddr: '1.tcp.example.com:20001' },
      back: { forwardTo: '9', labels: { service: 'shop', zone: 'a=b' } },
    })
    assert.deepEqual(read(second).remarks, [
      'ngrok.yml:4:1: "region" is ignored: "server" selects the gateway',
      'ngrok.yml:7:1: "console_ui" has no equivalent; the agent works without it',
    ])
  })

  test('of version 3 is read as it is', () => {
    assert.deepEqual(settingsOf(third), {
      authtoken: 'abc',
      server: 'gateway.example.com:443',
      ca: '/etc/ca.pem',
    })
    assert.deepEqual(plansOf(third), {
      web: {
        forwardTo: '8080',
        proto: 'https',
        url: 'https://shop.example.com',
        upstreamProtocol: 'http2',
        description: 'the shop',
        poolingEnabled: true,
      },
      plain: { forwardTo: 'http://example.internal', proto: 'https', domain: 'shop.example.com' },
      local: { forwardTo: 'https://localhost', proto: 'https' },
      unencrypted: { forwardTo: '80', proto: 'http', schemes: ['http'] },
      ssh: { forwardTo: 'tcp://localhost:22', proto: 'tcp', proxyProto: 1 },
      own: {
        forwardTo: 'localhost:443',
        proto: 'tls',
        url: 'tls://own.example.com',
        crt: 'c.pem',
        key: 'k.pem',
        mutualTlsCas: 'ca.pem',
      },
      old: { forwardTo: '1', proto: 'https' },
    })
  })

  for (const text of [
    "version: '3'",
    '{region: us, version: "2"}',
    'authtoken: abc\nregion: us\nweb_addr: 127.0.0.1:4041',
    'version: 3\nagent: {log: stdout}\nendpoints: []',
  ])
    test(`that wrappers write is accepted: ${JSON.stringify(text)}`, () => {
      assert.equal(read(text).tunnels.size, 0)
      assert.notEqual(read(text).hosted, undefined)
    })

  test('may be a device, and may be several', () => {
    assert.equal(readConfig(['/dev/null'], {}).tunnels.size, 0)
    using first = configFile('version: 2\nauthtoken: a\nmetadata: m\ntunnels:\n  a: {proto: tcp, addr: 1}\n')
    using later = configFile(
      'version: 3\nagent: {authtoken: b}\nendpoints: [{name: c, upstream: {url: 2}}]\n',
    )
    const { settings, tunnels } = readConfig([first.path, later.path], {})
    assert.deepEqual(
      [settings.get('authtoken')?.raw, settings.get('metadata')?.raw, ...tunnels.keys()],
      ['b', 'm', 'a', 'c'],
    )
  })

  for (const [text, message] of [
    ['version: 2\nregoin: us', /^ngrok\.yml:2:1: "regoin" is unknown\. Did you mean "region"\? Allowed are /],
    [
      'version: 2\ntunnels:\n  a: {proto: http, addr: 1, sub_domain: x}',
      /^ngrok\.yml:3:29: "sub_domain" is unknown\. Did you mean "subdomain"\?/,
    ],
    [
      'version: 3\nendpoints: [{name: a, upstrem: {url: 1}}]',
      /^ngrok\.yml:2:23: "upstrem" is unknown\. Did you mean "upstream"\?/,
    ],
    ['version: 3\nendpoints: {a: 1}', /^ngrok\.yml:2:12: "endpoints" must be a list$/],
    ['version: 3\nendpoints: [{url: a}]', /^ngrok\.yml:2:13: an endpoint must have a "name"$/],
    ['version: 2\nlog_level: all', /^ngrok\.yml:2:12: "log_level" must be one of debug, /],
    ['version: 4', /^ngrok\.yml:1:10: "version" must be 1, or 2 or 3 for a file of the hosted agent$/],
    [
      'version: 3\nendpoints: [{name: a, upstream: {url: "a b"}}]',
      /^ngrok\.yml:2:\d+: "addr" must be a port, /,
    ],
  ] as const)
    test(`is rejected with the place: ${JSON.stringify(text)}`, () => {
      assert.throws(() => read(text), { name: 'ConfigError', message })
    })

  test('with a policy opens its other tunnels, and this one never without the policy', async () => {
    using config = configFile(
      'version: 3\nendpoints:\n  - {name: a, upstream: {url: 1}, traffic_policy: {on_http_request: []}}\n  - {name: b, upstream: {url: 1}}\n',
    )
    const { code, stderr } = await runAdit(['start', 'a'], config.environment)
    assert.equal(code, 78)
    assert.match(
      stderr,
      /the tunnel "a" cannot be opened: \S+:3:\d+: "traffic_policy" has no equivalent: use options/,
    )
    const checked = await runAdit(['config', 'check'], config.environment)
    assert.match(
      checked.stdout,
      /^Valid configuration file at \S+: 2 tunnels\n {2}\S+:3:\d+: "traffic_policy" has no/,
    )
  })
})

suite('adit config import', () => {
  test('writes a file that means the same, and lists what has no equivalent', async () => {
    using source = configFile(`${second}  policed: {proto: http, addr: 1, traffic_policy: {}}\n`)
    const target = join(source.environment.XDG_CONFIG_HOME, 'new.yml')
    const { code, stdout } = await runAdit(['config', 'import', source.path, '--config', target])
    assert.equal(code, 0)
    const lines = stdout.trim().split('\n')
    assert.equal(lines[0], `${source.path} was converted to ${target}`)
    assert.deepEqual(
      lines.slice(1).map(line => /^no equivalent: \S+: "(\w+)"/.exec(line)?.[1]),
      ['region', 'console_ui', 'traffic_policy'],
    )
    const written = readFileSync(target, 'utf8')
    assert.match(written, /^# The tunnel "policed" was omitted: \S+ "traffic_policy" has no equivalent/)
    const own = checkConfig(parseConfig(target, written))
    assert.equal(own.hosted, undefined)
    const plans = Object.fromEntries([...own.tunnels].map(([name, { plan }]) => [name, plan]))
    assert.deepEqual(plans, plansOf(second))
    const again = await runAdit(['config', 'import', source.path, '--config', target])
    assert.equal(again.code, 78)
    assert.match(again.stderr, /already exists\. Move it, or set another path with --config/)
  })

  test('finds the file in its usual place, and prints with --dry-run', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'ngrok'))
    writeFileSync(join(folder, 'ngrok', 'ngrok.yml'), third, { mode: 0o600 })
    const { code, stdout } = await runAdit(['config', 'import', '--dry-run'], { XDG_CONFIG_HOME: folder })
    assert.equal(code, 0)
    assert.match(stdout, /^version: 1\nauthtoken: abc\nserver: gateway\.example\.com:443\n/)
    const none = await runAdit(['config', 'import'], {
      XDG_CONFIG_HOME: '/nonexistent',
      HOME: '/nonexistent',
    })
    assert.equal(none.code, 2)
    assert.match(none.stderr, /there is no file of the hosted agent in /)
    assert.deepEqual(hostedPaths({ HOME: '/h' }, 'darwin'), [
      '/h/Library/Application Support/ngrok/ngrok.yml',
      '/h/.ngrok2/ngrok.yml',
    ])
  })
})

suite('commands that change a file', () => {
  test('write where each version has its values', async () => {
    const token = secretText('token')
    for (const [text, pattern] of [
      [
        'version: 2\nregion: us # here\n',
        /^version: 2\nregion: us # here\nserver_addr: a\.test:1\nauthtoken: /,
      ],
      ['version: "3"\n', /^version: "3"\nagent:\n {2}connect_url: a\.test:1\n {2}authtoken: /],
      [
        'version: 3\nagent:\n  connect_url: x:1 # here\n',
        /^version: 3\nagent:\n {2}connect_url: a\.test:1 # here\n {2}authtoken: /,
      ],
    ] as const) {
      using config = configFile(text)
      const server = await runAdit(['config', 'add-server-addr', 'a.test:1'], config.environment)
      assert.deepEqual(server.stdout, `Server address saved to configuration file: ${config.path}\n`)
      // As wrappers call it.
      const saved = await runAdit(['authtoken', token, '--log=stdout', `--config=${config.path}`])
      assert.equal(saved.stdout, `Authtoken saved to configuration file: ${config.path}\n`)
      const written = readFileSync(config.path, 'utf8')
      assert.match(written, pattern)
      assert.equal(checkConfig(parseConfig('f', written)).settings.get('authtoken')?.raw, token)
    }
  })

  test('upgrade nothing, since every version is read', async () => {
    using config = configFile('version: 2\n')
    const upgraded = await runAdit(['config', 'upgrade', '--relocate', `--config=${config.path}`])
    assert.equal(upgraded.code, 0)
    assert.match(
      upgraded.stdout,
      /has version 2 of the hosted agent, which is read as it is\. "adit config import"/,
    )
  })

  test('open an editor and check what it leaves', async () => {
    const folder = newFolder()
    const editor = join(folder, 'editor')
    writeFileSync(editor, '#!/bin/sh\necho "tunnles: {}" >> "$1"\n', { mode: 0o700 })
    const environment = { XDG_CONFIG_HOME: folder, EDITOR: editor, VISUAL: '' }
    const { code, stderr } = await runAdit(['config', 'edit'], environment)
    assert.equal(code, 78)
    assert.match(stderr, /adit\.yml:2:1: "tunnles" is unknown\. Did you mean "tunnels"\?/)
    const none = await runAdit(['config', 'edit'], { ...environment, EDITOR: '/nonexistent' })
    assert.match(
      none.stderr,
      /the editor \/nonexistent cannot be started: ENOENT\. Set EDITOR to the one you use\./,
    )
  })

  test('report where an API key belongs', async () => {
    const { code, stderr } = await runAdit(['config', 'add-api-key', 'k', '--log', 'stdout'])
    assert.equal(code, 2)
    assert.match(stderr, /takes it from ADIT_API_KEY/)
  })
})
