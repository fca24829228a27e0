import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { ErrorName } from '#base/errors.ts'
import { newId } from '#base/ids.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { assertRefusal, changesNothing, send } from './rejection-support.ts'

const json = 'Content-Type: application/json'

const contentTypes: Readonly<Record<string, [headers: string[], refusal: ErrorName]>> = {
  'without a content type': [[], 'no_content_type'],
  'with an empty content type': [['Content-Type:'], 'content_type'],
  'as text': [['Content-Type: text/plain'], 'content_type'],
  'as a form': [['Content-Type: application/x-www-form-urlencoded'], 'content_type'],
  'as parts': [['Content-Type: multipart/form-data; boundary=x'], 'content_type'],
  'as another kind of JSON': [['Content-Type: application/problem+json'], 'content_type'],
  'as merge patch': [['Content-Type: application/merge-patch+json'], 'content_type'],
  'as anything': [['Content-Type: */*'], 'content_type'],
  'in Latin-1': [[`${json};charset=latin1`], 'content_type'],
  'in UTF-16': [[`${json}; charset=utf-16`], 'content_type'],
  'in upper case': [['Content-Type: Application/JSON'], 'content_type'],
  'with a tab inside': [['Content-Type: application/json\t;charset=utf-8'], 'content_type'],
  'with a space before the semicolon': [[`${json} ; charset=utf-8`], 'content_type'],
  'with two spaces': [[`${json};  charset=utf-8`], 'content_type'],
  'with a quoted charset': [[`${json}; charset="utf-8"`], 'content_type'],
  'with a bare semicolon': [[`${json};`], 'content_type'],
  'with more parameters': [[`${json}; charset=utf-8; version=2`], 'content_type'],
  'with a list of types': [[`${json}, text/plain`], 'content_type'],
  'with a suffix': [['Content-Type: application/jsonx'], 'content_type'],
  'with two content types': [[json, 'Content-Type: text/plain'], 'content_type'],
  'with the same content type twice': [[json, json], 'content_type'],
  'with no content type that parses': [['Content-Type: ;;;'], 'content_type'],
  'in a content coding': [[json, 'Content-Encoding: gzip'], 'content_type'],
}

const queries: Readonly<Record<string, [refusal: ErrorName, said: RegExp]>> = {
  'limit=0': ['page_size_range', /between 1 and 100; "0"/],
  'limit=101': ['page_size_range', /between 1 and 100; "101"/],
  'limit=-1': ['page_size_range', /"-1"/],
  'limit=999999999': ['page_size_range', /"999999999"/],
  'limit=99999999999999999999': ['page_size_number', /whole number/],
  'limit=': ['page_size_number', /whole number; ""/],
  limit: ['page_size_number', /whole number; ""/],
  'limit=abc': ['page_size_number', /"abc"/],
  'limit=1e2': ['page_size_number', /"1e2"/],
  'limit=0x10': ['page_size_number', /"0x10"/],
  'limit=1.5': ['page_size_number', /"1.5"/],
  'limit=+5': ['page_size_number', /" 5"/],
  'limit=%D9%A3': ['page_size_number', /"٣"/],
  'limit=1&limit=2': ['repeated_parameter', /"limit" was given more than once/],
  'limit=1&before_id=x&limit=1': ['repeated_parameter', /"limit"/],
  'before_id=': ['id_prefix', /starts with "ipp_"/],
  'before_id=12': ['id_prefix', /starts with "ipp_"/],
  'before_id=ipp_short': ['id_prefix', /starts with "ipp_"/],
  [`before_id=${newId('ak')}`]: ['id_prefix', /starts with "ipp_"/],
  [`before_id=${newId('ipp')}%00`]: ['id_prefix', /starts with "ipp_"/],
  'colour=red': ['unknown_parameter', /"colour"\. Supported: before_id, limit/],
  'Limit=1': ['unknown_parameter', /"Limit"/],
  'limit[]=1': ['unknown_parameter', /"limit\[\]"/],
  'limit%00=1': ['unknown_parameter', /Supported/],
  __proto__: ['unknown_parameter', /"__proto__"/],
  'limit=%': ['bad_query', /two hexadecimal digits/],
  'limit=%zz': ['bad_query', /two hexadecimal digits/],
  'limit=1&%': ['bad_query', /two hexadecimal digits/],
  '?limit=1': ['unknown_parameter', /"\?limit"/],
}

const versions = [
  '1',
  '3',
  '0',
  '',
  '2.0',
  '02',
  'two',
  'v2',
  '2, 2',
  '２'.normalize('NFKC') + ';',
  'x'.repeat(500),
]

suite('a call', () => {
  let server: TestServer
  before(async () => {
    server = await startServer()
    await server.api.post('/ip_policies')
  })
  after(() => server[Symbol.asyncDispose]())

  for (const [what, [headers, refusal]] of Object.entries(contentTypes)) {
    test(`${what} is refused`, () =>
      changesNothing(server, async () => {
        for (const line of ['POST /ip_policies HTTP/1.1', `PATCH /ip_policies/${newId('ipp')} HTTP/1.1`]) {
          const answer = await send(server.api, {
            line,
            headers: [...headers, 'Content-Length: 2'],
            body: '{}',
          })
          assertRefusal(answer, refusal)
        }
      }))
  }

  test('may name the charset that JSON has', async () => {
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
    ]) {
      const { status } = await server.api.post('/ip_policies', {}, { headers: { 'content-type': type } })
      assert.equal(status, 201, type)
    }
  })

  for (const [query, [refusal, said]] of Object.entries(queries)) {
    test(`with the query ?${query} is refused`, async () => {
      const line = `GET /ip_policies?${query} HTTP/1.1`
      assertRefusal(await send(server.api, { line }), refusal, said)
    })
  }

  test('with a parameter is refused where there is none', () =>
    changesNothing(server, async () => {
      for (const call of [
        server.api.post('/ip_policies?limit=1'),
        server.api.get(`/ip_policies/${newId('ipp')}?limit=1`),
        server.api.delete(`/ip_policies/${newId('ipp')}?force=true`),
      ])
        assertRefusal(await call, 'unknown_parameter', /Supported: none/)
    }))

  for (const name of ['Service-Version', 'Adit-Version', 'Ngrok-Version']) {
    test(`may ask for version 2 by ${name}, and for no other`, () =>
      changesNothing(server, async () => {
        const of = (version: string) =>
          server.api.post('/ip_policies?', { x: 1 }, { headers: { [name]: version } })
        const brand = name === 'Ngrok-Version' ? 'NGROK' : 'ADIT'
        for (const version of versions) {
          const { status, body, headers } = await of(version)
          assert.deepEqual([status, body.error_code], [400, `ERR_${brand}_217`], version)
          assert.match(body.msg, /Supported versions: 2\.$/)
          assert.equal(headers.get('adit-operation-id'), body.details.operation_id)
        }
        // Refused for its field: so its version was not.
        assert.equal((await of('2')).body.error_code, `ERR_${brand}_214`)
      }))
  }

  test('means version 2 when it names none, and must agree in all three names', async () => {
    assert.equal((await server.api.get('/ip_policies')).status, 200)
    const headers = { 'Service-Version': '2', 'Adit-Version': '2', 'Ngrok-Version': '2' }
    assert.equal((await server.api.get('/ip_policies', { headers })).status, 200)
    assertRefusal(
      await server.api.get('/ip_policies', { headers: { 'Service-Version': '2', 'Adit-Version': '1' } }),
      'bad_version',
      /"1" is not supported/,
    )
  })
})
