import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { HpackDecoder } from '#http2/hpack-decoder.ts'
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  FRAME,
  literalBlock,
  frame,
  headers,
  uint32,
} from '../http/http2/raw-peer.ts'
import { until } from '../support/until.ts'
import { ask, GET, connectedPair, type Pair } from './client-support.ts'

const OK: [string, string][] = [[':status', '200']]
const NO_ERROR = 0
const PROTOCOL_ERROR = 1
const FLOW_CONTROL_ERROR = 3
const REFUSED_STREAM = 7
const CANCEL = 8

const setting = (name: number, value: number): Buffer =>
  Buffer.concat([Buffer.from([0, name]), uint32(value)])
const goaway = (last: number, code = NO_ERROR): Buffer =>
  frame(FRAME.goaway, 0, 0, Buffer.concat([uint32(last), uint32(code)]))
const data = (stream: number, text: string, flags = 0): Buffer =>
  frame(FRAME.data, flags, stream, Buffer.from(text))

/** The first frame of a type on a stream. */
const sent = ({ wire }: Pair, type: number, stream: number) =>
  wire.find(seen => seen.type === type && seen.stream === stream)

/** Waits until the server has nothing more to read: the answer to a PING follows all that was sent before. */
async function settled({ wire }: Pair): Promise<void> {
  const before = wire.frames.length
  wire.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8)))
  await until(() => wire.frames.slice(before).some(({ type, flags }) => type === FRAME.ping && flags === ACK))
}

suite('a request over HTTP/2', () => {
  test('is sent with its head, its content and its trailers', async () => {
    await using both = await connectedPair()
    const head = { ...GET, method: 'POST', path: '/a?b', length: 5, unique: { name: 'x-id', value: '7' } }
    const { stream } = ask(both, { head, ends: false })
    stream.write(Buffer.from('hello'))
    stream.end('x-sum: 5\r\n')
    const first = await sent(both, FRAME.headers, 1)
    const limits = { listBytes: 65_536, fields: 100 }
    const decoder = new HpackDecoder(limits)
    const fields = decoder.decode(first?.payload ?? Buffer.alloc(0), 0, first?.payload.length ?? 0)
    assert.deepEqual(
      fields?.map(({ name, value }) => `${name}=${value}`),
      [
        ':method=POST',
        ':scheme=http',
        ':authority=shop.example',
        ':path=/a?b',
        'content-length=5',
        'x-a=b',
        'x-id=7',
      ],
    )
    assert.equal((await sent(both, FRAME.data, 1))?.payload.toString(), 'hello')
    const last = await both.wire.find(
      ({ type, flags }) => type === FRAME.headers && (flags & END_STREAM) !== 0,
    )
    const trailers = decoder.decode(last?.payload ?? Buffer.alloc(0), 0, last?.payload.length ?? 0)
    assert.deepEqual(
      trailers?.map(({ name, value }) => [name, value]),
      [['x-sum', '5']],
    )
  })

  test('ends with its head if it has no content, or with an empty DATA frame on request', async () => {
    await using both = await connectedPair()
    ask(both)
    ask(both, { head: { ...GET, endsWithData: true } })
    assert.equal((await sent(both, FRAME.headers, 1))?.flags, END_HEADERS | END_STREAM)
    assert.equal((await sent(both, FRAME.headers, 3))?.flags, END_HEADERS)
    assert.deepEqual((await sent(both, FRAME.data, 3))?.flags, END_STREAM)
  })

  test('waits for the windows of the server', async () => {
    await using both = await connectedPair(setting(4, 3))
    const { stream } = ask(both, { ends: false })
    stream.write(Buffer.from('hello world'))
    stream.end()
    assert.equal((await sent(both, FRAME.data, 1))?.payload.toString(), 'hel')
    await settled(both)
    assert.equal(both.wire.frames.filter(({ type }) => type === FRAME.data).length, 1)
    both.wire.send(frame(FRAME.window, 0, 1, uint32(100)))
    const rest = await both.wire.find(({ type, flags }) => type === FRAME.data && flags === END_STREAM)
    assert.equal(rest?.payload.toString(), 'lo world')
  })

  test('sends a head that is repeated in fewer bytes', async () => {
    await using both = await connectedPair()
    const head = {
      ...GET,
      path: '/grpc.Service/Call',
      lines: 'content-type: application/grpc\r\nte: trailers\r\n',
    }
    ask(both, { head })
    ask(both, { head })
    const [first, second] = [await sent(both, FRAME.headers, 1), await sent(both, FRAME.headers, 3)]
    assert.ok((first?.payload.length ?? 0) > 40)
    assert.equal(second?.payload.length, 6, 'one byte for each field')
  })
})

