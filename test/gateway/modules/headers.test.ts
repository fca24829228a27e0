import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Exchange, Handler, Reply } from '#http/exchange.ts'
import { noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { requestHeadersModule, responseHeadersModule } from '#gateway/modules/headers.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import { parts, optionsOf, request } from './support.ts'

interface Headers {
  readonly add?: Record<string, string>
  readonly remove?: string[]
}

const build = (module: HttpModule, { add = {}, remove = [] }: Headers): Handler =>
  module.fromRecord({ enabled: true, add, remove }, { id: 'edghtsrt_1' }, parts)

/** What the service is sent. */
async function sent(headers: Headers, exchange = request()): Promise<RequestHead> {
  let head: RequestHead | undefined
  await build(requestHeadersModule, headers)(exchange, async passed => {
    head = passed.head
    return answer('')
  })
  assert.ok(head)
  return head
}

const answer = (fields: string): Reply => ({
  head: { status: 207, reason: '', framing: noBody.framing, fields: new Fields(fields) },
  body: noBody,
})

/** What the client is sent. */
const received = async (headers: Headers, fields = '', exchange = request()): Promise<Fields> =>
  (await build(responseHeadersModule, headers)(exchange, async () => answer(fields))).head.fields

suite('request headers of a record', () => {
  test('are added in lower case and replace those of the client', async () => {
    const { fields } = await sent(
      { add: { 'X-Role': 'user', other: 'a' }, remove: ['Cookie', 'x-gone'] },
      request('X-ROLE: admin\r\nx-role: root\r\ncookie: 1\r\nCOOKIE: 2\r\nAccept: *\r\n'),
    )
    assert.equal(fields.text, 'Accept: *\r\nx-role: user\r\nother: a\r\n')
  })

  test('may set another Host', async () => {
    const head = await sent({ add: { Host: 'inner.test:81', a: 'b' }, remove: ['host'] })
    assert.equal(head.upstreamHost, 'inner.test:81')
    assert.equal(head.host, 'app.test')
    assert.equal(head.fields.text, 'a: b\r\n')
  })

  test('may contain any text, as UTF-8', async () => {
    const { fields } = await sent({ add: { a: 'ö€' } })
    assert.equal(Buffer.from(fields.get('a') ?? '', 'latin1').toString('utf8'), 'ö€')
  })
})

suite('response headers of a record', () => {
  test('are added to those of the service', async () => {
    const fields = await received(
      { add: { 'Set-Cookie': 'b=2' }, remove: ['SERVER'] },
      'Set-Cookie: a=1\r\nserver: x\r\n',
    )
    assert.deepEqual(fields.all('set-cookie'), ['a=1', 'b=2'])
    assert.equal(fields.get('server'), undefined)
  })

  test('may contain the status', async () => {
    const fields = await received({ add: { a: 'status ${.http.response.status_code}!' } })
    assert.equal(fields.get('a'), 'status 207!')
  })
})

suite('fields that are repeated as one object', () => {
  test('are changed by each of several records as by the first', async () => {
    const exchange = request('x-a: 1\r\nx-b: 2\r\n')
    const handlers = ['x-a', 'x-b', 'x-c', 'x-d', 'x-e', 'x-f'].map(name =>
      build(requestHeadersModule, { add: { [name]: '${.http.request_id}' }, remove: ['x-a'] }),
    )
    const texts = async (): Promise<string[]> => {
      const all: string[] = []
      const service = async ({ head }: Exchange): Promise<Reply> => {
        all.push(head.fields.text)
        return answer('')
      }
      for (const handler of handlers) await handler(exchange, service)
      return all
    }
    const first = await texts()
    assert.equal(first[0], `x-b: 2\r\nx-a: ${exchange.context.id}\r\n`)
    assert.equal(first[1], `x-b: ${exchange.context.id}\r\n`)
    assert.deepEqual(await texts(), first)
  })

  test('of a service become one changed head, and another one with another status', async () => {
    const handler = build(responseHeadersModule, { add: { a: 'b' }, remove: ['server'] })
    const reply = answer('server: x\r\n')
    const changed = async (of: Reply) => (await handler(request(), async () => of)).head
    const [one, again] = [await changed(reply), await changed({ ...reply })]
    assert.equal(one, again)
    const other = await changed({ ...reply, head: { ...reply.head, status: 404 } })
    assert.deepEqual([one.status, other.status], [207, 404])
    assert.equal(other.fields.text, 'a: b\r\n')
  })

  test('of a service get the variables of each request', async () => {
    const handler = build(responseHeadersModule, { add: { id: '${.http.request_id}' } })
    const reply = answer('server: x\r\n')
    for (const exchange of [request(), request()]) {
      const { head } = await handler(exchange, async () => reply)
      assert.equal(head.fields.text, `server: x\r\nid: ${exchange.context.id}\r\n`)
    }
  })
})

suite('variables', () => {
  const exchange = {
    ...request('User-Agent: curl/8\r\n'),
    client: { ...request().client, scheme: 'https', serverName: 'sni.test' },
  } as Exchange
  for (const [variable, value] of Object.entries({
    'conn.client_ip': '203.0.113.7',
    'conn.client_port': '50000',
    'conn.server_ip': '127.0.0.1',
    'conn.server_port': '80',
    'conn.server_name': 'sni.test',
    'tls.sni': 'sni.test',
    'tls.version': '',
    'tls.client_cert.subject.cn': '',
    'http.request_id': exchange.context.id,
    'ngrok.request_id': exchange.context.id,
    'ngrok.client_ip': '203.0.113.7',
    'http.request.method': 'GET',
    'http.request.url.host': 'app.test',
    'http.request.url.path': '/a',
    'http.request.url.query': 'b',
    'http.request.url.raw': 'https://app.test:8080/a?b',
    'http.request.url.scheme': 'https',
    'http.request.user_agent': 'curl/8',
    'http.request.version': 'HTTP/1.1',
    'oauth.user.email': '',
  })) {
    test(`expand ${variable}, with and without the first dot`, async () => {
      const add = { a: `<\${.${variable}}|\${${variable}}>` }
      assert.equal((await sent({ add }, exchange)).fields.get('a'), `<${value}|${value}>`)
      assert.equal((await received({ add }, '', exchange)).get('a'), `<${value}|${value}>`)
    })
  }

  test('contain the signed-in user and the client certificate', async () => {
    const known = request()
    Object.assign(known.context, { identity: { id: '7', username: 'u', email: 'ö@a.test', name: 'Ö' } })
    const proof = { scope: '', authorities: '', chain: [] }
    const certificate = { commonName: 'cn', dnsNames: [], emails: [], serialNumber: '0a', ...proof }
    const signedIn = { ...known, client: { ...known.client, certificate } }
    const add = {
      a: '${oauth.user.id} ${oauth.user.email} ${oauth.user.name}',
      b: '${tls.client_cert.subject.cn} ${tls.client_cert.serial_number}',
    }
    const { fields } = await sent({ add }, signedIn)
    assert.equal(Buffer.from(fields.get('a') ?? '', 'latin1').toString(), '7 ö@a.test Ö')
    assert.equal(fields.get('b'), 'cn 0a')
  })

  test('cannot inject CR or LF, not even by characters that are converted on the wire', async () => {
    const known = request()
    // Written byte by byte, U+010D and U+010A are a carriage return and a line feed.
    const name = 'a\r\nx-evil: 1\u010d\u010ax-evil: 2\0\x7f\u{1f600}'
    Object.assign(known.context, { identity: { id: name, username: '', email: name, name } })
    const { fields } = await sent({ add: { a: '[${oauth.user.name}]' } }, known)
    const wire = Buffer.from(fields.text, 'latin1').toString('latin1')
    assert.match(wire, /^a: \[[^\r\n\0]*\]\r\n$/)
    const sni = { ...known, client: { ...known.client, serverName: '\u010d\u010ax-evil: 3' } }
    const other = await sent({ add: { a: '[${tls.sni}]' } }, sni)
    assert.equal(other.fields.text, 'a: [x-evil: 3]\r\n')
  })

  test('have a bounded length', async () => {
    const long = request()
    const head = { ...long.head, path: `/${'a'.repeat(20_000)}` }
    const { fields } = await sent({ add: { a: '${http.request.url.path}' } }, { ...long, head })
    assert.equal(fields.get('a')?.length, 4096)
  })

  test('leave a dollar sign alone that starts no variable', async () => {
    assert.equal((await sent({ add: { a: '$5 $$ {x} $' } })).fields.get('a'), '$5 $$ {x} $')
  })
})

suite('header modules cannot be compiled', () => {
  const both = [requestHeadersModule, responseHeadersModule]
  for (const [modules, headers] of [
    [both, { add: { a: '${.no.such}' } }],
    [both, { add: { a: '${toString}' } }],
    [both, { add: { a: '${.conn.geo.country_code}' } }],
    [both, { add: { a: '${.conn.client_ip' } }],
    [both, { add: { a: '${}' } }],
    [both, { add: { a: 'x\r\ny: z' } }],
    [both, { add: { 'a b': 'x' } }],
    [both, { add: { 'x-forwarded-for': 'x' } }],
    [both, { remove: ['Forwarded'] }],
    [both, { add: { 'adit-request-id': 'x' } }],
    [both, { add: { 'content-length': '1' } }],
    [[requestHeadersModule], { add: { a: '${.http.response.status_code}' } }],
    [[requestHeadersModule], { add: { host: '${.tls.sni}' } }],
    [[requestHeadersModule], { remove: ['host'] }],
    [[responseHeadersModule], { add: { host: 'a.test' } }],
  ] as const) {
    for (const module of modules) {
      test(`${module.name} with ${JSON.stringify(headers)}`, () => {
        assert.throws(() => build(module, headers as Headers), { code: 'module_unusable', status: 503 })
      })
    }
  }

  test('for an agent with an unknown variable', () => {
    const given = optionsOf({ RequestHeaders: { add: ['a:${.no.such}'] } })
    assert.throws(() => requestHeadersModule.fromAgent?.build(given, { id: 'tn_1' }, parts), {
      code: 'bind_option',
    })
  })
})

test('an agent may use variables too', async () => {
  const given = optionsOf({ ResponseHeaders: { add: ['x-ip: ${.conn.client_ip}'] } })
  const handler = responseHeadersModule.fromAgent?.build(given, { id: 'tn_1' }, parts)
  const reply = await handler?.(request(), async () => answer(''))
  assert.equal(reply?.head.fields.get('x-ip'), '203.0.113.7')
})
