import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { type TunnelBackendOptions, tunnelBackend } from '#gateway/backends/tunnel.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint } from '#http/exchange.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import type { Http1ClientLimits } from '#http/http1-limits.ts'
import { type Served, type ServeOptions, serveHttp1 } from '#http/http1-server-connection.ts'
import type { SiteIsolation } from '#http/site-isolation.ts'
import { TimeoutChecker } from '#http/timeout-checker.ts'
import { asDuplex } from '#tunnel/duplex.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'
import { encodeProxyHeader, readProxyHeader } from '#tunnel/proxy-header.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { until } from '../../support/until.ts'
import { tunnelRecord } from '../../support/records.ts'

export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

export interface FixtureOptions {
  /** The service behind: any server of node. */
  readonly upstream?: Server
  readonly tunnel?: TunnelRecord
  readonly limits?: Partial<Http1ClientLimits>
  readonly isolation?: SiteIsolation
  readonly backend?: Partial<TunnelBackendOptions>
  /** Clients connect over TLS; this is the certificate. */
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Responds instead of the tunnel. */
  readonly answer?: Endpoint
  readonly own?: ServeOptions['own']
  /** What the agent does with a connection instead of forwarding it. */
  readonly agent?: (stream: TunnelStream, header: ProxyHeader, count: number) => void
}

/** A gateway with one tunnel, its agent and the service behind, all on sockets of this machine. */
export class Http1Fixture implements AsyncDisposable {
  /** The number of streams opened at the agent. */
  readonly dialled: ProxyHeader[] = []
  readonly served: Served[] = []
  readonly upstreamSockets = new Set<Socket>()
  port = 0
  gateway: MuxSession | undefined
  readonly #options: FixtureOptions
  readonly #sockets = new Set<Socket>()
  readonly #front: Server
  readonly #link: Server
  #upstreamPort = 0
  #backend: Endpoint | undefined

  constructor(options: FixtureOptions) {
    this.#options = options
    const settings = { allowHalfOpen: true, noDelay: true, ...options.tls }
    const serve = (socket: Socket): void => this.#serve(socket)
    this.#front = options.tls ? createTlsServer(settings, serve) : createServer(settings, serve)
    this.#link = createServer({ noDelay: true }, socket => this.#agent(socket))
  }

