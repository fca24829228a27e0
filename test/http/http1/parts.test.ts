import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { Fields } from '#http/fields.ts'
import { ChunkScanner, requestTrailers } from '#http/http1-chunks.ts'
import { parseRequestHead } from '#http/http1-request-head.ts'
import { HttpError } from '#http/http-error.ts'
import { encodeProxyProtocol } from '#gateway/backends/proxy-protocol.ts'

suite('fields', () => {
  const fields = new Fields('Accept: a\r\nX-A:1\r\naccept:\tb \r\nX-AB: \xa02\r\n')

  test('are found by name in any case, and trimmed of optional whitespace only', () => {
    assert.equal(fields.get('accept'), 'a')
    assert.equal(fields.get('x-a'), '1')
    assert.equal(fields.get('x-ab'), '\xa02')
    assert.equal(fields.get('x'), undefined)
    assert.deepEqual(fields.all('accept'), ['a', 'b'])
    assert.deepEqual([...fields.entries()].length, 4)
  })

  test('are removed and added as lines', () => {
    assert.equal(fields.without('accept').text, 'X-A:1\r\nX-AB: \xa02\r\n')
    assert.equal(fields.without('none'), fields)
    assert.equal(Fields.none.with('A', 'b').text, 'A: b\r\n')
    assert.throws(() => Fields.none.with('A', 'b\r\nC: d'), TypeError)
  })
})

suite('the PROXY header', () => {
  test('of IPv6', () => {
    const from = { ip: '2001:db8::1', port: 1000 }
    const to = { ip: '::1', port: 443 }
    assert.equal(encodeProxyProtocol(1, from, to).toString(), 'PROXY TCP6 2001:db8::1 ::1 1000 443\r\n')
    assert.equal(
      encodeProxyProtocol(2, from, to).toString('hex'),
      '0d0a0d0a000d0a515549540a21210024' +
        '20010db8000000000000000000000001' +
        '00000000000000000000000000000001' +
        '03e801bb',
    )
  })

  test('of an IPv4-mapped address', () => {
    const from = { ip: '::ffff:1.2.3.4', port: 1 }
    assert.equal(
      encodeProxyProtocol(1, from, { ip: '5.6.7.8', port: 2 }).toString(),
      'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n',
    )
  })

  test('of mixed address families is IPv6', () => {
    const bytes = encodeProxyProtocol(2, { ip: '1.2.3.4', port: 1 }, { ip: '::1', port: 2 })
    assert.equal(bytes.toString('hex', 16, 32), '00000000000000000000ffff01020304')
  })
})

const parsed = (text: string) => parseRequestHead(Buffer.from(text, 'latin1'), text)

suite('a head', () => {
  test('has the host in lower case without port and trailing dot, and keeps the original', () => {
    const head = parsed('GET http://App.Test.:80?a HTTP/1.1\r\nHost: App.Test.:80\r\n')
    assert.ok(!(head instanceof HttpError))
    const { host, authority, target, path } = head
    assert.deepEqual([host, authority, target, path], ['app.test', 'App.Test.:80', '/?a', '/'])
  })

  test('of any bytes is parsed or rejected, and what is parsed can be forwarded', () => {
    const piece = fc.constantFrom(
      ...'GET / HTTP/1.1|\r\n|Host: a|:|\0|X-A: b| |\t|%|..|é|Connection: x-a'.split('|'),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
        const head = parsed(pieces.join(''))
        if (head instanceof HttpError) return
        assert.match(head.fields.text, /^(?:[!#$%&'*+.^`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/)
        assert.match(head.target, /^[/*][\x21-\x7e]*$/)
      }),
      { numRuns: 2000 },
    )
  })
})

suite('chunks', () => {
  test('have the same content however they are split', () => {
    const text = '5\r\nhello\r\n0006;x="y"\r\n world\r\n0\r\nX-Sum: 1\r\n\r\nNEXT'
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), cuts => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length]
        const chunks = new ChunkScanner(requestTrailers)
        let content = ''
        let end: number | undefined
        for (const [index, from] of places.entries()) {
          const to = places[index + 1]
          if (to === undefined || end !== undefined) break
          const bytes = Buffer.from(text.slice(from, to))
          const found = chunks.scan(bytes, (a, b) => (content += bytes.toString('latin1', a, b)))
          if (found !== undefined) end = from + found
        }
        assert.equal(content, 'hello world')
        assert.equal(chunks.trailers, 'X-Sum: 1\r\n')
        assert.equal(end, text.length - 4)
        assert.equal(chunks.fault, undefined)
      }),
    )
  })
})
