import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { Agent as Connections, createServer, type IncomingMessage, request, type Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { Agent as TlsConnections, request as requestTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex, Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { after, before, suite, test } from 'node:test'
import { connect } from '#agent/index.ts'
import { GatewayProcess, HOST } from './agent-support.ts'

const CLIENTS = 8
const REQUESTS = 24
const LARGEST_BODY = 400_000
// From what shares a block of memory with others to more than one frame.
const PIECES = [100, 5000, 15_000, 16_400, 40_000, 90_000]
/** For this path the service responds before it has read the body. */
const UNREAD = '/unread'

const answer = randomBytes(30_000)

interface Sent {
  readonly path: string
  readonly body: Writable
  readonly response: Promise<Readable>
}
type Send = (path: string, length: number | undefined) => Sent

/** Writes random pieces, as fast as they are read. */
async function writePieces(target: Writable, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length && !target.destroyed;) {
    const end = at + randomInt(1, PIECES[randomInt(PIECES.length)] ?? 2)
    if (!target.write(bytes.subarray(at, end)))
      await Promise.race([once(target, 'drain'), once(target, 'close')])
    at = end
  }
  target.end()
}

/** Reads all, with pauses. */
async function readUnevenly(source: Readable): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of source as AsyncIterable<Buffer>) {
    pieces.push(piece)
    if (randomInt(4) === 0) await turn()
  }
  return Buffer.concat(pieces)
}

async function echo(asked: IncomingMessage, response: Writable): Promise<void> {
  await writePieces(response, await buffer(asked))
}

async function exchange(send: Send): Promise<void> {
  const bytes = randomBytes(randomInt(LARGEST_BODY))
  const isUnread = randomInt(6) === 0
  const { path, body, response } = send(
    isUnread ? UNREAD : '/',
    randomInt(2) === 0 ? bytes.length : undefined,
  )
  const written = writePieces(body, bytes).catch(() => undefined)
  // A connection that ends before its client has sent all may lose the response.
  const received = await response.then(readUnevenly).catch((error: Error) => {
    assert.ok(isUnread, error)
    return answer
  })
  const expected = isUnread ? answer : bytes
  const shown = received.toString('latin1', 0, 300)
  assert.ok(received.equals(expected), `${path}: not the ${expected.length} bytes that were sent: ${shown}`)
  body.destroy()
  await written
}

suite('bodies through a tunnel stay as they are', () => {
  let gateway: GatewayProcess
  let service: Server
  let hosts = { http: '', https: '' }
  let stop: () => Promise<void>

  before(async () => {
    service = createServer((asked, response) => {
      if (asked.url === UNREAD) response.end(answer)
      else void echo(asked, response)
    })
    await once(service.listen(0, HOST), 'listening')
    gateway = await GatewayProcess.start()
    const agent = await connect(gateway.options)
    const { port } = service.address() as AddressInfo
    const listen = async (proto: 'http' | 'https') =>
      new URL((await agent.listen({ proto, forwardTo: port })).url).hostname
    hosts = { http: await listen('http'), https: await listen('https') }
    stop = () => agent.close()
  })
  after(async () => {
    await stop()
    await gateway[Symbol.asyncDispose]()
    service.close()
    service.closeAllConnections()
  })

  const http1 =
    (secure: boolean): Send =>
    (path, length) => {
      const { http, https } = gateway.process.bound
      const host = secure ? hosts.https : hosts.http
      // After an early response the gateway may close the connection.
      const kept = path !== UNREAD
      const options = {
        host: HOST,
        path,
        method: 'POST',
        headers: { host, ...(length !== undefined && { 'content-length': length }) },
      }
      const asked = secure
        ? requestTls({
            ...options,
            port: https?.port,
            servername: host,
            ca: gateway.rootPem,
            agent: kept && tls,
          })
        : request({ ...options, port: http?.port, agent: kept && plain })
      // A response that came before the end of the body may end the connection.
      asked.on('error', () => undefined)
      const response = once(asked, 'response').then(([answered]) => answered as IncomingMessage)
      return { path, body: asked, response }
    }
  const plain = new Connections({ keepAlive: true, maxSockets: CLIENTS })
  const tls = new TlsConnections({ keepAlive: true, maxSockets: CLIENTS })
  after(() => {
    plain.destroy()
    tls.destroy()
  })

  async function all(send: Send): Promise<void> {
    const client = async (): Promise<void> => {
      for (let count = 0; count < REQUESTS; count++) await exchange(send)
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
  }

  test('over HTTP/1', () => all(http1(false)))
  test('over HTTP/1 with TLS', () => all(http1(true)))
  test('over HTTP/2', async () => {
    const session = connectHttp2(`https://${hosts.https}:${gateway.process.bound.https?.port}`, {
      ca: gateway.rootPem,
      lookup: (_, __, done) => done(null, [{ address: HOST, family: 4 }]),
    })
    await all((path, length) => {
      const stream: Duplex = session.request({
        ':method': 'POST',
        ':path': path,
        ...(length !== undefined && { 'content-length': length }),
      })
      stream.on('error', () => undefined)
      return { path, body: stream, response: Promise.resolve(stream) }
    })
    session.destroy()
  })
})