  async start(): Promise<this> {
    const { upstream, tunnel = tunnelRecord(), backend } = this.#options
    if (upstream !== undefined) {
      upstream.on('connection', (socket: Socket) => {
        this.#sockets.add(socket)
        this.upstreamSockets.add(socket)
        socket.on('error', () => undefined)
        socket.on('close', () => this.upstreamSockets.delete(socket))
      })
      this.#upstreamPort = await listening(upstream)
    }
    const socket = connect(await listening(this.#link), '127.0.0.1')
    this.#sockets.add(socket)
    await once(socket, 'connect')
    this.gateway = new MuxSession(socket, { role: 'server' })
    const timeouts = new TimeoutChecker(20)
    this.#backend = tunnelBackend({ dialer: this.#dialer(this.gateway), tunnel, timeouts, ...backend })
    this.port = await listening(this.#front)
    return this
  }

  /** A client that sends raw bytes. */
  async connect(): Promise<Client> {
    const place = { port: this.port, host: '127.0.0.1', allowHalfOpen: true }
    const socket = this.#options.tls ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place)
    this.#sockets.add(socket)
    await once(socket, this.#options.tls ? 'secureConnect' : 'connect')
    return new Client(socket)
  }

  /** What a client receives that sends this and then waits for the end of the connection. */
  async exchange(...parts: readonly string[]): Promise<string> {
    const client = await this.connect()
    for (const part of parts) client.send(part)
    return client.readToEnd()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.gateway?.close()
    for (const socket of this.#sockets) socket.destroy()
    for (const server of [this.#front, this.#link, this.#options.upstream])
      if (server?.listening) await new Promise(done => server.close(done))
  }

  #dialer(session: MuxSession): AgentDialer {
    return {
      dial: async (_, header, first) => {
        try {
          return await session.open(streamTypes.proxy, Buffer.concat([encodeProxyHeader(header), first]))
        } catch (error) {
          throw new DialError('offline', 'The agent is gone.', error)
        }
      },
      command: () => Promise.reject(new Error('not here')),
      probe: () => Promise.resolve(true),
      roundTrip: () => Promise.resolve(null),
    }
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    const answer = this.#options.answer ?? this.#backend
    if (answer === undefined) throw new Error('The rig was not started.')
    const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = socket
    this.served.push(
      serveHttp1(socket, {
        client: {
          ip: remoteAddress,
          port: remotePort,
          localIp: localAddress,
          localPort,
          scheme: 'http',
          serverName: undefined,
        },
        answer,
        timeouts: new TimeoutChecker(20),
        limits: this.#options.limits ?? {},
        isolation: this.#options.isolation,
        ...(this.#options.own && { own: this.#options.own }),
      }),
    )
  }

  #agent(socket: Socket): void {
    this.#sockets.add(socket)
    const session = new MuxSession(socket, {
      role: 'client',
      accept: (_, stream) => void this.#forward(stream),
    })
    session.ackImmediately = false
  }

  async #forward(stream: TunnelStream): Promise<void> {
    const header = await readProxyHeader(stream)
    this.dialled.push(header)
    if (this.#options.agent) this.#options.agent(stream, header, this.dialled.length)
    else forward(stream, this.#upstreamPort)
  }
}

/** What an agent does: it joins a stream with a connection of its own. */
function forward(stream: TunnelStream, port: number): void {
  const upstream = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  const duplex: Duplex = asDuplex(stream)
  upstream.on('error', () => duplex.end())
  duplex.on('error', () => upstream.destroy())
  upstream.on('close', () => duplex.end())
  duplex.pipe(upstream).pipe(duplex)
}

export const startFixture = async (options: FixtureOptions): Promise<Http1Fixture> =>
  new Http1Fixture(options).start()

/** A client that sends and reads raw bytes. */
export class Client {
  readonly socket: Socket
  text = ''
  ended = false
  #wake: (() => void) | undefined

  constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.text += text
      this.#wake?.()
    })
    const over = (): void => {
      this.ended = true
      this.#wake?.()
    }
    socket.on('end', over)
    socket.on('close', over)
    socket.on('error', over)
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** Waits until the condition holds of what came; fails when the connection ends before. */
  async until(holds: (text: string) => boolean): Promise<string> {
    const look = () => {
      if (this.ended && !holds(this.text))
        throw new Error(`The connection ended after ${JSON.stringify(this.text.slice(-300))}`)
      return this.text
    }
    return until(look, { fits: holds, next: () => this.#change() })
  }

  async received(part: string): Promise<string> {
    return this.until(text => text.includes(part))
  }

  /** All that comes until the gateway ends the connection. */
  async readToEnd(): Promise<string> {
    await until(() => this.ended, { next: () => this.#change() })
    return this.text
  }

  /** The next final answer, cut from what came. */
  async answer(): Promise<Answer> {
    await this.until(text => measure(text) !== undefined)
    const size = measure(this.text) ?? 0
    const found = parseAnswer(this.text.slice(0, size))
    this.text = this.text.slice(size)
    return found.status < 200 && found.status !== 101 ? this.answer() : found
  }

  close(): void {
    this.socket.destroy()
  }

  async #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await promise
  }
}

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

function parseAnswer(text: string): Answer {
  const end = text.indexOf('\r\n\r\n')
  return { status: Number(text.slice(9, 12)), head: text.slice(0, end + 2), body: text.slice(end + 4) }
}

/** Length of the first answer in a text, if it is all there; answers here have a length, chunks or nothing. */
function measure(text: string): number | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = text.slice(0, end + 2).toLowerCase()
  const length = /\r\ncontent-length: (\d+)\r\n/.exec(head)?.[1]
  if (length !== undefined) {
    const size = end + 4 + Number(length)
    return text.length >= size ? size : undefined
  }
  if (!head.includes('transfer-encoding: chunked')) return end + 4
  const last = text.indexOf('\r\n0\r\n', end)
  const finish = last < 0 ? -1 : text.indexOf('\r\n\r\n', last)
  return finish < 0 ? undefined : finish + 4
}

/** The status of an answer, and that nothing follows it. */
export function statusOf(text: string): number {
  const heads = text.match(/HTTP\/1\.1 \d{3}/g) ?? []
  if (heads.length !== 1) throw new Error(`${heads.length} answers: ${JSON.stringify(text.slice(0, 400))}`)
  return parseAnswer(text).status
}
