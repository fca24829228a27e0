import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { startServer, type TestServer } from '../support/server.ts'
import { assertRefusal, changesNothing, send } from './rejection-support.ts'

const LIMIT = 1_048_576
const path = '/ip_policies'

const broken: Readonly<Record<string, string | Buffer>> = {
  'that ends early': '{"description":"a"',
  'that ends inside a text': '{"description":"a',
  'that ends after a backslash': '{"description":"a\\',
  'with a trailing comma': '{"description":"a",}',
  'with two commas': '{"description":"a",,"metadata":"b"}',
  'with NaN': '{"description":NaN}',
  'with Infinity': '{"description":Infinity}',
  'with undefined': '{"description":undefined}',
  'in single quotes': "{'description':'a'}",
  'with a bare key': '{description:"a"}',
  'with a comment': '{"description":"a"/* b */}',
  'with a line break in a text': '{"description":"a\nb"}',
  'with an unknown escape': '{"description":"\\x41"}',
  'with half an escape': '{"description":"\\u00"}',
  'with two values': '{}{}',
  'with text after it': '{} true',
  'of white space': ' \n\t ',
  'that starts with NUL': '\u0000{}',
  'of brackets that do not match': '{"description":["a"}]',
  'in UTF-16': Buffer.from('{"description":"a"}', 'utf16le'),
  'with a byte that is not UTF-8': Buffer.from('{"description":"\xff"}', 'latin1'),
  'with an overlong encoding': Buffer.from('7b226465736372697074696f6e223a22c0af227d', 'hex'),
  'with half a surrogate pair in UTF-8': Buffer.from('7b226465736372697074696f6e223a22eda080227d', 'hex'),
  'with half a surrogate pair as an escape': '{"description":"a\\ud800b"}',
  'with the other half as an escape': '{"description":"\\uDC00"}',
  'with the halves swapped': '{"description":"\\udc00\\ud800"}',
  'with half a surrogate pair in a key': '{"\\ud800":"a"}',
}

const notObjects = ['null', '"text"', '12', 'true', '[]', '[{"description":"a"}]']

const spaces = ' '.repeat(100)
const traps: Readonly<Record<string, [body: string, said: RegExp]>> = {
  'a key twice': ['{"description":"a","description":"b"}', /"description" is there twice/],
  'a key twice with the same value': [
    '{"description":"a","description":"a"}',
    /"description" is there twice/,
  ],
  'a key twice, once escaped': ['{"metadata":"a","met\\u0061data":"b"}', /"metadata" is there twice/],
  'a key twice, far from its colon': [
    `{"metadata"${spaces}:"a","metadata"${spaces}:"b"}`,
    /"metadata" is there twice/,
  ],
  'a key twice, with line breaks before the colon': [
    '{"metadata"\r\n\t :"a","metadata"\n:"b"}',
    /"metadata" is there twice/,
  ],
  'a key twice, inside': ['{"metadata":{"a":{"b":1,"b":2}}}', /"b" is there twice/],
  'a key twice, inside a list': ['{"metadata":[1,{"b":1,"b":2}]}', /"b" is there twice/],
  'a key twice, after an inner object': ['{"a":{"b":1},"c":[{}],"a":2}', /"a" is there twice/],
  'an empty key twice': ['{"":1,"":2}', /"" is there twice/],
  __proto__: ['{"__proto__":{"description":"a"}}', /"__proto__" is not allowed/],
  '__proto__, escaped': ['{"\\u005f_proto__":{"description":"a"}}', /"__proto__" is not allowed/],
  '__proto__, inside': ['{"metadata":{"a":[{"__proto__":1}]}}', /"__proto__" is not allowed/],
}

suite('a body', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server[Symbol.asyncDispose]())

  const post = (body: string | Buffer) =>
    send(server.api, {
      line: `POST ${path} HTTP/1.1`,
      headers: ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`],
      body,
    })

  for (const [what, body] of Object.entries(broken)) {
    test(`of JSON ${what} is refused`, () =>
      changesNothing(server, async () => assertRefusal(await post(body), 'body_unparseable')))
  }

  for (const body of notObjects) {
    test(`that is ${body} is refused`, () =>
      changesNothing(server, async () =>
        assertRefusal(await post(body), 'body_unparseable', /must be a JSON object/),
      ))
  }

  for (const [what, [body, said]] of Object.entries(traps)) {
    test(`with ${what} is refused`, () =>
      changesNothing(server, async () => assertRefusal(await post(body), 'body_unparseable', said)))
  }

  for (const key of ['constructor', 'prototype', 'hasOwnProperty', 'toString', 'id', 'created_at', '']) {
    test(`with the field "${key}" is refused, for there is none to write`, () =>
      changesNothing(server, async () =>
        assertRefusal(
          await post(JSON.stringify({ [key]: {} })),
          'unknown_field',
          new RegExp(`^"${key}" is not a field`),
        ),
      ))
  }

  test('nested deeper than 32 levels is refused, at 32 it is read', () =>
    changesNothing(server, async () => {
      const nested = (levels: number) => `{"metadata":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
      assertRefusal(await post(nested(33)), 'body_unparseable', /deeper than 32 levels/)
      assertRefusal(await post(nested(100_000)), 'body_unparseable', /deeper than 32 levels/)
      assertRefusal(await post(nested(32)), 'invalid_value', /"metadata" must be a text/)
      assertRefusal(
        await post(`{"metadata":${'{"a":'.repeat(32)}1${'}'.repeat(32)}}`),
        'body_unparseable',
        /deeper than 32/,
      )
    }))

  test('with brackets and quotes inside its texts is read as text', async () => {
    const metadata = `${'['.repeat(100)}{"a":1,"a":2} \\" \\\\`
    const { status, body } = await server.api.post(path, { metadata })
    assert.deepEqual([status, body.metadata], [201, metadata])
  })

  test('may start with a byte order mark, and escape what needs no escape', async () => {
    const { status, body } = await post('\uFEFF { "descr\\u0069ption" : "\\ud83d\\ude00\\u0041" } \n')
    assert.deepEqual([status, body.description], [201, '😀A'])
  })

  test('of more values than any call has is refused before it is parsed', () =>
    changesNothing(server, async () => {
      for (const many of [
        '[0'.padEnd(20_005, ',0'),
        `{"a":[${'[],'.repeat(10_000)}[]]}`,
        `{${'"a":0,'.repeat(6000)}"b":0}`,
      ])
        assertRefusal(await post(many), 'body_unparseable', /more than 5000 values|there twice/)
    }))

  test('of more than 1 MiB is refused, also when its length is not announced', () =>
    changesNothing(server, async () => {
      const body = JSON.stringify({ metadata: 'x'.repeat(LIMIT) })
      assertRefusal(await server.api.post(path, body), 'body_too_large', /at most 1048576 bytes/)
      const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
      const answer = await send(server.api, { line: `POST ${path} HTTP/1.1`, headers, body: chunks })
      assertRefusal(answer, 'body_too_large', /at most 1048576 bytes/)
    }))

  test('that announces more than 1 MiB is refused before it arrives', () =>
    changesNothing(server, async () => {
      const headers = ['Content-Type: application/json', `Content-Length: ${LIMIT + 1}`]
      assertRefusal(await send(server.api, { line: `POST ${path} HTTP/1.1`, headers }), 'body_too_large')
    }))

  test('of exactly 1 MiB is read', () =>
    changesNothing(server, async () => {
      const body = `{"metadata":"${'x'.repeat(LIMIT - 15)}"}`
      assert.equal(body.length, LIMIT)
      assertRefusal(await server.api.post(path, body), 'metadata_too_long')
    }))
})
