import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { WebSocket } from 'ws'
import type { Handler } from '#http/exchange.ts'
import { DialError } from '#registry/agent-dialer.ts'
import type { ModuleContext } from '#http/module-context.ts'
import { websocketTcpModule } from '#gateway/modules/websocket-tcp-converter.ts'
import { WebSocketTcpStream } from '#http/websocket/tcp-stream.ts'
import { type Client, listening, startFixture, type Http1Fixture } from '../../http/http1/support.ts'
import { SocketStream } from '../../http/http2/support.ts'
import { parts, optionsOf, request } from './support.ts'
import { closed } from '../../support/net.ts'

type Dial = NonNullable<ModuleContext['dial']>

const converter = (dial: Dial): Handler =>
  websocketTcpModule.fromRecord({ enabled: true }, { id: 'edghtsrt_1', dial }, parts)

const never = (): Promise<never> => Promise.reject(new Error('not asked for'))

interface Joined extends AsyncDisposable {
  readonly front: Http1Fixture
  readonly url: string
  readonly servicePort: number
  /** The service's end of the next connection. */
  accepted(): Promise<Socket>
}

/** A gateway whose WebSocket connections end at a plain TCP service of the test. */
async function joined(allowHalfOpen = true): Promise<Joined> {
  const service: Server = createServer({ allowHalfOpen, noDelay: true })
  const port = await listening(service)
  const sockets = new Set<Socket>()
  service.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  const convert = converter(() => SocketStream.to(port))
  const front = await startFixture({ answer: exchange => convert(exchange, never) })
  return {
    front,
    servicePort: port,
    url: `ws://127.0.0.1:${front.port}/`,
    accepted: async () => ((await once(service, 'connection')) as [Socket])[0],
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]()
      for (const socket of sockets) socket.destroy()
      await new Promise(done => service.close(done))
    },
  }
}

async function opened(place: Joined, protocols: string[] = []): Promise<[WebSocket, Socket]> {
  const connection = place.accepted()
  const client = new WebSocket(place.url, protocols)
  client.on('error', () => undefined)
  await once(client, 'open')
  return [client, await connection]
}

/** Reads so many bytes from a socket. */
async function bytesFrom(socket: Socket, count: number): Promise<Buffer> {
  let seen = Buffer.alloc(0)
  while (seen.length < count) seen = Buffer.concat([seen, ((await once(socket, 'data')) as [Buffer])[0]])
  return seen
}

/** Joins messages until so many bytes came; several can come at once. */
const messagesFrom = (client: WebSocket, count: number): Promise<Buffer> =>
  new Promise(resolve => {
    const pieces: Buffer[] = []
    let length = 0
    client.on('message', (bytes: Buffer) => {
      pieces.push(bytes)
      length += bytes.length
      if (length >= count) resolve(Buffer.concat(pieces))
    })
  })

