import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { configPath, parseConfig } from '#cli/agent/config-file.ts'
import { checkConfig } from '#cli/agent/config.ts'
import { optionRows } from '#tunnel/tunnel-options.ts'
import { assertNoSecret, secretText } from '../support/secrets.ts'
import { configFile } from './agent-support.ts'
import { run } from './run.ts'
import { program } from '../support/program.ts'
import { runCommand } from '../support/command-host.ts'
import { newFolder } from '../support/folder.ts'

/** A file that uses all options. */
const everyOption = `
version: 1
server: gateway.example:4443
authtoken: "abc"
ca: host
ca_only: true
proxy_url: socks5://proxy.example:1080
metadata: mine
log: json
log_format: logfmt
log_level: debug
inspect: off
inspect_db_size: 0
web_addr: 127.0.0.1:4041
web_allow_hosts: [dev.example]
update_check: false
update_url: https://example.com/adit.json
update_command: [npm, install, "adit@{version}"]
tunnels:
  web:
    proto: http
    addr: https://localhost:8443
    domain: shop
    schemes: [https, http]
    metadata: m
    description: d
    upstream_tls_verify_cas: host
    inspect: false
    gateway_capture: true
    basic_auth: ["a:b"]
    host_header: rewrite
    request_headers: {add: ["a: b"], remove: [c]}
    response_headers: {add: ["a: b"], remove: [c]}
    allow_cidrs: [10.0.0.0/8]
    deny_cidrs: ["fd00::/8"]
    compression: true
    circuit_breaker: 0.5
    oauth:
      provider: google
      allow_emails: [a@b.c]
      allow_domains: [example.com]
      scopes: [email]
      client_id: mine
      client_secret: hush
    verify_webhook: {provider: github, secret: hush}
    user_agent_filter: {allow: ["curl/8"], deny: [curl]}
    mutual_tls_cas: ca.pem
    websocket_tcp_converter: true
    proxy_proto: 2
    upstream_protocol: http2
    verify_upstream: false
    pooling_enabled: true
  whole: {proto: http, addr: 80, url: "https://shop.example.com"}
  staff:
    proto: http
    addr: 80
    oidc:
      issuer_url: https://login.example.com
      client_id: mine
      client_secret: hush
      scopes: [email]
      allow_emails: [a@b.c]
      allow_domains: [example.com]
  ssh: {proto: tcp, addr: 22, remote_addr: 20022}
  tls: {proto: tls, addr: 443, crt: c.pem, key: k.pem}
  back: {addr: 9000, labels: {a: b}}
`

const tunnel = (lines: string) => `tunnels:\n  web:\n    proto: http\n    addr: 80\n${lines}`

