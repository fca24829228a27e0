import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { startServer, type TestServer } from '../support/server.ts'
import {
  assertRefusal,
  assertRefused,
  changesNothing,
  exchange,
  readAnswer,
  send,
  type RawRequest,
} from './rejection-support.ts'

const line = 'POST /ip_policies HTTP/1.1'
const json = 'Content-Type: application/json'
const length = 'Content-Length: 2'
const chunked = 'Transfer-Encoding: chunked'
const body = '{}'
const chunks = '2\r\n{}\r\n0\r\n\r\n'

/** Rejected by the HTTP parser itself. */
const unparseable: Readonly<Record<string, RawRequest>> = {
  'a length and chunks': { line, headers: [json, length, chunked], body: chunks },
  'two lengths': { line, headers: [json, length, 'Content-Length: 3'], body },
  'the same length twice': { line, headers: [json, length, length], body },
  'a list of lengths': { line, headers: [json, 'Content-Length: 2, 2'], body },
  'a length with a sign': { line, headers: [json, 'Content-Length: +2'], body },
  'a negative length': { line, headers: [json, 'Content-Length: -2'], body },
  'a length that is no number': { line, headers: [json, 'Content-Length: two'], body },
  'a length beyond counting': { line, headers: [json, 'Content-Length: 99999999999999999999'], body },
  'chunks that are not last': { line, headers: [json, 'Transfer-Encoding: chunked, identity'], body: chunks },
  'chunks twice': { line, headers: [json, chunked, chunked], body: chunks },
  'a chunk of no size': { line, headers: [json, chunked], body: 'zz\r\n{}\r\n0\r\n\r\n' },
  'a chunk of negative size': { line, headers: [json, chunked], body: '-2\r\n{}\r\n0\r\n\r\n' },
  'a space before a colon': { line, headers: [json, 'Content-Length : 2'], body },
  'a folded header': { line, headers: ['Service-Version: 2\r\n X-More: 1', json, length], body },
  'a header without a name': { line, headers: [': x', json, length], body },
  'a bare carriage return': { line, headers: ['Service-Version: 2\rX-More: 1', json, length], body },
  'a bare line feed': { line, headers: ['Service-Version: 2\nX-More: 1', json, length], body },
  'NUL in a header': { line, headers: ['X-More: a\u0000b', json, length], body },
  'a version that HTTP does not have': { line: 'POST /ip_policies HTTP/1.2', headers: [json, length], body },
  'a space in its target': { line: 'POST /ip policies HTTP/1.1', headers: [json, length], body },
}

/** What that parser lets through although two readers could understand it differently. */
const ambiguous: Readonly<Record<string, RawRequest>> = {
  'no version': { line: 'POST /ip_policies', headers: [json, length], body },
  'no host in HTTP/1.0': { line: 'POST /ip_policies HTTP/1.0', host: '', headers: [json, length], body },
  'two hosts': { line, host: 'Host: a', headers: ['Host: b', json, length], body },
  'the same host twice': { line, host: 'Host: a', headers: ['Host: a', json, length], body },
  'an empty host': { line, host: 'Host:', headers: [json, length], body },
  'a host with a user': { line, host: 'Host: a@b', headers: [json, length], body },
  'a host with a path': { line, host: 'Host: a/b', headers: [json, length], body },
  'a host with markup': { line, host: 'Host: "><script>', headers: [json, length], body },
  'a host with a port that is none': { line, host: 'Host: a:http', headers: [json, length], body },
  'a target that names another host': {
    line: 'POST http://other/ip_policies HTTP/1.1',
    headers: [json, length],
    body,
  },
  'a fragment': { line: 'POST /ip_policies#x HTTP/1.1', headers: [json, length], body },
  'a coding before chunks': { line, headers: [json, 'Transfer-Encoding: gzip, chunked'], body: chunks },
  'chunks in HTTP/1.0': { line: 'POST /ip_policies HTTP/1.0', headers: [json, chunked], body: chunks },
}

