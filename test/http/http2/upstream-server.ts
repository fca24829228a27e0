import { once } from 'node:events'
import http2, { type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo, Server, Socket } from 'node:net'
import {
  http2Backend,
  type Http2Backend,
  type Http2BackendOptions,
} from '#gateway/backends/http2-upstream.ts'
import { tunnelBackend } from '#gateway/backends/tunnel.ts'
import { SocketStream } from './support.ts'
import { tunnelRecord } from '../../support/records.ts'

/** A tunnel whose upstream uses HTTP/2. */
export const tunnel = tunnelRecord({
  address: { scheme: 'https', host: 'shop.example' },
  url: 'https://shop.example',
  forwardsProto: 'http2',
})

/** The backend of a tunnel whose agent forwards to a port on loopback. */
export const tunnelTo = (port: number, forwardsProto: 'http1' | 'http2') =>
  tunnelBackend({
    dialer: {
      async dial(_tunnel, _header, first) {
        const stream = await SocketStream.to(port)
        if (first.length > 0) stream.write(first)
        return stream
      },
      command: () => Promise.reject(new Error('not asked')),
      probe: () => Promise.resolve(true),
      roundTrip: () => Promise.resolve(null),
    },
    tunnel: { ...tunnel, forwardsProto },
  })

interface Upstream extends AsyncDisposable {
  readonly backend: Http2Backend
  readonly port: number
  readonly sockets: Socket[]
}

/** A backend in front of a server on loopback. */
export async function upstream(
  server: Server | http2.Http2Server,
  options: Partial<Http2BackendOptions> = {},
): Promise<Upstream> {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => sockets.push(socket.on('error', () => undefined)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const backend = http2Backend({ dial: () => SocketStream.to(port), tunnel, ...options })
  return {
    backend,
    port,
    sockets,
    async [Symbol.asyncDispose]() {
      backend.close()
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** A server of HTTP/2 without TLS. */
export const h2c = (
  handle: (stream: ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => void,
  settings: http2.Settings = {},
): http2.Http2Server =>
  http2
    .createServer({ settings })
    .on('sessionError', () => undefined)
    .on('stream', (stream, headers) => {
      stream.on('error', () => undefined)
      handle(stream as ServerHttp2Stream, headers)
    })
