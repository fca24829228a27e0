import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { bodyOf } from '#http/body.ts'
import type { Endpoint } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import type { ResponseHead } from '#http/head.ts'
import { HttpError } from '#http/http-error.ts'
import { parseRequestHead, RepeatedFields } from '#http/http1-request-head.ts'
import { parseResponseHead, ResponseHeads } from '#http/http1-response-head.ts'
import { SiteIsolation } from '#http/site-isolation.ts'
import { startFixture } from './support.ts'

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

suite('a request with the fields of the last one', () => {
  const firstLine = fc.constantFrom(
    ...'GET / HTTP/1.1|GET /a?b HTTP/1.1|POST /%2e%2e/ HTTP/1.1|GET http://a/ HTTP/1.1|OPTIONS * HTTP/1.1'.split(
      '|',
    ),
    ...'GET http://b/ HTTP/1.1|GET / HTTP/1.0|GET / HTTP/2.0|CONNECT a HTTP/1.1|GET /\n HTTP/1.1|\r\nGET / HTTP/1.1|'.split(
      '|',
    ),
  )
  const fields = fc.constantFrom(
    'Host: a\r\n',
    'Host: a\r\nX-A: b\r\nConnection: x-a\r\n',
    'Host: a\r\nContent-Length: 3\r\n',
    'Host: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n',
    'Host: a\r\nX-Forwarded-For: 192.0.2.1\r\n',
    'X-A: b\r\n',
    'Host: b\r\n',
    'Host: B:81\r\nX-A: b\r\nConnection: x-a\r\n',
    'Host: b \r\n',
    'Host: \r\n',
    'Host: b\r\nHost: a\r\n',
    'Host: a\r\nHost: a\r\n',
    'Host:  b\r\n',
    'host: b\r\n',
    'X-A: b\r\nHost: b\r\n',
  )

  test('is read as the parser reads it', () => {
    let repeats = 0
    fc.assert(
      fc.property(fields, fields, fc.array(fc.tuple(firstLine, fc.boolean())), (usual, other, heads) => {
        const repeated = new RepeatedFields()
        for (const [line, isUsual] of heads) {
          const text = `${line}\r\n${isUsual ? usual : other}\r\n`
          const head = parseRequestHead(latin1(text), text, text.length - 2)
          const read = repeated.read(text)
          if (read !== undefined) assert.deepEqual(read, head)
          if (read !== undefined) repeats++
          else if (!(head instanceof HttpError)) repeated.keep(text, head)
        }
      }),
      { numRuns: 1000 },
    )
    assert.ok(repeats > 100, `only ${repeats} were repeated`)
  })

  test('is read for another host, with the same fields', () => {
    const text = 'GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n\r\n'
    const head = parseRequestHead(latin1(text), text, text.length - 2)
    assert.ok(!(head instanceof HttpError))
    const repeated = new RepeatedFields()
    repeated.keep(text, head)
    const other = repeated.read('GET /c HTTP/1.1\r\nHost: B.test:81\r\nX-A: b\r\n\r\n')
    assert.deepEqual(other, { ...head, target: '/c', path: '/c', host: 'b.test', authority: 'B.test:81' })
    assert.equal(other?.fields, head.fields)
  })

  test('is not read when anything else follows', () => {
    const text = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    const head = parseRequestHead(latin1(text), text, text.length - 2)
    assert.ok(!(head instanceof HttpError))
    const repeated = new RepeatedFields()
    repeated.keep(text, head)
    assert.deepEqual(repeated.read(text), head)
    for (const other of [`${text}G`, text.slice(0, -1), text.replace('a\r', 'a/\r'), `\r\n${text}`, ''])
      assert.equal(repeated.read(other), undefined)
  })

  test('is not read after one with an empty line in front, whose request line is no field', () => {
    const text = '\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n'
    const head = parseRequestHead(latin1(text), text, text.length - 2)
    assert.ok(!(head instanceof HttpError))
    const repeated = new RepeatedFields()
    repeated.keep(text, head)
    assert.equal(repeated.read(`POST /other HTTP/1.1${text}`), undefined)
  })
})

