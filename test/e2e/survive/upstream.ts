import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { untilDrained, sleep } from './measurements.ts'

const BLOCK = Buffer.alloc(65_536, 'x')
export const TICK_MS = 100
export const TICK = Buffer.alloc(4096, 'y')

/** The service behind the tunnel; the first path segment selects its behaviour, the parameters the amount. */
export class Upstream implements AsyncDisposable {
  readonly port: number
  readonly #server: Server
  readonly #sockets: WebSocketServer

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.#sockets = new WebSocketServer({ server })
    this.#sockets.on('connection', socket => {
      socket.on('error', () => undefined)
      socket.on('message', message => socket.send(message))
    })
  }

  static async start(): Promise<Upstream> {
    const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (request, response) => {
      response.on('error', () => undefined)
      request.on('error', () => undefined)
      void serve(request, response)
    })
    // A rush of connections must not be held up by the system's own retries.
    await once(server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }), 'listening')
    return new Upstream(server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate()
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service')
  const number = (name: string): number => Number(searchParams.get(name))
  try {
    if (pathname === '/ticks') await tick(response, number('count'))
    else if (pathname === '/bulk') await pour(response, number('bytes'))
    else if (pathname === '/sink') response.end(String(await swallow(request, number('every'))))
    else response.end('hello')
  } catch {
    response.destroy()
  }
}

/** Content that takes its time. */
async function tick(response: ServerResponse, count: number): Promise<void> {
  response.setHeader('content-length', count * TICK.length)
  for (let sent = 0; sent < count && !response.destroyed; sent++) {
    response.write(TICK)
    await sleep(TICK_MS)
  }
  response.end()
}

/** As fast as it is taken. */
async function pour(response: ServerResponse, bytes: number): Promise<void> {
  response.setHeader('content-length', bytes)
  for (let left = bytes; left > 0 && !response.destroyed; left -= BLOCK.length)
    if (!response.write(left < BLOCK.length ? BLOCK.subarray(0, left) : BLOCK)) await untilDrained(response)
  response.end()
}

/** Takes content with a rest of a second after each so many bytes. */
async function swallow(request: IncomingMessage, every: number): Promise<number> {
  let [taken, rests] = [0, 0]
  for await (const piece of request as AsyncIterable<Buffer>) {
    taken += piece.length
    if (every === 0 || taken < (rests + 1) * every) continue
    rests++
    await sleep(1000)
  }
  return taken
}