/** What is written, and what is said of it after the path. */
const mistakes: Readonly<Record<string, readonly [text: string, complaint: RegExp]>> = {
  'a key that is not known': [
    'server: a:1\nsever: b',
    /^:2:1: "sever" is unknown\. Did you mean "server"\? Allowed are version, server, authtoken, /,
  ],
  'a tunnel option that is not known': [
    tunnel('    adr: 1'),
    /^:5:5: "adr" is unknown\. Did you mean "addr"\? Allowed are proto, addr, domain, /,
  ],
  'a part of an option that is not known': [
    tunnel('    request_headers:\n      ad: [a]'),
    /^:6:7: "ad" is unknown\. Allowed are add, remove$/,
  ],
  'a number for a text': ['metadata: 5', /^:1:11: "metadata" must be text$/],
  'a text for a list': [
    tunnel('    basic_auth: me:secret'),
    /^:5:17: "basic_auth" must be a list of user:password$/,
  ],
  'a credential without a colon': [
    tunnel('    basic_auth: [me]'),
    /^:5:17: "basic_auth" must be a list of user:password$/,
  ],
  'a list for a map': [
    tunnel('    request_headers: [a]'),
    /^:5:22: "request_headers" must be lines of the form "name: value"$/,
  ],
  'a word that is not offered': [
    tunnel('    upstream_protocol: h3'),
    /^:5:24: "upstream_protocol" must be one of http1, http2$/,
  ],
  'a number that is not offered': [
    tunnel('    proxy_proto: 3'),
    /^:5:18: "proxy_proto" must be one of 1, 2$/,
  ],
  'a word for yes or no': [
    tunnel('    verify_upstream: "no"'),
    /^:5:22: "verify_upstream" must be true or false$/,
  ],
  'a network that is none': [
    tunnel('    allow_cidrs: [10.0.0.0/33]'),
    /^:5:18: "allow_cidrs" must be a list of networks/,
  ],
  'a share that is too large': [
    tunnel('    circuit_breaker: 50'),
    /^:5:22: "circuit_breaker" must be a number from 0 to 1$/,
  ],
  'a user that is not an address': [
    tunnel('    oauth: {provider: google, allow_emails: [me]}'),
    /^:5:45: "oauth\.allow_emails" must be a list of e-mail addresses$/,
  ],
  'who may sign in, but not where': [
    tunnel('    oauth: {allow_emails: [a@b.c]}'),
    /^:5:13: "oauth\.allow_emails" needs a provider as well$/,
  ],
  'an application without an issuer': [
    tunnel('    oidc: {client_id: a}'),
    /^:5:12: "oidc\.client_id" needs an issuer as well$/,
  ],
  'a secret without a sender': [
    tunnel('    verify_webhook: {secret: a}'),
    /^:5:22: "verify_webhook\.secret" needs a provider as well$/,
  ],
  'a sign-in that says nothing': [
    tunnel('    oauth:\n'),
    /^:5:5: "oauth" is empty; it may have provider, allow_emails, allow_domains, /,
  ],
  'a secret that is none': [
    tunnel('    oauth: {provider: google, client_secret: }'),
    /^:5:\d+: "oauth\.client_secret" must be one line of text; /,
  ],
  'client certificates where TLS is terminated by the service': [
    'tunnels:\n  a: {proto: tls, addr: 22, mutual_tls_cas: x}',
    /^:2:29: "mutual_tls_cas" needs a crt and a key as well, to terminate TLS in this agent$/,
  ],
  'an option of another kind of tunnel': [
    'tunnels:\n  a: {proto: tcp, addr: 22, host_header: x}',
    /^:2:29: "host_header" is not an option of tcp tunnels$/,
  ],
  'a certificate without a key': [
    'tunnels:\n  a: {proto: tls, addr: 22, crt: x}',
    /^:2:29: "crt" needs a key as well$/,
  ],
  'a url of another protocol': [
    tunnel('    url: tcp://a:1'),
    /^:5:10: "url" must start with https:\/\/ or http:\/\/$/,
  ],
  'a tunnel without a protocol': [
    'tunnels:\n  a: {addr: 1}',
    /^:2:3: "proto" is missing; it must be one of http, tcp, tls$/,
  ],
  'a protocol that is none': [
    'tunnels:\n  a: {proto: udp, addr: 1}',
    /^:2:14: "proto" must be one of http, tcp, tls$/,
  ],
  'a tunnel that leads nowhere': [
    'tunnels:\n  a: {proto: tcp}',
    /^:2:3: "addr" is missing; it must be a port, /,
  ],
  'an address with a path': [
    'tunnels:\n  a: {proto: http, addr: "http://a/b"}',
    /^:2:26: "addr" must be a port, host:port, a URL without a path, unix:\/path or file:\/\/\/folder$/,
  ],
  'a tunnel that is a text': [
    'tunnels:\n  a: 8080',
    /^:2:6: the tunnel "a" must be lines of the form "name: value"$/,
  ],
  'a server that is a URL': [
    'server: "https://gateway"',
    /^:1:9: "server" must be host:port or a host, or several separated by commas$/,
  ],
  'a version of tomorrow': [
    'version: 4',
    /^:1:10: "version" must be 1, or 2 or 3 for a file of the hosted agent$/,
  ],
  'the same key twice': ['version: 1\nversion: 1', /^:2:1: this is not YAML: Map keys must be unique$/],
  'what is not YAML': ['server: "abc', /^:1:13: this is not YAML: /],
  'a list': ['- a', /^:1:1: the file must be lines of the form "name: value"$/],
  'an alias without an anchor': ['server: *a', /^:1:9: (this is not YAML: |there is no anchor "a")/],
  'too many aliases': [
    `metadata: &a x\nupdate_command: [${'*a, '.repeat(101)}]`,
    /^:2:\d+: a file may have 100 aliases$/,
  ],
}

