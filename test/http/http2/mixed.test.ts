import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttp1, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { suite, test } from 'node:test'
import type { Endpoint } from '#http/exchange.ts'
import { serveHttp1 } from '#http/http1-server-connection.ts'
import { h2c, tunnelTo } from './upstream-server.ts'
import { answerOf, gateway } from './support.ts'
import { httpClient } from '../../support/records.ts'

interface Behind extends AsyncDisposable {
  readonly backend: Endpoint
}

/** A service that echoes what it is sent, with a trailer that counts it, in either version of HTTP. */
async function echo(version: 'http1' | 'http2'): Promise<Behind> {
  const server =
    version === 'http1'
      ? createHttp1((incoming: IncomingMessage, answer: ServerResponse) => {
          answer.writeHead(200, { Trailer: 'x-count', 'x-method': incoming.method })
          let count = 0
          incoming.on('data', (bytes: Buffer) => (count += bytes.length))
          incoming.on('end', () => answer.addTrailers({ 'x-count': String(count) }))
          incoming.pipe(answer)
        })
      : h2c((stream, headers) => {
          stream.respond({ ':status': 200, 'x-method': headers[':method'] }, { waitForTrailers: true })
          let count = 0
          stream.on('data', (bytes: Buffer) => (count += bytes.length))
          stream.on('wantTrailers', () => stream.sendTrailers({ 'x-count': count }))
          stream.pipe(stream)
        })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const backend = tunnelTo(port, version)
  return {
    backend,
    async [Symbol.asyncDispose]() {
      backend.close()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

interface Result {
  readonly status: number | undefined
  readonly digest: string
  readonly count: unknown
}

type Visit = (backend: Endpoint, method: string, pieces: readonly Buffer[]) => Promise<Result>

const visits: Record<string, Visit> = {
  async http1(backend, method, pieces) {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: false }, socket => {
      serveHttp1(socket, { client: httpClient(), answer: backend })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const asked = request({ port, method, agent: false, headers: { connection: 'close' } })
    const answered = once(asked, 'response')
    const sent = pipeline(pieces, asked)
    const [answer] = (await answered) as [IncomingMessage]
    const hash = createHash('sha256')
    for await (const bytes of answer) hash.update(bytes as Buffer)
    await sent
    await new Promise(resolve => server.close(resolve))
    return { status: answer.statusCode, digest: hash.digest('hex'), count: answer.trailers['x-count'] }
  },
  async http2(backend, method, pieces) {
    await using host = await gateway(backend)
    const stream = (await host.client()).request(
      { ':path': '/', ':method': method },
      { endStream: pieces.length === 0 },
    )
    const hash = createHash('sha256')
    stream.on('data', (bytes: Buffer) => hash.update(bytes))
    const sent = pieces.length === 0 ? undefined : pipeline(pieces, stream)
    const answer = await answerOf(stream)
    await sent
    return { status: answer.status, digest: hash.digest('hex'), count: answer.trailers?.['x-count'] }
  },
}

const digestOf = (pieces: readonly Buffer[]): string => {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}

const block = randomBytes(64 * 1024)

for (const [from, visit] of Object.entries(visits))
  for (const to of ['http1', 'http2'] as const)
    suite(`from ${from} to ${to}`, () => {
      for (const [method, count] of [
        ['GET', 0],
        ['POST', 1],
        ['PUT', 64],
      ] as const)
        test(`${method} with ${count * 64} KiB each way, and trailers`, async () => {
          await using behind = await echo(to)
          const pieces = Array.from({ length: count }, () => block)
          const result = await visit(behind.backend, method, pieces)
          assert.equal(result.status, 200)
          assert.equal(result.digest, digestOf(pieces))
          assert.equal(result.count, String(count * block.length))
        })
    })