suite('a response over HTTP/2', () => {
  test('is delivered with its interim responses, its content and its trailers', async () => {
    await using both = await connectedPair()
    const { reader } = ask(both)
    both.wire.send(
      headers(1, [[':status', '103']], { endStream: false }),
      headers(1, [...OK, ['x-b', 'c']], { endStream: false }),
      data(1, 'hel'),
      data(1, 'lo'),
      headers(1, [['grpc-status', '0']], { endStream: true }),
    )
    assert.equal(await reader.over, undefined)
    assert.deepEqual(reader.seen, [
      'sent',
      'informational 103',
      'response 200 x-b=c',
      'data hel',
      'data lo',
      'end grpc-status=0',
      'closed',
    ])
    assert.equal(both.connection.open, 0)
  })

  test('that has arrived is delivered, although the server stops the upload or is gone', async () => {
    for (const after of [frame(FRAME.reset, 0, 1, uint32(NO_ERROR)), undefined]) {
      await using both = await connectedPair()
      const { stream, reader } = ask(both, { ends: false, reads: false })
      both.wire.send(headers(1, OK, { endStream: false }), data(1, 'hello', END_STREAM))
      if (after === undefined) {
        both.wire.socket.end()
        await both.closed
      } else {
        both.wire.send(after)
        await settled(both)
      }
      assert.deepEqual(reader.seen, ['response 200', 'stopped'])
      stream.resume()
      assert.deepEqual(reader.seen.slice(2), ['data hello', 'end', 'closed'])
      assert.equal(both.connection.open, 0)
    }
  })

  test('that is complete is not reset when its reader cancels', async () => {
    await using both = await connectedPair()
    const { stream, reader } = ask(both)
    reader.end = () => stream.reset(CANCEL)
    both.wire.send(headers(1, OK, { endStream: true }))
    await reader.over
    await settled(both)
    assert.equal(both.wire.frames.filter(({ type }) => type === FRAME.reset).length, 0)
  })

  test('gets WINDOW_UPDATE only for what is read', async () => {
    await using both = await connectedPair()
    const { stream, reader } = ask(both, { reads: false })
    const piece = 'x'.repeat(16_384)
    both.wire.send(headers(1, OK, { endStream: false }))
    for (let sentBytes = 0; sentBytes < 256 * 1024; sentBytes += piece.length) both.wire.send(data(1, piece))
    await settled(both)
    const credited = () => both.wire.frames.some(({ type, stream: of }) => type === FRAME.window && of === 1)
    assert.equal(credited(), false)
    stream.resume()
    await until(credited)
    stream.pause()
    both.wire.send(data(1, 'more'))
    stream.reset(CANCEL)
    assert.equal(await reader.over, CANCEL)
  })

  const empty: Record<string, [typeof GET, [string, string][]]> = {
    'to HEAD': [{ ...GET, method: 'HEAD' }, [...OK, ['content-length', '5']]],
    'with the status 304': [GET, [[':status', '304'], ['content-length', '5']]], // prettier-ignore
    'with the status 204': [GET, [[':status', '204']]],
  }
  for (const [name, [head, fields]] of Object.entries(empty)) {
    test(`${name} has no content`, async () => {
      await using both = await connectedPair()
      const { reader } = ask(both, { head })
      both.wire.send(headers(1, fields, { endStream: true }))
      assert.equal(await reader.over, undefined)
    })
    test(`${name} that has content is invalid`, async () => {
      await using both = await connectedPair()
      const { reader } = ask(both, { head })
      both.wire.send(headers(1, fields, { endStream: false }), data(1, 'hello', END_STREAM))
      assert.equal(await reader.over, PROTOCOL_ERROR)
    })
  }

  const malformed: Record<string, Buffer[]> = {
    'without a status': [headers(1, [['x-a', 'b']], { endStream: true })],
    'with two statuses': [headers(1, [...OK, ...OK], { endStream: true })],
    'with a status that is none': [headers(1, [[':status', '20']], { endStream: true })],
    'with the status 101': [headers(1, [[':status', '101']], { endStream: false })],
    'with another pseudo-header field': [headers(1, [...OK, [':path', '/']], { endStream: true })],
    'with an upper case name': [headers(1, [...OK, ['X-A', 'b']], { endStream: true })],
    'with a line feed in a value': [headers(1, [...OK, ['x-a', 'b\r\nx-c: d']], { endStream: true })],
    'with Connection': [headers(1, [...OK, ['connection', 'close']], { endStream: true })],
    'with a Content-Length that is none': [
      headers(1, [...OK, ['content-length', '-1']], { endStream: false }),
    ],
    'with two different Content-Length': [
      headers(1, [...OK, ['content-length', '1'], ['content-length', '2']], { endStream: false }),
    ],
    'with more content than Content-Length': [
      headers(1, [...OK, ['content-length', '1']], { endStream: false }),
      data(1, 'ab', END_STREAM),
    ],
    'with less content than Content-Length': [
      headers(1, [...OK, ['content-length', '3']], { endStream: false }),
      data(1, 'ab', END_STREAM),
    ],
    'without the content of its Content-Length': [
      headers(1, [...OK, ['content-length', '3']], { endStream: true }),
    ],
    'that ends with an interim response': [headers(1, [[':status', '100']], { endStream: true })],
    'whose content precedes its head': [data(1, 'ab')],
    'that ends without a head': [data(1, '', END_STREAM)],
    'with a second head': [headers(1, OK, { endStream: false }), headers(1, OK, { endStream: false })],
    'with a status in its trailers': [
      headers(1, OK, { endStream: false }),
      headers(1, OK, { endStream: true }),
    ],
    'with more fields than allowed': [
      headers(1, [...OK, ...Array.from({ length: 300 }, (): [string, string] => ['x-a', 'b'])], {
        endStream: true,
      }),
    ],
    'with a longer head than allowed': [
      headers(1, [...OK, ['x-a', 'b'.repeat(66_000)]], { endStream: true }),
    ],
  }
  for (const [name, frames] of Object.entries(malformed))
    test(`${name} is reset, and the connection stays open`, async () => {
      await using both = await connectedPair()
      const { reader } = ask(both)
      both.wire.send(...frames)
      assert.equal(await reader.over, PROTOCOL_ERROR)
      assert.ok(await sent(both, FRAME.reset, 1))
      const next = ask(both)
      both.wire.send(headers(3, OK, { endStream: true }))
      assert.equal(await next.reader.over, undefined)
    })

  test('that exceeds the window of its stream is reset', async () => {
    await using both = await connectedPair()
    const { reader } = ask(both, { reads: false })
    both.wire.send(headers(1, OK, { endStream: false }))
    for (let count = 0; count < 17; count++) both.wire.send(data(1, 'x'.repeat(16_384)))
    assert.equal(await reader.over, FLOW_CONTROL_ERROR)
  })

  test('that follows our reset is ignored, with all of its frames', async () => {
    await using both = await connectedPair()
    const first = ask(both)
    first.stream.reset(CANCEL)
    await sent(both, FRAME.reset, 1)
    both.wire.send(
      headers(1, OK, { endStream: false }),
      data(1, 'late'),
      frame(FRAME.window, 0, 1, uint32(1)),
      frame(FRAME.reset, 0, 1, uint32(CANCEL)),
    )
    const next = ask(both)
    both.wire.send(headers(3, OK, { endStream: true }))
    assert.equal(await next.reader.over, undefined)
    assert.deepEqual(first.reader.seen, ['sent', `closed ${CANCEL}`])
  })
})

