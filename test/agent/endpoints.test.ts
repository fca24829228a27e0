import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readEndpoint } from '#agent/endpoint.ts'
import { AgentError, type EndpointOptions, type EndpointProto } from '#agent/index.ts'
import { readTarget } from '#agent/target.ts'
import { propertyOf } from '#tunnel/option-values.ts'
import { optionRows } from '#tunnel/tunnel-options.ts'

const certificate = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`
const CERTIFICATE = certificate('AAAA')

suite('an address to forward to', () => {
  const good: readonly [
    given: string | number,
    proto: EndpointProto | '',
    place: object,
    shown: string,
    tls?: true,
  ][] = [
    [8080, 'https', { host: 'localhost', port: 8080 }, 'http://localhost:8080'],
    ['8080', 'tcp', { host: 'localhost', port: 8080 }, 'localhost:8080'],
    [':8080', 'tls', { host: 'localhost', port: 8080 }, 'localhost:8080'],
    ['10.0.0.1:22', 'tcp', { host: '10.0.0.1', port: 22 }, '10.0.0.1:22'],
    ['[::1]:80', 'http', { host: '::1', port: 80 }, 'http://[::1]:80'],
    ['web:81', '', { host: 'web', port: 81 }, 'http://web:81'],
    ['http://web', 'https', { host: 'web', port: 80 }, 'http://web:80'],
    ['https://web', 'https', { host: 'web', port: 443 }, 'https://web:443', true],
    ['HTTPS://web:444/', 'https', { host: 'web', port: 444 }, 'https://web:444', true],
    ['tls://db:5433', 'tcp', { host: 'db', port: 5433 }, 'tls://db:5433', true],
    ['tcp://db:5432', 'tcp', { host: 'db', port: 5432 }, 'db:5432'],
    ['unix:/run/a b.sock', 'https', { path: '/run/a b.sock' }, 'unix:/run/a b.sock'],
  ]
  for (const [given, proto, place, shown, tls = false] of good) {
    test(`is read: ${given} for ${proto || 'labels'}`, () => {
      assert.deepEqual(readTarget(given, proto), { place, encrypted: tls, text: shown })
    })
  }

  const bad = [
    '',
    'web',
    '0',
    70_000,
    'http://web/path',
    'http://user@web:1',
    'ftp://web:1',
    'web:x',
    'http://web:1/?q',
    'unix:relative',
    '-1',
    'a b:1',
  ]
  for (const given of bad) {
    test(`is refused: "${given}"`, () => {
      assert.throws(() => readTarget(given, 'https'), { code: 'ERR_ADIT_90087', permanent: true })
    })
  }
})

suite('an endpoint', () => {
  test('is https unless its URL has another scheme', () => {
    const protoOf = (options: EndpointOptions) => readEndpoint({ forwardTo: 1, ...options }).proto
    assert.equal(protoOf({}), 'https')
    assert.equal(protoOf({ url: 'tcp://host:1' }), 'tcp')
    assert.equal(protoOf({ url: 'https://a.test', proto: 'tls' }), 'tls')
    assert.equal(protoOf({ labels: { a: 'b' } }), '')
  })

  test('requests all given options in wire format', () => {
    const { wire } = readEndpoint({
      forwardTo: 1,
      domain: 'app',
      basicAuth: ['me:a:b'],
      hostHeader: 'inner',
      requestHeaders: { add: ['x:1'], remove: ['y'] },
      allowCidrs: ['10.0.0.0/8'],
      proxyProto: 2,
    })
    assert.equal(wire['Domain'], 'app')
    assert.equal(wire['ProxyProto'], 2)
    assert.equal(wire['HostHeaderRewrite'], false)
    assert.deepEqual(wire['BasicAuth'], { credentials: [{ username: 'me', cleartext_password: 'a:b' }] })
    assert.deepEqual(wire['RequestHeaders'], { add: ['x:1', 'host:inner'], remove: ['y'] })
    assert.deepEqual(wire['IPRestriction'], { allow_cidrs: ['10.0.0.0/8'], deny_cidrs: [] })
    assert.equal(wire['ResponseHeaders'], null)
  })

  test('requests modules in wire format', () => {
    const { wire } = readEndpoint({
      forwardTo: 1,
      compression: true,
      circuitBreaker: 0,
      oauth: { provider: 'google', allowEmails: ['a@b.c'] },
      oidc: { issuerUrl: 'https://a.test', clientId: 'b', clientSecret: 'c', scopes: ['email'] },
      verifyWebhook: { provider: 'github', secret: 'd' },
      userAgentFilter: { deny: ['bot'] },
      websocketTcpConverter: true,
    })
    const lists = { scopes: [], allow_emails: [], allow_domains: [] }
    assert.deepEqual(wire['Compression'], {})
    assert.deepEqual(wire['CircuitBreaker'], { error_threshold: 0 })
    assert.deepEqual(wire['OAuth'], {
      provider: 'google',
      client_id: '',
      client_secret: '',
      ...lists,
      allow_emails: ['a@b.c'],
    })
    assert.deepEqual(wire['OIDC'], {
      issuer_url: 'https://a.test',
      client_id: 'b',
      client_secret: 'c',
      ...lists,
      scopes: ['email'],
    })
    assert.deepEqual(wire['WebhookVerification'], { provider: 'github', secret: 'd' })
    assert.deepEqual(wire['UserAgentFilter'], { allow: [], deny: ['bot'] })
    assert.deepEqual(wire['WebsocketTCPConverter'], {})
  })

  for (const [key, { module, form }] of optionRows) {
    const [name = '', member] = module?.split('.') ?? []
    if (name === '') continue
    test(`sends ${key} as ${module}`, () => {
      const texts = key === 'mutual_tls_cas' ? CERTIFICATE : 'a:b'
      const number = key === 'circuit_breaker' ? 0.5 : true
      const value = form.empty === undefined ? number : form.empty === '' ? texts : [texts]
      const [property, part] = propertyOf(key)
      const options = { [property]: part === undefined ? value : { [part]: value } }
      const { wire } = readEndpoint({ forwardTo: 1, ...options })
      const sent = wire[name] as Record<string, unknown>
      assert.ok(member === undefined ? sent : sent[member])
    })
  }

  test('requests no module by default', () => {
    const off = { compression: false, websocketTcpConverter: false, userAgentFilter: {}, allowCidrs: [] }
    for (const options of [{}, off]) {
      const { wire } = readEndpoint({ forwardTo: 1, ...options })
      for (const [name, value] of Object.entries(wire)) assert.ok(!value, name)
    }
  })

  test('does not ignore a restriction whose value is empty', () => {
    const { wire } = readEndpoint({ forwardTo: 1, oauth: { provider: '' } })
    assert.equal((wire['OAuth'] as { provider: string }).provider, '')
    assert.throws(() => readEndpoint({ forwardTo: 1, mutualTlsCas: '' }), AgentError)
  })

  test('sends the certificates of authorities, and no key from the same file', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----'
    const mutualTlsCas = [certificate('AAAA'), key, certificate('BBBB')].join('\n')
    const { wire } = readEndpoint({ forwardTo: 1, mutualTlsCas })
    const { mutual_tls_ca: sent } = wire['MutualTLSCA'] as { mutual_tls_ca: string }
    const expected = `${certificate('AAAA')}\n${certificate('BBBB')}\n`
    assert.equal(Buffer.from(sent, 'base64').toString(), expected)
  })

  const bad: readonly [name: string, options: object, message: RegExp][] = [
    ['leads nowhere', {}, /either an address/],
    ['leads to two places', { forwardTo: 1, onConnection: () => undefined }, /either an address/],
    ['has an unknown protocol', { forwardTo: 1, proto: 'udp' }, /"udp"/],
    ['has a login without a password', { forwardTo: 1, basicAuth: ['hunter2'] }, /user:password/],
    ['has labels and an address', { forwardTo: 1, labels: { a: 'b' }, domain: 'x' }, /labelled/],
    ['has labels and a password', { forwardTo: 1, labels: { a: 'b' }, basicAuth: ['a:b'] }, /labelled/],
    ['has labels and a module', { forwardTo: 1, labels: { a: 'b' }, compression: true }, /"Compression"/],
    ['has a circuit breaker of no number', { forwardTo: 1, circuitBreaker: NaN }, /from 0 to 1/],
    ['has a circuit breaker above one', { forwardTo: 1, circuitBreaker: 50 }, /from 0 to 1/],
    [
      'names a key as an authority',
      { forwardTo: 1, mutualTlsCas: '-----BEGIN PRIVATE KEY-----\nhunter2' },
      /not certificates in PEM/,
    ],
    ['ends TLS that is not its own', { forwardTo: 1, terminate: { crt: 'x', key: 'y' } }, /type tls/],
  ]
  for (const [name, options, message] of bad) {
    test(`is refused when it ${name}`, () => {
      assert.throws(
        () => readEndpoint(options),
        (error: Error & { code?: string; permanent?: boolean }) =>
          error.code === 'ERR_ADIT_90088' &&
          error.permanent === true &&
          message.test(error.message) &&
          // A secret in the options is not repeated.
          !error.message.includes('hunter2'),
      )
    })
  }
})