const strangers: Readonly<Record<string, string | Buffer>> = {
  'a TLS hello': Buffer.from('16030100a5010000a10303', 'hex'),
  'an SSH banner': 'SSH-2.0-OpenSSH_9.7\r\n',
  'a PROXY header': 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\n\r\n',
  'an HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  zeros: Buffer.alloc(64),
  mail: 'EHLO example.com\r\n',
  'a JSON text': '{"method":"GET"}\r\n\r\n',
}

suite('HTTP', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server[Symbol.asyncDispose]())

  for (const [what, request] of Object.entries(unparseable)) {
    test(`with ${what} is refused`, () =>
      changesNothing(server, async () => assertRefused(await send(server.api, request), 'bad_request')))
  }

  for (const [what, request] of Object.entries(ambiguous)) {
    test(`with ${what} is refused`, () =>
      changesNothing(server, async () => assertRefusal(await send(server.api, request), 'bad_request')))
  }

  for (const [what, bytes] of Object.entries(strangers)) {
    test(`is not ${what}: that is refused in the same shape`, async () =>
      assertRefused(readAnswer(await exchange(server.api, bytes)), 'bad_request'))
  }

  test('without a host, or with an unknown expectation, is refused', () =>
    changesNothing(server, async () => {
      assert.equal((await send(server.api, { line, host: '', headers: [json, length], body })).status, 400)
      assert.equal(
        (await send(server.api, { line, headers: [json, length, 'Expect: more'], body })).status,
        417,
      )
    }))

  test('may name the whole address as its target', async () => {
    const target = 'GET http://adit.test/ip_policies HTTP/1.1'
    const { status, body: list } = await send(server.api, { line: target })
    assert.deepEqual([status, list.uri], [200, 'http://adit.test/ip_policies'])
  })

  test('of a body that ends early changes nothing', () =>
    changesNothing(server, async () => {
      const head = `${line}\r\nHost: x\r\nAuthorization: Bearer ${server.api.token}\r\n${json}\r\nContent-Length: 200\r\n\r\n{}`
      assertRefused(readAnswer(await exchange(server.api, head, 'then end')), 'bad_request')
    }))

  test('with too many or too long headers is refused', () =>
    changesNothing(server, async () => {
      for (const more of [
        [`X-Long: ${'a'.repeat(20_000)}`],
        Array.from({ length: 3000 }, (_, index) => `X-${index}: a`),
      ])
        assertRefused(
          await send(server.api, { line, headers: [...more, json, length], body }),
          'headers_too_large',
        )
    }))

  test('does not let a caller write headers of the answer', async () => {
    const headers = { origin: 'https://page.example', 'service-version': '1\tX-Evil: 1' }
    const answer = await server.api.get('/ip_policies', { headers })
    assertRefusal(answer, 'bad_version')
    assert.equal(answer.headers.get('x-evil'), null)
    assertRefusal(await server.api.get('/ip_policies?x%0d%0aX-Evil:1=1'), 'unknown_parameter')
    assertRefusal(await server.api.get('/ip_policies/x%0d%0aX-Evil:1'), 'not_found')
  })

  test('HEAD answers like GET without a body', async () => {
    for (const [path, status] of [
      ['/ip_policies', 200],
      ['/nothing', 404],
      ['/ip_policies?limit=0', 400],
    ] as const) {
      const [head, get] = [await server.api.call('HEAD', path), await server.api.get(path)]
      assert.deepEqual([head.status, get.status, head.body], [status, status, undefined])
      assert.equal(head.headers.get('content-length'), get.headers.get('content-length'))
    }
    assert.equal((await server.api.call('HEAD', '/ip_policies', { token: null })).status, 401)
  })

  test('OPTIONS returns what pages of other origins may send, without a key', async () => {
    const headers = {
      origin: 'https://page.example',
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization, content-type',
    }
    const {
      status,
      headers: said,
      body: none,
    } = await server.api.call('OPTIONS', '/ip_policies/x', { token: null, headers })
    assert.deepEqual([status, none], [204, undefined])
    assert.equal(said.get('access-control-allow-origin'), 'https://page.example')
    assert.equal(said.get('access-control-allow-headers'), 'authorization, content-type')
    assert.match(said.get('access-control-allow-methods') ?? '', /\bPATCH\b/)
    assert.equal(said.get('access-control-allow-credentials'), null)
    assert.equal(said.get('vary'), 'origin')
  })
})
