import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { createEgress, type EgressOptions } from '#base/egress-client.ts'
import type { Egress } from '#base/egress.ts'
import type { Backend, BackendParts } from '#gateway/backends/backend.ts'
import { buildBackend } from '#gateway/backends/index.ts'
import { tunnelBackend } from '#gateway/backends/tunnel.ts'
import type { Reply, ClientConnection } from '#http/exchange.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import { LocalDirectory } from '#registry/local-directory.ts'
import { TunnelIndex } from '#registry/tunnel-index.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { RequestContext } from '#http/request-context.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { loopback } from '../../base/egress/support.ts'
import { startFixture, type Http1Fixture } from '../../http/http1/support.ts'
import { testLog } from '../../support/secrets.ts'
import { listening, type Listening } from '../../support/net.ts'

type Body = Readonly<Record<string, unknown>>

/** Backend records as the API stores them. */
export const records = {
  fixed: (port: number, tls = false, host = '127.0.0.1') => ({
    kind: 'static_backend',
    body: { address: `${host}:${port}`, tls: { enabled: tls } },
  }),
  group: (labels: Readonly<Record<string, string>>) => ({ kind: 'tunnel_group_backend', body: { labels } }),
  weighted: (backends: Readonly<Record<string, number>>) => ({
    kind: 'weighted_backend',
    body: { backends },
  }),
  failover: (...backends: readonly string[]) => ({ kind: 'failover_backend', body: { backends } }),
  response: (body = '', status = 200, headers: Readonly<Record<string, string>> | null = null) => ({
    kind: 'http_response_backend',
    body: { body, status_code: status, headers },
  }),
}

interface Kept {
  readonly kind: string
  readonly body: Body
}

export const localEgress = (options: Partial<EgressOptions> = {}): Egress =>
  createEgress({ allow: loopback, lookup: async () => ['127.0.0.1'], ...options })

const noAgents: AgentDialer = {
  dial: () => Promise.reject(new DialError('offline', 'There are no agents.')),
  command: () => Promise.reject(new Error('There are no agents.')),
  probe: () => Promise.resolve(false),
  roundTrip: () => Promise.resolve(null),
}

/** Builds the first record, with the backends it refers to. */
export function build(rows: Readonly<Record<string, Kept>>, options: Partial<BackendParts> = {}): Backend {
  const parts: BackendParts = {
    edge: 'https',
    index: new TunnelIndex(new LocalDirectory(), 'node-1'),
    dialer: noAgents,
    makeTunnel: (tunnel, dialer) => tunnelBackend({ tunnel, dialer }),
    egress: localEgress(),
    log: testLog(),
    child: id => make(id),
    ...options,
  }
  const make = (id: string): Backend => {
    const row = rows[id]
    if (row === undefined) throw new Error(`There is no ${id}.`)
    const kept: SourceRow = { id, parent: null, version: 1, readable: true, ...row }
    return buildBackend(kept, parts)
  }
  return make(Object.keys(rows)[0] ?? '')
}

/** Clients on real sockets, served by a backend. */
export class HttpFront implements AsyncDisposable {
  readonly replies: Reply[] = []
  readonly traces: RequestContext[] = []
  readonly backend: Backend
  readonly #rig: Promise<Http1Fixture>

  constructor(backend: Backend) {
    this.backend = backend
    this.#rig = startFixture({
      answer: async exchange => {
        const reply = await backend.answer(exchange)
        this.replies.push(reply)
        this.traces.push(exchange.context)
        return reply
      },
    })
  }

  /** Sends one request and reads its answer. */
  async ask(text: string): Promise<{ status: number; head: string; body: string }> {
    const client = await (await this.#rig).connect()
    client.send(text)
    const answer = await client.answer()
    client.close()
    return answer
  }

  get = (path = '/') => this.ask(`GET ${path} HTTP/1.1\r\nHost: app.test\r\n\r\n`)

  post = (content: string) =>
    this.ask(`POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${content.length}\r\n\r\n${content}`)

  async connect() {
    return (await this.#rig).connect()
  }

  get lost(): readonly (string | undefined)[] {
    return this.replies.map(({ failure: lost }) => lost)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.backend.close()
    await (await this.#rig)[Symbol.asyncDispose]()
  }
}

interface Service extends Listening {
  readonly asked: { readonly text: string; readonly headers: IncomingMessage['headers'] }[]
}

/** A service that responds with its name by default. */
export async function service(name: string, answer?: RequestListener): Promise<Service> {
  const asked: Service['asked'] = []
  const local = await listening(
    createServer((request, response) => {
      let content = ''
      request.on('data', (bytes: Buffer) => (content += bytes.toString()))
      request.on('end', () => {
        const { method = '', url = '', headers } = request
        asked.push({ text: [method, url, content].join(' ').trim(), headers })
        if (answer === undefined) response.end(name)
        else answer(request, response)
      })
    }),
  )
  return { ...local, asked, [Symbol.asyncDispose]: () => local[Symbol.asyncDispose]() }
}

/** A service that accepts connections and closes each after the first read. */
export const closingService = (): Promise<Listening> =>
  listening(
    createTcpServer(socket => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end())
    }),
  )

const client: ClientConnection = {
  ip: '203.0.113.7',
  port: 50_000,
  localIp: '127.0.0.1',
  localPort: 8443,
  serverName: undefined,
}

/** Everything read from a stream whose sending side is ended. */
function readStream(stream: ByteStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    stream.attach({
      data: bytes => (text += bytes.toString()),
      end: () => resolve(text),
      closed: error => (error === undefined ? resolve(text) : reject(error)),
    })
    stream.end()
  })
}

/** Opens a connection without HTTP, sends a text and reads to the end. */
export async function exchangeBytes(backend: Backend, text: string): Promise<string> {
  if (backend.dial === undefined) throw new Error('The backend knows only HTTP.')
  return readStream(await backend.dial(client, Buffer.from(text)))
}

/** A TCP service that responds with its name and what it received. */
export const tcpService = (name: string): Promise<Listening> =>
  listening(
    createTcpServer({ allowHalfOpen: true }, socket => {
      let text = ''
      socket.on('data', bytes => (text += bytes.toString()))
      socket.on('end', () => socket.end(`${name}: ${text}`))
    }),
  )
