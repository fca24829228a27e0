import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import type { World } from '../world.ts'

export interface Answered {
  /** 0 when the connection or stream ended without an answer. */
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
}

const NOTHING: Answered = { status: 0, headers: new Map(), text: '' }

/** An answer of HTTP/1 as it came; its content is all that follows, which none of ours sends in chunks. */
export function readAnswer(bytes: Buffer): Answered {
  const text = bytes.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? []
  if (end < 0 || status === undefined) return NOTHING
  const lines = text.slice(0, end).split('\r\n').slice(1)
  const headers = lines.map(line => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ])
  return {
    status: Number(status),
    headers: new Map(headers as [string, string][]),
    text: bytes.toString('utf8', end + 4),
  }
}

const httpsPort = ({ server }: World): number => server.bound.https?.port ?? 0

/** A TLS connection for raw bytes. */
export async function secured(world: World, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({
    host: '127.0.0.1',
    port: httpsPort(world),
    rejectUnauthorized: false,
    ...options,
  })
  await once(socket, 'secureConnect')
  socket.on('error', () => undefined)
  return socket
}

/** Sends bytes, and reads until the peer has finished. */
export async function exchanged(socket: Socket, bytes: Buffer | string): Promise<Buffer> {
  socket.on('error', () => undefined)
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  try {
    return await buffer(socket)
  } catch {
    return Buffer.alloc(0)
  }
}

/** Sends bytes to a port in the clear. */
export const sentPlain = async (port: number, bytes: Buffer | string): Promise<Buffer> =>
  exchanged(connectTcp({ port, host: '127.0.0.1' }), bytes)

/** Sends a request as bytes, by TLS to a name. */
export async function sent(world: World, servername: string, bytes: Buffer | string): Promise<Answered> {
  return readAnswer(await exchanged(await secured(world, { servername }), bytes))
}

/** The head of a request that wants no second one. */
export const head = (target: string, host: string, lines = '', method = 'GET'): string =>
  `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${lines}\r\n`

/** A session of HTTP/2 with a name. */
export async function session(world: World, servername: string): Promise<ClientHttp2Session & Disposable> {
  const made = connectHttp2(`https://${servername}:${httpsPort(world)}`, {
    host: '127.0.0.1',
    servername,
    rejectUnauthorized: false,
    createConnection: () =>
      connectTls({
        host: '127.0.0.1',
        port: httpsPort(world),
        servername,
        rejectUnauthorized: false,
        ALPNProtocols: ['h2'],
      }),
  })
  made.on('error', () => undefined)
  await once(made, 'remoteSettings')
  return Object.assign(made, { [Symbol.dispose]: () => made.destroy() })
}

interface Streamed {
  readonly content?: string
  readonly trailers?: OutgoingHttpHeaders
}

/** One request of HTTP/2. */
export async function streamed(
  made: ClientHttp2Session,
  pairs: OutgoingHttpHeaders,
  { content, trailers }: Streamed = {},
): Promise<Answered> {
  const stream = made.request(pairs, {
    endStream: content === undefined,
    waitForTrailers: trailers !== undefined,
  })
  stream.on('wantTrailers', () => stream.sendTrailers(trailers ?? {}))
  const { promise, resolve } = Promise.withResolvers<Answered>()
  let found = NOTHING
  const pieces: Buffer[] = []
  stream.on('response', ({ ':status': status = 0, ...headers }) => {
    const shown = Object.entries(headers).map(([name, value]) => [name, String(value)] as const)
    found = { status, headers: new Map(shown), text: '' }
  })
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  stream.on('error', () => undefined)
  stream.on('close', () => resolve({ ...found, text: Buffer.concat(pieces).toString() }))
  if (content !== undefined) stream.end(content)
  return promise
}

/** A service that keeps every byte it gets, and answers with its own name. */
export class Recorder implements AsyncDisposable {
  readonly port: number
  readonly #server: ReturnType<typeof createServer>
  readonly #sockets = new Set<Socket>()
  readonly #requests: string[]

  private constructor(server: ReturnType<typeof createServer>, sockets: Set<Socket>, requests: string[]) {
    this.#server = server
    this.#sockets = sockets
    this.#requests = requests
    this.port = (server.address() as AddressInfo).port
  }

  static async start(name: string): Promise<Recorder> {
    const requests: string[] = []
    const sockets = new Set<Socket>()
    const server = createServer(socket => {
      sockets.add(socket)
      let text = ''
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
      socket.on('data', bytes => {
        text += bytes.toString('latin1')
        if (!isWhole(text)) return
        requests.push(text)
        text = ''
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${name.length}\r\nConnection: close\r\n\r\n${name}`)
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return new Recorder(server, sockets, requests)
  }

  /** The requests since the last call. */
  taken(): string[] {
    return this.#requests.splice(0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end + 2)) ?? []
  if (length !== undefined) return text.length >= end + 4 + Number(length)
  return !/\r\ntransfer-encoding:/i.test(text.slice(0, end + 2)) || /\r\n0\r\n(?:.*\r\n)*\r\n$/.test(text)
}

/** The fields of a request as a service got it, with names in lower case. */
export function fieldsIn(request: string): [name: string, value: string][] {
  const lines = request.slice(0, request.indexOf('\r\n\r\n')).split('\r\n').slice(1)
  return lines.map(line => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ])
}