suite('a connection to an HTTP/2 server', () => {
  test('reports how many requests it may send at a time', async () => {
    await using both = await connectedPair(setting(3, 17))
    assert.deepEqual(both.events, ['settings 17'])
  })

  test('fails requests above the last stream id of GOAWAY as retryable, and finishes the rest', async () => {
    await using both = await connectedPair()
    const [first, second] = [ask(both), ask(both)]
    both.wire.send(goaway(1))
    assert.equal(await second.reader.over, REFUSED_STREAM)
    assert.equal(both.connection.isOpen, false)
    both.wire.send(headers(1, OK, { endStream: true }))
    assert.equal(await first.reader.over, undefined)
    await both.closed
    assert.deepEqual(both.events, ['settings', 'finishing', 'closed'])
  })

  test('aborts its requests when the server closes', async () => {
    await using both = await connectedPair()
    const { reader } = ask(both)
    both.wire.socket.end()
    assert.equal(await reader.over, CANCEL)
    await both.closed
  })

  test('answers PINGs and settings', async () => {
    await using both = await connectedPair()
    both.wire.send(frame(FRAME.ping, 0, 0, Buffer.from('12345678')))
    const pong = await both.wire.find(({ type }) => type === FRAME.ping)
    assert.deepEqual([pong?.flags, pong?.payload.toString()], [ACK, '12345678'])
  })

  const faults: Record<string, Buffer> = {
    'a push': frame(5, END_HEADERS, 1, Buffer.concat([uint32(2), literalBlock(OK)])),
    'a head on a stream of its own': headers(2, OK, { endStream: true }),
    'a head on a stream that is not open': headers(5, OK, { endStream: true }),
    'data on a stream that is not open': data(5, 'x'),
    'credit for a stream that is not open': frame(FRAME.window, 0, 5, uint32(1)),
    'a reset of a stream that is not open': frame(FRAME.reset, 0, 5, uint32(CANCEL)),
    'credit of nothing': frame(FRAME.window, 0, 0, uint32(0)),
    'too much credit': frame(FRAME.window, 0, 0, uint32(2 ** 31 - 1)),
    'a GOAWAY that is too short': frame(FRAME.goaway, 0, 0, uint32(0)),
    'a frame that is too large': frame(FRAME.data, 0, 1, Buffer.alloc(16_385)),
    'a header block that is not valid': frame(FRAME.headers, END_HEADERS, 1, Buffer.from([0xff, 0xff, 0xff])),
    'an answer of HTTP/1': Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
  }
  for (const [name, bytes] of Object.entries(faults))
    test(`ends because of ${name}`, async () => {
      await using both = await connectedPair()
      const { reader } = ask(both)
      await sent(both, FRAME.headers, 1)
      both.wire.send(bytes)
      assert.equal(await reader.over, PROTOCOL_ERROR)
      const last = await both.wire.find(({ type }) => type === FRAME.goaway)
      assert.notEqual(last?.payload.readUInt32BE(4), NO_ERROR)
      await both.wire.gone
      await both.closed
    })

  const floods: Record<string, Buffer> = {
    PINGs: frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
    SETTINGS: frame(FRAME.settings, 0, 0),
    'frames of DATA without data': data(1, ''),
    'resets of closed streams': frame(FRAME.reset, 0, 3, uint32(CANCEL)),
    'window updates': frame(FRAME.window, 0, 0, uint32(1)),
    'frames of an unknown kind': frame(0x7f, 0, 0),
    'CONTINUATION frames without end': frame(FRAME.continuation, 0, 1, literalBlock([['x-a', 'b']])),
  }
  for (const [name, bytes] of Object.entries(floods))
    test(`ends because of a flood of ${name}`, async () => {
      await using both = await connectedPair()
      const { reader } = ask(both)
      const other = ask(both)
      other.stream.reset(CANCEL)
      await sent(both, FRAME.reset, 3)
      const isBlock = name.startsWith('CONTINUATION')
      both.wire.send(
        isBlock ? frame(FRAME.headers, 0, 1, literalBlock(OK)) : headers(1, OK, { endStream: false }),
      )
      const flood = Buffer.concat(Array.from({ length: 1000 }, () => bytes))
      for (let count = 0; count < 20 && both.wire.send(flood); count++);
      assert.equal(await reader.over, PROTOCOL_ERROR)
      await both.wire.gone
    })

  test('tolerates a thousand requests that the server stops early', async () => {
    await using both = await connectedPair()
    for (let id = 1; id < 2000; id += 2) {
      const { reader } = ask(both, { ends: false })
      both.wire.send(headers(id, OK, { endStream: true }), frame(FRAME.reset, 0, id, uint32(NO_ERROR)))
      assert.equal(await reader.over, undefined)
    }
    assert.equal(both.connection.isOpen, true)
  })
})
