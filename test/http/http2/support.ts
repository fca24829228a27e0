import { once } from 'node:events'
import http2, { type ClientHttp2Session } from 'node:http2'
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import type { Endpoint, Exchange, Reply, HttpClientConnection } from '#http/exchange.ts'
import { bodyOf, noBody, type Body, type BodySink, type Framing } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { serveHttp2, type Http2Connection, type Http2Options } from '#http/http2/server.ts'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import { TunnelError } from '#tunnel/frame.ts'
import { issue } from '../../support/openssl.ts'
import { Folder } from '../../support/folder.ts'

async function identity(): Promise<{ cert: string; key: string }> {
  using folder = new Folder()
  const { certificate, key } = await issue(folder, { name: 'localhost' })
  return { cert: certificate, key }
}

const { cert, key } = await identity()

export interface Gateway extends AsyncDisposable {
  readonly port: number
  readonly certificate: Buffer
  readonly connections: Http2Connection[]
  /** Requests that reached the endpoint. */
  readonly seen: Exchange[]
  client(): Promise<ClientHttp2Session>
  raw(): Promise<TLSSocket>
}

/** A TLS listener that serves HTTP/2 only, with answers of the endpoint given. */
export async function gateway(answer: Endpoint, options: Partial<Http2Options> = {}): Promise<Gateway> {
  const connections: Http2Connection[] = []
  const seen: Exchange[] = []
  const clients: ClientHttp2Session[] = []
  const counted: Endpoint = exchange => {
    seen.push(exchange)
    return answer(exchange)
  }
  const server = createServer({ cert, key, ALPNProtocols: ['h2'] }, socket => {
    connections.push(serveHttp2(socket, { ...options, client: clientOf(socket), answer: counted }))
  })
  server.on('tlsClientError', () => undefined)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const raw = async () => {
    const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false })
    socket.on('error', () => undefined)
    await once(socket, 'secureConnect')
    return socket
  }
  return {
    port,
    certificate: Buffer.from(cert),
    connections,
    seen,
    raw,
    async client() {
      const session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
      session.on('error', () => undefined)
      clients.push(session)
      await once(session, 'remoteSettings')
      return session
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy()
      for (const connection of connections) connection.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const clientOf = (socket: TLSSocket): HttpClientConnection => ({
  ip: socket.remoteAddress ?? '',
  port: socket.remotePort ?? 0,
  localIp: socket.localAddress ?? '',
  localPort: socket.localPort ?? 0,
  scheme: 'https',
  serverName: undefined,
})

/** An answer with content at hand. */
export function reply(status: number, text: string, lines = ''): Reply {
  const body = text === '' ? noBody : bodyOf(Buffer.from(text))
  return { head: { status, reason: '', framing: body.framing, fields: new Fields(lines) }, body }
}

/** A body that a test feeds by hand, and which counts pauses. */
export class ManualBody implements Body {
  readonly framing: Framing
  paused = false
  cancelled = false
  readonly started = Promise.withResolvers<BodySink>()
  resumed: (() => void) | undefined

  constructor(framing: Framing = { kind: 'chunked' }) {
    this.framing = framing
  }

  read(sink: BodySink): void {
    this.started.resolve(sink)
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
    this.resumed?.()
  }

  cancel(): void {
    this.cancelled = true
  }
}

interface Content {
  readonly bytes: Buffer
  readonly trailers: string
}

/** All of a body, up to its end. */
export function readBody(body: Body, raw = false): Promise<Content> {
  const pieces: Buffer[] = []
  return new Promise((resolve, reject) => {
    body.read(
      {
        data: bytes => pieces.push(bytes),
        end: trailers => resolve({ bytes: Buffer.concat(pieces), trailers }),
        fail: reject,
      },
      raw,
    )
  })
}

interface Answer {
  readonly status: number | undefined
  readonly headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader
  readonly text: string
  readonly trailers: http2.IncomingHttpHeaders | undefined
  readonly interim: (http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader)[]
  readonly code: number | undefined
}

type Content2 = string | Buffer | undefined

/** One request with node's own client, up to its end; a reset is part of the answer. */
export function ask(
  client: ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  content?: Content2,
  trailers?: http2.OutgoingHttpHeaders,
): Promise<Answer> {
  const stream = client.request(headers, {
    endStream: content === undefined,
    waitForTrailers: trailers !== undefined,
  })
  if (trailers !== undefined) stream.on('wantTrailers', () => stream.sendTrailers(trailers))
  if (content !== undefined) stream.end(content)
  return answerOf(stream)
}

export async function answerOf(stream: http2.ClientHttp2Stream): Promise<Answer> {
  const pieces: Buffer[] = []
  const interim: Answer['interim'] = []
  let head: Answer['headers'] = {}
  let trailers: http2.IncomingHttpHeaders | undefined
  stream.on('error', () => undefined)
  stream.on('headers', headers => interim.push(headers))
  stream.on('response', headers => (head = headers))
  stream.on('trailers', headers => (trailers = headers))
  stream.on('data', (bytes: Buffer) => pieces.push(bytes))
  // Not `once` of node:events, which would reject for a reset.
  await new Promise(resolve => stream.once('close', resolve))
  const text = Buffer.concat(pieces).toString()
  return { status: head[':status'], headers: head, text, trailers, interim, code: stream.rstCode }
}

/** A plain socket as the stream that a tunnel would give. */
export class SocketStream implements ByteStream {
  readonly #socket: Socket
  #sink: Sink | undefined
  #paused = false
  peerFinished = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => undefined)
    socket.pause()
    socket.on('data', (bytes: Buffer) => this.#sink?.data(bytes))
    socket.on('end', () => {
      this.peerFinished = true
      this.#sink?.end()
    })
    socket.on('drain', () => this.#sink?.writable?.())
    socket.on('close', () => this.#sink?.closed(this.#error()))
  }

  static async to(port: number): Promise<SocketStream> {
    const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    await once(socket, 'connect')
    return new SocketStream(socket)
  }

  get closed(): boolean {
    return this.#socket.destroyed
  }

  attach(sink: Sink): void {
    this.#sink = sink
    if (this.closed) sink.closed(this.#error())
    else if (!this.#paused) this.#socket.resume()
  }

  detach(rest?: Buffer): void {
    this.#sink = undefined
    this.#socket.pause()
    if (rest !== undefined && rest.length > 0) this.#socket.unshift(rest)
  }

  pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#paused = false
    this.#socket.resume()
  }

  write(bytes: Buffer): boolean {
    return this.#socket.write(bytes)
  }

  end(bytes?: Buffer): void {
    this.#socket.end(bytes ?? Buffer.alloc(0))
  }

  abort(): void {
    this.#sink = undefined
    this.#socket.destroy()
  }

  #error(): TunnelError | undefined {
    return this.peerFinished ? undefined : new TunnelError('stream_reset', 'The socket was closed.')
  }
}
