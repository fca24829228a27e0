import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { trafficFields } from '#contract/events/traffic-fields.ts'
import { Fields } from '#http/fields.ts'
import { noBody } from '#http/body.ts'
import { RequestContext } from '#http/request-context.ts'
import { headersText } from '#telemetry/traffic/headers.ts'
import { httpWriter, type SeenRequest } from '#telemetry/traffic/http-fields.ts'
import { rfc3339 } from '#telemetry/traffic/time.ts'
import { type SeenConnection, tcpWriter } from '#telemetry/traffic/tcp-fields.ts'
import { allHttp, allTcp } from './support.ts'
import { httpClient, requestHead } from '../../support/records.ts'

/** A request that met every module, and of which everything is known. */
function wholeRequest(): SeenRequest {
  const context = new RequestContext()
  const modules = [
    'ip_restriction',
    'webhook_verification',
    'basic_auth',
    'oauth',
    'compression',
    'circuit_breaker',
  ]
  context.routing.route = { edgeId: 'e', routeId: 'r', modules }
  context.routing.modulesPassed = modules.length
  context.telemetry.respondedAt = context.begun + 1
  context.signIn.identity = { id: 'u1', username: 'ann', email: 'ann@a.test', name: 'Ann "A" \u{1F600}\\' }
  context.signIn.appClientId = 'app'
  context.modules.username = 'ann'
  context.modules.compressed = { coding: 'gzip', saved: 7 }
  context.upstream.reused = true
  return {
    client: httpClient({
      localPort: 443,
      scheme: 'https',
      serverName: 'a.test',
      since: 0,
      ja4: 't13',
      tls: { version: 'TLSv1.3', cipher: 'C' },
      certificate: {
        commonName: 'ann',
        dnsNames: [],
        emails: [],
        serialNumber: '0a',
        scope: 's',
        authorities: '',
        chain: [],
      },
    }),
    head: requestHead('/p?q', {
      host: 'a.test',
      authority: 'a.test',
      fields: new Fields('User-Agent: x\r\n'),
    }),
    reply: {
      head: { status: 200, reason: '', framing: { kind: 'none' }, fields: Fields.none },
      body: noBody,
    },
    context,
    ended: context.begun + 2,
  }
}

const connection: SeenConnection = {
  client: {
    ip: '192.0.2.1',
    port: 1,
    localIp: '192.0.2.2',
    localPort: 443,
    serverName: undefined,
    ja4: 't13',
  },
  begun: 0,
  ended: 1,
  received: 1,
  sent: 2,
  decision: 'allow',
}

const typesOf = {
  text: 'string',
  number: 'number',
  yes_no: 'boolean',
  moment: 'string',
  headers: 'object',
  lines: 'object',
} as const

/** The value at a dotted name; every object on the way has only that field. */
function only(text: string, name: string): unknown {
  return name.split('.').reduce<unknown>((value, part) => {
    assert.deepEqual(Object.keys(value as object), [part], name)
    return (value as Record<string, unknown>)[part]
  }, JSON.parse(text))
}

