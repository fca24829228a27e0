import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { MessageFraming } from '#agent/capture/framing.ts'
import { type BodyLength, readResponseStart, responseBody, type ResponseStart } from '#agent/capture/head.ts'

const lengthOf = (start: ResponseStart): BodyLength => responseBody(start, false)

/** The messages that are found when bytes arrive in these pieces. */
function messagesIn(pieces: readonly Buffer[], length = lengthOf): string[] {
  const messages: string[] = []
  let current = ''
  const framing = new MessageFraming({
    head: length,
    bytes: bytes => (current += bytes.toString('latin1')),
    end: () => {
      messages.push(current)
      current = ''
    },
  })
  for (const piece of pieces) framing.push(piece)
  framing.finish()
  return messages
}

function cut(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  const at = [0, ...places.map(place => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

const message = fc.oneof(
  fc
    .string()
    .map(body => `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.from(body, 'latin1').length}\r\n\r\n${body}`),
  fc
    .array(fc.string({ minLength: 1, maxLength: 40 }))
    .map(
      chunks =>
        `HTTP/1.1 206 Partial\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.map(each => `${Buffer.from(each, 'latin1').length.toString(16)};x=1\r\n${each}\r\n`).join('')}0\r\nTrailer: x\r\n\r\n`,
    ),
  fc.constant('HTTP/1.1 204 No Content\r\nServer: a\r\n\r\n'),
)

suite('the framing of HTTP/1 messages', () => {
  test('is found wherever the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), fc.array(fc.nat(2000)), (messages, places) => {
        assert.deepEqual(messagesIn(cut(messages.join(''), places)), messages)
      }),
    )
  })

  test('is that of the first valid Content-Length, unless the body has chunks', () => {
    const bodyOf = (fields: string): unknown => {
      const head = Buffer.from(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\nrest`)
      return readResponseStart(head, 0, head.length)?.body
    }
    assert.deepEqual(
      [
        'CONTENT-length:\t12 \r\nContent-Length: 3',
        'Content-Length: x\r\nContent-Length: 3',
        'Content-Length: 3;\r\nX-Content-Length: 4',
        `Content-Length: ${'9'.repeat(16)}`,
        'Content-Length:',
        'Content-Length: 3\r\nTransfer-Encoding: gzip, Chunked',
        'Transfer-Encoding: unchunked',
      ].map(bodyOf),
      [12, 3, undefined, undefined, undefined, 'chunked', undefined],
    )
  })

  test('needs a status line and an empty line', () => {
    const startOf = (text: string): unknown => readResponseStart(Buffer.from(text), 0, text.length)
    assert.deepEqual(startOf('HTTP/1.0 404 Not Found\r\nA: b\r\n\r\n'), {
      end: 32,
      status: 404,
      body: undefined,
    })
    for (const line of ['HTTP/2.0 200 OK', 'HTTP/1.1 20 OK', 'HTTP/1.1  200', 'HTTP/1.2 200 OK', ''])
      assert.deepEqual(startOf(`${line}\r\nA: b\r\n\r\n`), {
        end: line.length + 10,
        status: 0,
        body: undefined,
      })
    assert.equal(startOf('HTTP/1.1 200 OK\r\nA: b\n\n'), undefined)
  })

  test('a body without a length extends to the end of the connection', () => {
    const response = 'HTTP/1.1 200 OK\r\n\r\nall of it'
    assert.deepEqual(
      messagesIn(cut(response, [3, 21]), () => 'close'),
      [response],
    )
  })

  test('is given up for what is not HTTP, a head without end and a chunk without size', () => {
    assert.deepEqual(messagesIn([Buffer.alloc(70_000, 'x'), Buffer.from('\r\n\r\n')]), [])
    const chunk = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n'
    assert.deepEqual(messagesIn([Buffer.from(`${chunk}HTTP/1.1 204 No Content\r\n\r\n`)]), [])
    assert.deepEqual(messagesIn([Buffer.from(`${chunk.slice(0, -5)}${'1'.repeat(5000)}`)]), [])
  })
})