suite('a response head', () => {
  const read = (heads: ResponseHeads, text: string, method: string) =>
    heads.read(latin1(text), text, text.indexOf('\r\n\r\n') + 2, method)

  test('is parsed once if it is repeated', () => {
    const heads = new ResponseHeads()
    const head = 'HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 3\r\n\r\n'
    const first = read(heads, `${head}one`, 'GET')
    assert.equal(read(heads, `${head}two`, 'POST'), first)
    assert.notEqual(read(heads, head.replace('b', 'c'), 'GET'), first)
  })

  test('is read as the parser reads it, whatever was read before', () => {
    const text = fc.constantFrom(
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc',
      'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A: b\r\n\r\nabc',
      'HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    const method = fc.constantFrom('GET', 'HEAD', 'POST')
    fc.assert(
      fc.property(fc.array(fc.tuple(text, method), { maxLength: 12 }), given => {
        const heads = new ResponseHeads()
        for (const [each, by] of given) {
          const end = each.indexOf('\r\n\r\n') + 2
          assert.deepEqual(read(heads, each, by), parseResponseHead(latin1(each), each, end, by))
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('that is sent again differs only by its request id, and a changed copy is sent as it is', async () => {
    const body = bodyOf(latin1('abc'))
    const head: ResponseHead = {
      status: 200,
      reason: 'OK',
      framing: body.framing,
      fields: new Fields('X-A: b\r\n'),
    }
    const answer: Endpoint = async ({ head: { path } }) => ({
      head: path === '/changed' ? { ...head, reason: 'Fine', fields: new Fields('X-A: c\r\n') } : head,
      body,
    })
    await using set = await startFixture({ answer })
    const client = await set.connect()
    const ask = async (line: string): Promise<string> => {
      client.send(`${line}\r\nHost: a\r\n\r\n`)
      return (await client.answer()).head
    }
    const askHead = async (): Promise<string> => {
      client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n')
      const text = await client.until(all => all.endsWith('\r\n\r\n'))
      client.text = ''
      return text
    }
    const plain = (text: string): string => text.replace(/^adit-request-id: .*\r\n/m, '')
    for (let round = 0; round < 3; round++) {
      const [first, second] = [await ask('GET / HTTP/1.1'), await ask('GET / HTTP/1.1')]
      assert.notEqual(first, second)
      assert.equal(plain(first), plain(second))
      assert.match(first, /^HTTP\/1\.1 200 OK\r\nX-A: b\r\nadit-request-id: rq_\w+\r\nContent-Length: 3\r\n/)
      assert.match(await ask('GET /changed HTTP/1.1'), /^HTTP\/1\.1 200 Fine\r\nX-A: c\r\n/)
      assert.match(await askHead(), /\r\nContent-Length: 3\r\n\r\n$/)
    }
    assert.match(await ask('GET / HTTP/1.0'), /\r\nConnection: close\r\n/)
  })

  test('that is sent to several hosts is confined for each that shares its site', async () => {
    const body = bodyOf(latin1('abc'))
    const fields = new Fields('Set-Cookie: a=1; Domain=one.gate.test\r\n')
    const head: ResponseHead = { status: 200, reason: 'OK', framing: body.framing, fields }
    const isolation = new SiteIsolation('gate.test')
    await using set = await startFixture({ answer: async () => ({ head, body }), isolation })
    const client = await set.connect()
    const cookieFor = async (host: string): Promise<string | undefined> => {
      client.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      return /^Set-Cookie: (.*)\r\n/m.exec((await client.answer()).head)?.[1]
    }
    const hosts = [
      'one.gate.test',
      'two.gate.test',
      'gate.test',
      'three.test',
      'four.test',
      'other-gate.test',
    ]
    for (const order of [hosts, hosts.toReversed(), hosts.flatMap(host => [host, host, host])])
      for (const host of order) {
        const isConfined = host.endsWith('gate.test') && !host.startsWith('o')
        assert.equal(await cookieFor(host), isConfined ? 'a=1' : 'a=1; Domain=one.gate.test', host)
      }
  })
})