suite('the writer of an event', () => {
  test('writes each field, at its place and of its type, and no other', () => {
    const seen = wholeRequest()
    for (const name of allHttp) {
      const { type } = trafficFields['http_request_complete.v0'][name]
      assert.equal(typeof only(httpWriter([name])(seen, ''), name), typesOf[type], name)
    }
    for (const name of allTcp) {
      const { type } = trafficFields['tcp_connection_closed.v0'][name]
      assert.equal(typeof only(tcpWriter([name])(connection, ''), name), typesOf[type], name)
    }
  })

  test('writes exactly the selected fields', () => {
    const seen = wholeRequest()
    const leaves = (value: object, above = ''): string[] =>
      Object.entries(value).flatMap(([name, inner]) =>
        allHttp.some(field => field === above + name)
          ? [above + name]
          : leaves(inner as object, `${above}${name}.`),
      )
    fc.assert(
      fc.property(fc.subarray(allHttp), wanted => {
        const reported = JSON.parse(httpWriter(wanted)(seen, '')) as object
        assert.deepEqual(leaves(reported).toSorted(), wanted.toSorted())
      }),
    )
  })

  test('writes the own values of each request of a connection', () => {
    const { client, head, reply, context } = wholeRequest()
    const requests = fc.record({
      method: fc.constantFrom('GET', 'PUT'),
      path: fc.constantFrom('/', '/a', '/"\u{fc}', '/"', '/\\', `/${'x'.repeat(2000)}`),
      status: fc.constantFrom(200, 404),
      username: fc.constantFrom(undefined, 'ann', 'bob'),
      isReadable: fc.boolean(),
      other: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.subarray(allHttp), fc.array(requests), (wanted, asked) => {
        const write = httpWriter(wanted)
        const clients = [client, { ...client, ip: '192.0.2.9' }] as const
        for (const { method, path, status, username, isReadable, other } of asked) {
          const seen: SeenRequest = {
            client: clients[other ? 1 : 0],
            head: isReadable && head ? { ...head, method, path, target: path } : undefined,
            reply: { ...reply, head: { ...reply.head, status } },
            context: Object.assign(new RequestContext(), context, { username }),
            ended: context.begun + 2,
          }
          // One that has written nothing before.
          assert.equal(write(seen, 'so: '), `so: ${httpWriter(wanted)(seen, '')}`)
        }
      }),
    )
  })

  test('leaves out what is not known, and objects of which nothing is', () => {
    const { client, reply } = wholeRequest()
    const { ip, port, localIp, localPort, scheme } = client
    const bare = { client: { ip, port, localIp, localPort, scheme, serverName: undefined }, head: undefined }
    const reported = httpWriter(allHttp)({ ...bare, reply, context: new RequestContext(), ended: 0 }, '')
    const { conn, http, traffic_policy: policy, ...rest } = JSON.parse(reported) as Record<string, object>
    assert.deepEqual(rest, {})
    assert.deepEqual(policy, { logs: [] })
    assert.deepEqual(conn, { client_ip: ip, server_ip: localIp, server_name: '', server_port: localPort })
    assert.deepEqual(Object.keys((http as { request: object }).request).toSorted(), [
      'first_byte_ts',
      'last_byte_ts',
      'url',
    ])
    assert.equal(
      httpWriter(['tls.version'])({ ...bare, reply, context: new RequestContext(), ended: 0 }, ''),
      '{}',
    )
  })

  test('reports a module that runs twice as blocking when the second one blocks', () => {
    const seen = wholeRequest()
    const { context } = seen
    const decision = (): unknown => JSON.parse(httpWriter(['ip_policy.decision'])(seen, ''))
    context.routing.route = {
      edgeId: undefined,
      routeId: undefined,
      modules: ['ip_restriction', 'ip_restriction', 'oauth'],
    }
    context.routing.modulesPassed = 1
    assert.deepEqual(decision(), { ip_policy: { decision: 'block' } })
    context.routing.modulesPassed = 2
    assert.deepEqual(decision(), { ip_policy: { decision: 'allow' } })
    context.routing.route = { edgeId: undefined, routeId: undefined, modules: ['oauth', 'ip_restriction'] }
    context.routing.modulesPassed = 0
    assert.deepEqual(decision(), {})
  })

  test('writes times in RFC 3339', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 4e12, noNaN: true }), ms => {
        assert.equal(rfc3339(ms), new Date(Math.floor(ms)).toISOString())
      }),
    )
  })

  test('does not confuse field names with its own', () => {
    const text = headersText(new Fields('__proto__: a\r\nconstructor: b\r\n__PROTO__: c\r\n'))
    assert.equal(text, '{"__proto__":["a","c"],"constructor":["b"]}')
    assert.equal(headersText(Fields.none), '{}')
  })

  test('masks the values of credentials, and of no other common field', () => {
    const hidden =
      'authorization proxy-authorization cookie set-cookie x-api-key apikey api-key x-auth-token x-access-token ' +
      'x-csrf-token x-xsrf-token x-session-id x-password x-client-secret x-gitlab-token x-hub-signature-256 ' +
      'x-amz-security-token x-goog-iap-jwt-assertion stripe-signature x-functions-key ocp-apim-subscription-key ' +
      'x-forwarded-access-token authentication-info'
    const shown =
      'accept accept-encoding content-type content-disposition etag host origin referer location user-agent vary ' +
      'x-request-id x-forwarded-for traceparent www-authenticate sec-websocket-key sec-fetch-mode cache-control'
    const valueOf = (name: string): unknown => JSON.parse(headersText(new Fields(`${name}: v\r\n`)))[name]
    for (const name of hidden.split(' ')) assert.deepEqual(valueOf(name), ['REDACTED'], name)
    for (const name of shown.split(' ')) assert.deepEqual(valueOf(name), ['v'], name)
  })
})