suite('websocket to tcp', () => {
  test('carries bytes both ways, whatever their message type', async () => {
    await using place = await joined()
    const [client, service] = await opened(place)
    client.send(Buffer.from([0, 1, 2, 255]))
    assert.deepEqual(await bytesFrom(service, 4), Buffer.from([0, 1, 2, 255]))
    client.send('text')
    assert.equal(String(await bytesFrom(service, 4)), 'text')
    service.write(Buffer.from([9, 8, 7]))
    const [message, isBinary] = (await once(client, 'message')) as [Buffer, boolean]
    assert.deepEqual(message, Buffer.from([9, 8, 7]))
    assert.equal(isBinary, true)
    client.terminate()
  })

  for (const size of [1, 125, 126, 65_535, 65_536, 3_000_000]) {
    test(`carries ${size} bytes there and back unchanged`, async () => {
      await using place = await joined()
      const [client, service] = await opened(place)
      service.pipe(service)
      const content = Buffer.from(Uint8Array.from({ length: size }, (_, at) => at * 31 + (at >> 8)))
      client.send(content)
      assert.ok((await messagesFrom(client, size)).equals(content))
      client.terminate()
    })
  }

  test('joins fragments, with pings among them', async () => {
    await using place = await joined()
    const [client, service] = await opened(place)
    const pong = once(client, 'pong')
    client.send('a', { fin: false })
    client.ping('still there?')
    client.send('b', { fin: false })
    client.send('', { fin: false })
    client.send('c', { fin: true })
    assert.equal(String(await bytesFrom(service, 3)), 'abc')
    assert.equal(String((await pong)[0]), 'still there?')
    client.terminate()
  })

  test('closes the service connection when the client sends a close frame, after all earlier data', async () => {
    await using place = await joined()
    const [client, service] = await opened(place)
    const content = Buffer.alloc(500_000, 'x')
    let length = 0
    service.on('data', bytes => (length += bytes.length))
    client.send(content)
    client.close(3001, 'done')
    const [code] = (await once(client, 'close')) as [number]
    assert.equal(code, 3001)
    if (!service.readableEnded) await once(service, 'end')
    assert.equal(length, content.length)
  })

  test('sends a close frame when the service has ended, and forwards what the client sends before its own', async () => {
    await using place = await joined()
    const [client, service] = await opened(place)
    const message = once(client, 'message')
    service.end('last words')
    assert.equal(String((await message)[0]), 'last words')
    const [code] = (await once(client, 'close')) as [number]
    assert.equal(code, 1000)
  })

  test('sends a close frame when the service connection is reset', async () => {
    await using place = await joined()
    const [client, service] = await opened(place)
    service.resetAndDestroy()
    const [code] = (await once(client, 'close')) as [number]
    assert.equal(code, 1011)
  })

  test('closes the service connection when the client disconnects', async () => {
    await using place = await joined()
    const [client, service] = await opened(place)
    service.resume()
    client.terminate()
    await Promise.race([once(service, 'end').catch(() => undefined), closed(service)])
    assert.ok(service.readableEnded || service.destroyed)
  })

  test('pauses a service whose client does not read', async () => {
    await using place = await joined()
    const [client, service] = await opened(place)
    client.pause()
    const piece = Buffer.alloc(65_536, 'y')
    let written = 0
    while (service.write(piece) && written < 2000) written++
    // No more is forwarded than the buffers of the system hold.
    assert.ok(written < 2000)
    const all = messagesFrom(client, (written + 1) * piece.length)
    client.resume()
    assert.equal((await all).length, (written + 1) * piece.length)
    client.terminate()
  })

  test('pauses a client whose service does not read', async () => {
    await using place = await joined()
    const [client, service] = await opened(place)
    service.pause()
    const piece = Buffer.alloc(1_000_000, 'z')
    const pieces = 40
    for (let count = 0; count < pieces; count++) client.send(piece)
    let length = 0
    const all = new Promise<void>(resolve =>
      service.on('data', bytes => {
        length += bytes.length
        if (length === pieces * piece.length) resolve()
      }),
    )
    assert.ok(client.bufferedAmount > piece.length)
    service.resume()
    await all
    client.terminate()
  })

  test('selects a subprotocol that the client offers', async () => {
    await using place = await joined()
    for (const [offered, taken] of [
      [[], ''],
      [['mqtt', 'other'], 'mqtt'],
      [['base64', 'binary'], 'binary'],
    ] as const) {
      const [client] = await opened(place, [...offered])
      assert.equal(client.protocol, taken)
      client.terminate()
    }
  })
})

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const handshake =
  'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`

/** A masked frame, written by hand. */
function frame(first: number, content: Buffer, { masked = true, length = content.length } = {}): Buffer {
  const mask = Buffer.from([1, 2, 3, 4])
  const body = Buffer.from(content.map((byte, at) => byte ^ (mask[at & 3] ?? 0)))
  return masked
    ? Buffer.concat([Buffer.from([first, 0x80 | length]), mask, body])
    : Buffer.concat([Buffer.from([first, length]), content])
}

async function handshaken(place: Joined): Promise<[Client, Socket]> {
  const connection = place.accepted()
  const client = await place.front.connect()
  client.send(handshake)
  const head = await client.received('\r\n\r\n')
  // The example of RFC 6455 §1.3.
  assert.match(head, /^HTTP\/1\.1 101 /)
  assert.match(head, /\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/i)
  assert.match(head, /\r\nconnection: upgrade\r\n/i)
  client.text = ''
  return [client, await connection]
}