suite('adit config check', () => {
  for (const [what, [text, complaint]] of Object.entries(mistakes)) {
    test(`shows the position of ${what}`, () => {
      assert.throws(
        () => checkConfig(parseConfig('f', text)),
        ({ name, message }: Error) => {
          assert.equal(name, 'ConfigError')
          assert.match(message.slice(1), complaint)
          return true
        },
      )
    })
  }

  test('is not led astray by aliases of aliases', () => {
    const levels = Array.from({ length: 9 }, (_, at) => `${at}: &l${at + 1} [${`*l${at}, `.repeat(10)}]`)
    const text = `tunnels: {a: {proto: http, addr: 1, basic_auth: &l0 [x:y]}}\nlabels:\n  ${levels.join('\n  ')}`
    assert.throws(() => checkConfig(parseConfig('f', text)), /is unknown|may have 100 aliases/)
  })

  test('takes what is too deep for a mistake', () => {
    assert.throws(() => checkConfig(parseConfig('f', '['.repeat(200_000))), { name: 'ConfigError' })
  })

  test('reads aliases for what they stand for', () => {
    const text = `tunnels:\n  a: &a {proto: http, addr: 1, basic_auth: &auth ["x:y"]}\n  b: {proto: http, addr: 2, basic_auth: *auth}\n  c: *a`
    const { tunnels } = checkConfig(parseConfig('f', text))
    assert.deepEqual(tunnels.get('b')?.plan.basicAuth, ['x:y'])
    assert.equal(tunnels.get('c')?.plan.forwardTo, '1')
  })

  test('is content with every option there is', () => {
    const { tunnels, settings } = checkConfig(parseConfig('f', everyOption))
    assert.equal(settings.size, 17)
    const used = new Set([...tunnels.values()].flatMap(({ options }) => [...options.keys()]))
    assert.deepEqual(
      optionRows.map(([key]) => key).filter(key => !used.has(key)),
      [],
    )
  })

  test('becomes the plan of each tunnel', () => {
    const { tunnels } = checkConfig(parseConfig('f', everyOption))
    assert.deepEqual(tunnels.get('web')?.plan.requestHeaders, { add: ['a: b'], remove: ['c'] })
    assert.deepEqual(tunnels.get('web')?.plan.oauth, {
      provider: 'google',
      allowEmails: ['a@b.c'],
      allowDomains: ['example.com'],
      scopes: ['email'],
      clientId: 'mine',
      clientSecret: 'hush',
    })
    assert.deepEqual(tunnels.get('web')?.plan.verifyWebhook, { provider: 'github', secret: 'hush' })
    assert.equal(tunnels.get('staff')?.plan.oidc?.issuerUrl, 'https://login.example.com')
    assert.deepEqual(tunnels.get('back')?.plan, { forwardTo: '9000', labels: { a: 'b' } })
  })

  test('ends with 0, or with 78 and the place', async () => {
    using good = configFile(tunnel(''))
    const fine = await runCommand(['config', 'check'], good.environment)
    assert.deepEqual(fine, {
      code: 0,
      stdout: `Valid configuration file at ${good.path}: one tunnel\n`,
      stderr: '',
    })
    using bad = configFile('sever: 1')
    const wrong = await runCommand(['config', 'check', bad.path])
    assert.equal(wrong.code, 78)
    assert.ok(wrong.stderr.startsWith(`adit: ${bad.path}:1:1: "sever" is unknown`))
    const none = await runCommand(['config', 'check', '/nonexistent/adit.yml'])
    assert.deepEqual(
      [none.code, none.stderr],
      [
        78,
        'adit: there is no file /nonexistent/adit.yml. Check the path after --config, or create it with "adit config edit"\n',
      ],
    )
  })

  test('reads the certificates that are named', async () => {
    using config = configFile('tunnels:\n  a: {proto: tls, addr: 1, crt: /nonexistent, key: /nonexistent}')
    const { code, stderr } = await runCommand(['config', 'check', config.path])
    assert.equal(code, 78)
    assert.match(stderr, /:2:\d+: the tunnel "a": .*\/nonexistent.*ENOENT/)
  })

  test('reads the authorities that are named', async () => {
    using config = configFile('')
    writeFileSync(config.path, tunnel(`    mutual_tls_cas: ${config.path}`))
    const { code, stderr } = await runCommand(['config', 'check', config.path])
    assert.equal(code, 78)
    assert.match(stderr, /the tunnel "web": .*the CAs for client certificates are not certificates in PEM/)
  })

  test('refuses a world-writable file, as every command does', async () => {
    using config = configFile('version: 1')
    chmodSync(config.path, 0o666)
    for (const args of [
      ['config', 'check'],
      ['http', '1'],
      ['config', 'add-authtoken', 'x'],
    ]) {
      const { code, stderr } = await runCommand(args, config.environment)
      assert.equal(code, 78)
      assert.match(stderr, /is world-writable; fix it with chmod o-w/)
    }
  })
})

suite('adit config path', () => {
  for (const [platform, environment, path] of [
    ['linux', { XDG_CONFIG_HOME: '/x', HOME: '/h' }, '/x/adit/adit.yml'],
    ['linux', { HOME: '/h' }, '/h/.config/adit/adit.yml'],
    ['darwin', { HOME: '/h' }, '/h/Library/Application Support/adit/adit.yml'],
    ['win32', { LOCALAPPDATA: '/l', HOME: '/h' }, '/l/adit/adit.yml'],
  ] as const) {
    test(`is ${path} on ${platform}`, () => assert.equal(configPath(environment, platform), path))
  }
})

