import { once } from 'node:events'
import http2, { type ClientHttp2Session } from 'node:http2'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Http2Limits } from '#http2/limits.ts'
import type { RequestFields } from '#http2/request-fields.ts'
import { Http2ServerConnection } from '#http2/server-connection.ts'
import type { Http2ServerStream, ServerStreamReader } from '#http2/server-stream.ts'

type Handle = (stream: Http2ServerStream, head: RequestFields, isComplete: boolean) => void

interface Host extends AsyncDisposable {
  readonly port: number
  readonly connections: Http2ServerConnection[]
  /** A connection of node's own client, whose protocol is that of nghttp2. */
  client(): Promise<ClientHttp2Session>
  raw(): Promise<Socket>
}

/** A reader that takes everything, except for what a test overrides. */
export const reader = (given: Partial<ServerStreamReader> = {}): ServerStreamReader => ({
  data: () => undefined,
  end: () => undefined,
  drained: () => undefined,
  sent: () => undefined,
  checkTimeouts: () => undefined,
  closed: () => undefined,
  ...given,
})

/** Serves HTTP/2 without TLS. */
export async function serve(request: Handle, limits: Partial<Http2Limits> = {}): Promise<Host> {
  const connections: Http2ServerConnection[] = []
  const sockets: Socket[] = []
  const clients: ClientHttp2Session[] = []
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.push(socket)
    const connection = new Http2ServerConnection(socket, {
      limits,
      request,
      closed: () => undefined,
      now: () => performance.now(),
    })
    connections.push(connection)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    connections,
    async client() {
      const session = http2.connect(`http://127.0.0.1:${port}`)
      session.on('error', () => undefined)
      clients.push(session)
      await once(session, 'remoteSettings')
      return session
    },
    async raw() {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      sockets.push(socket)
      await once(socket, 'connect')
      return socket
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy()
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Numbers that look random and are the same in every run. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state % below
  }
}