suite('a client that breaks the protocol', () => {
  const text = Buffer.from('hello')
  for (const [why, bytes] of Object.entries({
    'without a mask': frame(0x82, text, { masked: false }),
    'with a reserved bit': frame(0xc2, text),
    'with an opcode that is not known': frame(0x83, text),
    'with a control opcode that is not known': frame(0x8b, text),
    'with a fragmented ping': frame(0x09, text),
    'with a ping that is too long': frame(0x89, Buffer.alloc(0), { length: 126 }),
    'by going on with nothing': frame(0x80, text),
    'by beginning a message in another': Buffer.concat([frame(0x02, text), frame(0x82, text)]),
    'with a length beyond all': Buffer.concat([
      Buffer.from([0x82, 0xff]),
      Buffer.alloc(8, 0xff),
      Buffer.alloc(4),
    ]),
    'with a length of two bytes that fits one': Buffer.concat([
      Buffer.from([0x82, 0xfe, 0, 125, 0, 0, 0, 0]),
      Buffer.alloc(125),
    ]),
    'with a length of eight bytes that fits two': Buffer.concat([
      Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0]),
      Buffer.alloc(0xffff),
    ]),
    'with half a reason to close': frame(0x88, Buffer.from([3])),
    'with a reason to close that never travels': frame(0x88, Buffer.from([0x03, 0xee])),
  })) {
    test(`${why} gets a close code and is disconnected from the service`, async () => {
      await using place = await joined(false)
      const [client, service] = await handshaken(place)
      service.resume()
      const lost = closed(service)
      client.send(bytes.toString('latin1'))
      assert.equal(await client.readToEnd(), Buffer.from([0x88, 2, 0x03, 0xea]).toString('latin1'))
      await lost
    })
  }

  const broken = Buffer.from([0xc3, 0x28])
  for (const [why, bytes] of Object.entries({
    'that is not UTF-8': frame(0x81, broken),
    'with more bytes than a character needs': frame(0x81, Buffer.from([0xc0, 0xaf])),
    'with half of a pair of UTF-16': frame(0x81, Buffer.from([0xed, 0xa0, 0x80])),
    'that ends within a character': frame(0x81, Buffer.from([0xe2, 0x82])),
    'whose fragments end within a character': Buffer.concat([
      frame(0x01, Buffer.from([0xe2])),
      frame(0x80, Buffer.from([0x82])),
    ]),
    'whose fragments are not UTF-8 together': Buffer.concat([
      frame(0x01, Buffer.from([0xc3])),
      frame(0x89, Buffer.from('ping')),
      frame(0x80, Buffer.from([0x28])),
    ]),
    'in its reason to close that is not UTF-8': frame(0x88, Buffer.from([0x03, 0xe8, ...broken])),
  }))
    test(`with text ${why} gets a close code and is disconnected from the service`, async () => {
      await using place = await joined(false)
      const [client, service] = await handshaken(place)
      service.resume()
      const lost = closed(service)
      client.send(bytes.toString('latin1'))
      assert.ok((await client.readToEnd()).endsWith(Buffer.from([0x88, 2, 0x03, 0xef]).toString('latin1')))
      await lost
    })

  test('may split the characters of a text message anywhere, and send any bytes in binary messages', async () => {
    await using place = await joined()
    const [client, service] = await handshaken(place)
    const euro = Buffer.from('€𝄞é')
    const seen = bytesFrom(service, euro.length + 2)
    const bytes = Buffer.concat([
      ...Array.from(euro, (byte, at) => frame(at === 0 ? 0x01 : 0x00, Buffer.from([byte]))),
      frame(0x80, Buffer.alloc(0)),
      frame(0x82, broken),
    ])
    for (const byte of bytes) client.socket.write(Buffer.from([byte]))
    assert.deepEqual(await seen, Buffer.concat([euro, broken]))
    client.close()
  })

  test('has its frames parsed however the bytes are split', async () => {
    await using place = await joined()
    const [client, service] = await handshaken(place)
    const bytes = Buffer.concat([
      frame(0x02, text),
      frame(0x89, Buffer.from('p')),
      frame(0x80, Buffer.from(' world')),
      Buffer.concat([Buffer.from([0x82, 0xfe, 0x01, 0x00, 0, 0, 0, 0]), Buffer.alloc(256, 'q')]),
    ])
    const seen = bytesFrom(service, 11 + 256)
    for (const byte of bytes) client.socket.write(Buffer.from([byte]))
    assert.equal(String(await seen), `hello world${'q'.repeat(256)}`)
    assert.equal(await client.received('p'), '\x8a\x01p')
    client.close()
  })

  test('is disconnected when it keeps sending after its close frame', async () => {
    await using place = await joined()
    const [client, service] = await handshaken(place)
    service.resume()
    client.send(frame(0x88, Buffer.alloc(0)).toString('latin1'))
    const cut = closed(client.socket)
    const piece = Buffer.alloc(65_536)
    const flood = (): void => {
      if (client.socket.destroyed) return
      if (client.socket.write(piece)) setImmediate(flood)
      else client.socket.once('drain', flood)
    }
    flood()
    await cut
  })

  test('that pings without reading gets a pong for the last ping when it reads', async () => {
    await using place = await joined()
    const connection = place.accepted()
    const stream = new WebSocketTcpStream(await SocketStream.to(place.servicePort))
    await connection
    const sent: Buffer[] = []
    const ignored = (): void => undefined
    stream.attach({ data: bytes => void sent.push(bytes), end: ignored, closed: ignored })
    stream.pause()
    for (let count = 0; count < 1000; count++) stream.write(frame(0x89, Buffer.from(`p${count}`)))
    assert.deepEqual(sent, [])
    stream.resume()
    assert.deepEqual(sent.map(String), [`${String(Buffer.from([0x8a, 4]))}p999`])
    stream.abort()
  })
})

