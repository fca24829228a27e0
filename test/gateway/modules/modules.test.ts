import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Exchange } from '#http/exchange.ts'
import { connectionFilter } from '#gateway/modules/index.ts'
import { agentModules } from '#tunnel/agent-modules.ts'
import { optionsOf, request, sendThrough, tunnelModules } from './support.ts'

const basic = (text: string): Exchange =>
  request(`Authorization: Basic ${Buffer.from(text).toString('base64')}\r\nX-Other: 1\r\n`)

const passwords = {
  BasicAuth: {
    credentials: [
      { username: 'ann', cleartext_password: 'pass:word' },
      { username: 'bö', cleartext_password: 'ключ' },
    ],
  },
}

suite('a tunnel without options', () => {
  test('has no modules and no overhead', () => {
    assert.deepEqual(tunnelModules(optionsOf({})), [])
  })
})

suite('a module that agents can request', () => {
  for (const name of Object.keys(agentModules))
    test(`is compiled or refused, never ignored: ${name}`, () => {
      try {
        assert.equal(tunnelModules(optionsOf({ [name]: {} })).length, 1)
      } catch (error) {
        assert.match(String(error), new RegExp(`option ${name} cannot be used`))
      }
    })
})

suite('basic auth', () => {
  for (const text of ['ann:pass:word', 'bö:ключ']) {
    test(`lets ${text} through and keeps the password from the service`, async () => {
      const { reply, sent } = await sendThrough(passwords, basic(text))
      assert.equal(reply.head.status, 200)
      assert.equal(sent?.fields.get('authorization'), undefined)
      assert.equal(sent?.fields.get('x-other'), '1')
    })
  }

  test('takes the scheme in any case, and the option of old agents', async () => {
    const encoded = Buffer.from('u:p:q').toString('base64')
    const { reply } = await sendThrough({ Auth: 'u:p:q' }, request(`authorization: bAsIc ${encoded}\r\n`))
    assert.equal(reply.head.status, 200)
  })

  const good = Buffer.from('ann:pass:word').toString('base64')
  for (const [why, exchange] of Object.entries({
    'no credentials': request(),
    'a wrong password': basic('ann:pass:wor'),
    'the password of another user': basic('bö:pass:word'),
    'an empty password': basic('ann:'),
    'a user alone': basic('ann'),
    'another scheme': request(`Authorization: Bearer ${good}\r\n`),
    'two fields, one of them right': request(
      `Authorization: Basic ${good}\r\nauthorization: Basic ${Buffer.from('x:y').toString('base64')}\r\n`,
    ),
    'characters that are not base64': request(`Authorization: Basic ${good}!\r\n`),
    'credentials without end': request(`Authorization: Basic ${'A'.repeat(30_000)}\r\n`),
  })) {
    test(`responds with 401 to ${why}`, async () => {
      const { reply, sent } = await sendThrough(passwords, exchange)
      assert.equal(reply.head.status, 401)
      assert.equal(reply.head.fields.get('www-authenticate'), 'Basic realm="app.test", charset="UTF-8"')
      assert.equal(sent, undefined)
    })
  }
})

suite('ip restriction', () => {
  const allow = { IPRestriction: { allow_cidrs: ['203.0.113.0/24', '2001:db8::/32'] } }
  const deny = { IPRestriction: { deny_cidrs: ['203.0.113.7/32'] } }
  const both = { IPRestriction: { allow_cidrs: ['203.0.113.0/24'], deny_cidrs: ['203.0.113.7/32'] } }
  for (const [name, options, ip, status] of [
    ['an allowed address', allow, '203.0.113.7', 200],
    ['an allowed address of IPv6', allow, '2001:db8::1', 200],
    ['an allowed address written as IPv6', allow, '::ffff:203.0.113.7', 200],
    ['an address in no range', allow, '198.51.100.1', 403],
    ['an address of the other family', allow, '::1', 403],
    ['a denied address', deny, '203.0.113.7', 403],
    ['a denied address written as IPv6', deny, '::ffff:203.0.113.7', 403],
    ['any other address where some are denied', deny, '::1', 200],
    ['an address both allowed and denied', both, '203.0.113.7', 403],
    ['a neighbour of it', both, '203.0.113.8', 200],
    ['what is no address', deny, 'nonsense', 403],
  ] as const) {
    test(`answers ${status} to ${name}`, async () => {
      const { reply, sent } = await sendThrough(options, request('', ip))
      assert.equal(reply.head.status, status)
      assert.equal(sent !== undefined, status === 200)
      assert.equal(connectionFilter(optionsOf(options))(ip), status === 200)
    })
  }

  test('is checked before basic auth', async () => {
    const { reply } = await sendThrough({ ...passwords, ...deny }, basic('ann:pass:word'))
    assert.equal(reply.head.status, 403)
  })
})