suite('adit config show', () => {
  test('shows values and their origins, but no secrets', async () => {
    using config = configFile(
      `authtoken: ${secretText('authtoken')}\nserver: a.example:1\ntunnels:\n  w: {proto: http, addr: 80, basic_auth: ["me:${secretText('password')}"], oauth: {provider: x, client_id: a, client_secret: ${secretText('oauth')}}}`,
    )
    const environment = { ...config.environment, ADIT_SERVER_ADDR: 'b.example:2' }
    const { stdout, code } = await runCommand(['config', 'show', '--log', 'json'], environment)
    assert.equal(code, 0)
    assertNoSecret('adit config show', stdout)
    for (const line of [
      'server: b.example:2  # ADIT_SERVER_ADDR',
      `authtoken: ********  # ${config.path}:1:12`,
      'log: json  # --log',
      'log_level: info  # default',
      `    addr: 80  # ${config.path}:4:26`,
    ])
      assert.ok(stdout.split('\n').includes(line), `${line}\nis not in\n${stdout}`)
    const json = await runCommand(['config', 'show', '--json'], config.environment)
    const { settings, tunnels } = JSON.parse(json.stdout)
    assert.deepEqual(settings.server, { value: 'a.example:1', origin: `${config.path}:2:9` })
    assert.deepEqual(tunnels.w.basic_auth.value, '********')
    assert.deepEqual(tunnels.w['oauth.client_secret'].value, '********')
    assertNoSecret('adit config show --json', json.stdout)
  })
})

suite('adit config add-authtoken', () => {
  const before = `# The office.
server: a.example:1   # there

authtoken:   old   # of Ann
tunnels:
  web:  { proto: http, addr: 80 }
`
  test('replaces the value and nothing else', async () => {
    using config = configFile(before)
    chmodSync(config.path, 0o644)
    const { code, stdout } = await runCommand(
      ['config', 'add-authtoken', secretText('new')],
      config.environment,
    )
    assert.deepEqual([code, stdout], [0, `Authtoken saved to configuration file: ${config.path}\n`])
    assert.equal(readFileSync(config.path, 'utf8'), before.replace('old', secretText('new')))
    assert.equal(statSync(config.path).mode & 0o777, 0o600)
  })

  test('adds a line where there was none, from standard input', async () => {
    const text = '# Mine.\nserver: a.example:1 # here'
    using config = configFile(text)
    const options = { input: 'x: "#1\n', environment: config.environment }
    const wrong = await run(program, ['config', 'add-authtoken', '-'], options)
    assert.equal(wrong.code, 2)
    const { code } = await run(program, ['config', 'add-authtoken', '-'], { ...options, input: '#1:\n' })
    assert.equal(code, 0)
    assert.equal(readFileSync(config.path, 'utf8'), `${text}\nauthtoken: "#1:"\n`)
  })

  test('makes the file and its folder', async () => {
    const folder = newFolder()
    try {
      const path = join(folder, 'adit', 'adit.yml')
      assert.equal(
        (await runCommand(['config', 'add-authtoken', 'abc'], { XDG_CONFIG_HOME: folder })).code,
        0,
      )
      assert.equal(readFileSync(path, 'utf8'), 'version: 1\nauthtoken: abc\n')
      assert.equal(statSync(path).mode & 0o777, 0o600)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('copes with braces, with an end marker and with a link', async () => {
    for (const text of ['{server: "a.example:1"} # flow\n', 'server: a.example:1\n...\n', '# only words\n']) {
      using config = configFile(text)
      const real = join(config.environment.XDG_CONFIG_HOME, 'real')
      mkdirSync(real)
      writeFileSync(join(real, 'f.yml'), text)
      const link = join(real, 'link.yml')
      symlinkSync('f.yml', link)
      assert.equal((await runCommand(['config', 'add-authtoken', 'abc', '--config', link])).code, 0)
      const written = readFileSync(join(real, 'f.yml'), 'utf8')
      assert.equal(checkConfig(parseConfig('f', written)).settings.get('authtoken')?.raw, 'abc')
      assert.match(written, text.includes('#') ? /# (flow|only words)/ : /a\.example/)
    }
  })

  test('leaves a file alone that is wrong', async () => {
    using config = configFile('sever: 1\n')
    assert.equal((await runCommand(['config', 'add-authtoken', 'abc'], config.environment)).code, 78)
    assert.equal(readFileSync(config.path, 'utf8'), 'sever: 1\n')
  })
})
