import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import type { Endpoint } from '#http/exchange.ts'
import { tunnelTo } from './upstream-server.ts'
import { answerOf, gateway, reply } from './support.ts'

const SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

interface Service extends AsyncDisposable {
  readonly backend: Endpoint
  /** The heads of requests as the service got them. */
  readonly heads: string[]
}

/** A service that accepts every WebSocket, or responds as configured, and echoes the bytes that follow. */
async function echo(answer?: (key: string) => string): Promise<Service> {
  const heads: string[] = []
  const server = createServer({ allowHalfOpen: true }, (socket: Socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (bytes: Buffer) => {
      const head = bytes.toString('latin1')
      heads.push(head)
      const key = /sec-websocket-key: (\S+)/i.exec(head)?.[1] ?? ''
      const accept = createHash('sha1').update(`${key}${SUFFIX}`).digest('base64')
      const accepted = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: chat\r\n\r\n`
      socket.write(answer?.(key) ?? accepted)
      socket.pipe(socket)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const backend = tunnelTo(port, 'http1')
  return {
    backend,
    heads,
    async [Symbol.asyncDispose]() {
      backend.close()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const connect: OutgoingHttpHeaders = {
  ':method': 'CONNECT',
  ':protocol': 'websocket',
  ':scheme': 'https',
  ':authority': 'shop.example',
  ':path': '/chat?a=b',
  'sec-websocket-version': '13',
  'sec-websocket-protocol': 'chat',
}

const open = (client: ClientHttp2Session, changed: OutgoingHttpHeaders = {}): ClientHttp2Stream =>
  client.request({ ...connect, ...changed }, { endStream: false })

suite('a WebSocket over HTTP/2', () => {
  test('is offered, reaches the service as an HTTP/1 upgrade, and carries bytes both ways until both ends close', async () => {
    await using service = await echo()
    await using host = await gateway(service.backend)
    const client = await host.client()
    assert.equal(client.remoteSettings.enableConnectProtocol, true)
    const stream = open(client)
    const content = randomBytes(3 * 2 ** 20)
    stream.end(content)
    const pieces: Buffer[] = []
    stream.on('data', (bytes: Buffer) => pieces.push(bytes))
    const answer = await answerOf(stream)
    assert.deepEqual([answer.status, answer.headers['sec-websocket-protocol'], answer.code], [200, 'chat', 0])
    assert.equal(answer.headers['sec-websocket-accept'], undefined)
    assert.deepEqual(Buffer.concat(pieces), content)
    const [head = ''] = service.heads
    assert.match(head, /^GET \/chat\?a=b HTTP\/1\.1\r\nHost: shop\.example\r\n/)
    assert.match(head, /^Connection: Upgrade\r\nUpgrade: websocket\r$/m)
    assert.match(head, /^Sec-WebSocket-Key: [\w+/]{22}==\r$/m)
  })

  test('ends at the service when the client resets it', async () => {
    const closed = Promise.withResolvers<void>()
    await using service = await echo()
    await using host = await gateway(async exchange => {
      const replied = await service.backend(exchange)
      exchange.clientAbort.onAbort(() => closed.resolve())
      return replied
    })
    const stream = open(await host.client())
    stream.on('error', () => undefined)
    await once(stream, 'response')
    stream.close(8)
    await closed.promise
  })

  test('that the service refuses gets its response', async () => {
    await using service = await echo(() => 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno')
    await using host = await gateway(service.backend)
    const answer = await answerOf(open(await host.client()))
    assert.deepEqual([answer.status, answer.text], [403, 'no'])
  })

  test('whose service sends a wrong Sec-WebSocket-Accept is not opened', async () => {
    await using service = await echo(
      () =>
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n',
    )
    await using host = await gateway(service.backend)
    assert.equal((await answerOf(open(await host.client()))).status, 502)
  })

  const refused: Record<string, OutgoingHttpHeaders> = {
    'another protocol': { ':protocol': 'connect-udp' },
    'another version': { 'sec-websocket-version': '8' },
  }
  for (const [name, changed] of Object.entries(refused))
    test(`of ${name} is refused`, async () => {
      await using host = await gateway(async () => reply(200, 'let in'))
      const answer = await answerOf(open(await host.client(), changed))
      assert.equal(answer.status, 400)
      assert.equal(host.seen.length, 0)
    })
})