suite('what is not a WebSocket connection', () => {
  const good = `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`
  for (const [why, fields, more] of [
    ['a plain request', '', {}],
    ['another protocol', good, { upgrade: 'h2c' }],
    ['several protocols', good, { upgrade: 'websocket, x' }],
    ['another method', good, { upgrade: 'websocket', method: 'POST' }],
    ['another version', good.replace('13', '12'), { upgrade: 'websocket' }],
    ['no key', 'Sec-WebSocket-Version: 13\r\n', { upgrade: 'websocket' }],
    ['a key that is none', good.replace(KEY, 'short=='), { upgrade: 'websocket' }],
  ] as const) {
    test(`is rejected with 400: ${why}`, async () => {
      const exchange = request(fields)
      const asked = { ...exchange, head: { ...exchange.head, ...more } }
      const reply = await converter(never)(asked, never)
      assert.equal(reply.head.status, 400)
      assert.equal(reply.head.fields.get('ngrok-error-code'), 'ERR_NGROK_3206')
    })
  }

  test('is rejected with 400 over a socket, and the connection stays open', async () => {
    await using place = await joined()
    const asked = get({ port: place.front.port, host: '127.0.0.1' })
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    assert.equal(answer.statusCode, 400)
    answer.resume()
    await once(answer, 'end')
  })
})

suite('a service that cannot be reached', () => {
  const upgrade = (): ReturnType<typeof request> => {
    const exchange = request(`Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`)
    return { ...exchange, head: { ...exchange.head, upgrade: 'websocket' } }
  }

  for (const [code, status] of [
    ['offline', 502],
    ['busy', 503],
  ] as const) {
    test(`is a response: ${code}`, async () => {
      const dial: Dial = () => Promise.reject(new DialError(code, 'no'))
      assert.equal((await converter(dial)(upgrade(), never)).head.status, status)
    })
  }

  test('because of an internal error is a fault', async () => {
    await assert.rejects(converter(never)(upgrade(), never), /not asked for/)
  })

  test('without HTTP cannot be compiled', () => {
    assert.throws(() => websocketTcpModule.fromRecord({}, { id: 'e' }, parts), {
      code: 'module_unusable',
    })
    const given = optionsOf({ WebsocketTCPConverter: {} })
    assert.throws(() => websocketTcpModule.fromAgent?.build(given, { id: 'tn_1' }, parts), {
      code: 'bind_option',
    })
  })
})