suite('request headers', () => {
  test('are added, replaced and removed', async () => {
    const change = {
      add: ['X-Role: user', 'x-two:a', 'X-Two:b', 'x-colon:http://a.test:80/'],
      addParsed: { 'x-parsed': 'p', 'x-role': 'user' },
      remove: ['X-Secret'],
    }
    const claimed = 'X-Role: admin\r\nx-secret: 1\r\nX-SECRET: 2\r\nCookie: c\r\n'
    const { sent } = await sendThrough({ RequestHeaders: change }, request(claimed))
    assert.deepEqual(sent?.fields.all('x-role'), ['user'])
    assert.deepEqual(sent?.fields.all('x-two'), ['a', 'b'])
    assert.equal(sent?.fields.get('x-colon'), 'http://a.test:80/')
    assert.equal(sent?.fields.get('x-parsed'), 'p')
    assert.equal(sent?.fields.get('x-secret'), undefined)
    assert.equal(sent?.fields.get('cookie'), 'c')
  })

  test('may set another Host for the service, while the requested name is kept', async () => {
    const { sent } = await sendThrough({ RequestHeaders: { add: ['host:inner.test:81'], remove: ['host'] } })
    assert.equal(sent?.upstreamHost, 'inner.test:81')
    assert.equal(sent?.authority, 'app.test:8080')
    assert.equal(sent?.host, 'app.test')
    assert.equal(sent?.fields.get('host'), undefined)
  })

  test('do not change the request for other handlers', async () => {
    const exchange = request('X-Secret: 1\r\n')
    await sendThrough({ RequestHeaders: { remove: ['x-secret'] } }, exchange)
    assert.equal(exchange.head.fields.get('x-secret'), '1')
  })
})

suite('response headers', () => {
  test('are added to those of the service and removed', async () => {
    const change = { add: ['Set-Cookie: b=2'], remove: ['Server'] }
    const { reply } = await sendThrough(
      { ResponseHeaders: change },
      request(),
      'Set-Cookie: a=1\r\nserver: x\r\n',
    )
    assert.deepEqual(reply.head.fields.all('set-cookie'), ['a=1', 'b=2'])
    assert.equal(reply.head.fields.get('server'), undefined)
    assert.equal(reply.head.status, 200)
  })

  test('do not change refusals of the gateway', async () => {
    const { reply } = await sendThrough({ ...passwords, ResponseHeaders: { remove: ['www-authenticate'] } })
    assert.match(reply.head.fields.get('www-authenticate') ?? '', /^Basic/)
  })
})

const headers = (change: object) => [{ RequestHeaders: change }, { ResponseHeaders: change }]

suite('a bind is refused', () => {
  const framing =
    'Connection Content-Length Keep-Alive Proxy-Connection TE Trailer Transfer-Encoding Upgrade ' +
    'Forwarded X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto'
  for (const options of [
    ...framing
      .split(' ')
      .flatMap(name => [
        ...headers({ add: [`${name}: 1`] }),
        ...headers({ addParsed: { [name]: '1' } }),
        ...headers({ remove: [name] }),
      ]),
    ...headers({ add: ['a:b\r\nc:d'] }),
    ...headers({ addParsed: { a: 'b\nc' } }),
    ...headers({ addParsed: { a: 'b\0' } }),
    ...headers({ addParsed: { a: '\u20ac' } }),
    ...headers({ addParsed: { 'a\r\nb': 'c' } }),
    ...headers({ add: ['nameless'] }),
    ...headers({ add: [':value'] }),
    ...headers({ remove: ['a b'] }),
    ...headers({ remove: 'a' }),
    ...headers({ add: Array(101).fill('a:b') }),
    { RequestHeaders: { remove: ['Host'] } },
    { RequestHeaders: { add: ['host:a', 'host:b'] } },
    { RequestHeaders: { add: ['host:a b'] } },
    { RequestHeaders: { add: ['host:'] } },
    { ResponseHeaders: { add: ['host:a'] } },
    { ResponseHeaders: { remove: ['host'] } },
    { IPRestriction: {} },
    { IPRestriction: { allow_cidrs: ['10.0.0.0'] } },
    { IPRestriction: { deny_cidrs: ['10.0.0.0/8', 'nonsense/8'] } },
    { IPRestriction: { allow_cidrs: '10.0.0.0/8' } },
    { BasicAuth: {} },
    { BasicAuth: { credentials: [{ username: 'a', hashed_password: 'aGFzaA==' }] } },
    { BasicAuth: { credentials: [{ username: 'a', cleartext_password: 'b', hashed_password: 'aGFzaA==' }] } },
    { BasicAuth: { credentials: [{ username: 'a' }] } },
    { BasicAuth: { credentials: [{ username: '', cleartext_password: 'b' }] } },
    { BasicAuth: { credentials: [{ username: 'a:b', cleartext_password: 'c' }] } },
    { BasicAuth: { credentials: [{ username: 'a', cleartext_password: 'b\n' }] } },
    { BasicAuth: { credentials: 'a:b' } },
    { Auth: 'nocolon' },
    { Auth: 'user:' },
    ...'WebhookVerification OAuth OIDC Policy'.split(' ').map(option => ({ [option]: {} })),
    { TrafficPolicy: '{"on_http_request":[]}' },
  ]) {
    test(`with ${JSON.stringify(options).slice(0, 100)}`, () => {
      const [option = ''] = Object.keys(options)
      assert.throws(() => tunnelModules(optionsOf(options)), {
        code: 'bind_option',
        status: 400,
        message: new RegExp(`^The option ${option} cannot be used: .*\\.$`, 's'),
      })
    })
  }

  test('on TCP too when it requests a policy', () => {
    const refused = { code: 'bind_option' }
    assert.throws(() => connectionFilter(optionsOf({ TrafficPolicy: 'on_tcp_connect: []' })), refused)
    assert.throws(() => connectionFilter(optionsOf({ IPRestriction: {} })), refused)
    assert.equal(connectionFilter(optionsOf({}))('192.0.2.1'), true)
  })
})
