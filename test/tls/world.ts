import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { startServer, type TestServer } from '../support/server.ts'
import { caOf, signIn, web } from '../agent/support.ts'
import { HOST } from '../gateway/listeners/support.ts'
import type { TestCertificate } from './test-certificates.ts'

export interface Answer {
  readonly status: number
  /** The header fields that the service got, or the page of a refusal. */
  readonly body: Record<string, string> & { readonly error_code?: string }
}

/** Client TLS options: the server name, by default the host, and the client certificate. */
interface TlsClientOptions extends ConnectionOptions {
  readonly by?: TestCertificate | undefined
  /** Null: none. */
  readonly sni?: string | null
}

/** The whole program with a service behind tunnels, and its clients. */
export async function startWorld() {
  const server = await startServer()
  const service = await web(({ headers }, response) => response.end(JSON.stringify(headers)))
  const agent = await signIn(server)
  await agent.listen({ labels: { app: 'web' }, forwardTo: service.port })
  const world = new World(server, async () => {
    await agent[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })
  return world
}

export class World implements AsyncDisposable {
  readonly server: TestServer
  readonly ca: string
  readonly port: number
  readonly #close: () => Promise<void>
  #groups = new Map<string, string>()

  constructor(server: TestServer, close: () => Promise<void>) {
    this.server = server
    this.ca = readFileSync(caOf(server), 'utf8')
    this.port = server.bound.https?.port ?? 0
    this.#close = close
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close()
  }

  async create(path: string, body: object): Promise<string> {
    const answer = await this.server.api.post(path, body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return String(answer.body.id)
  }

  authority = ({ pem }: TestCertificate): Promise<string> =>
    this.create('/certificate_authorities', { ca_pem: pem })

  /** The tunnels that carry a label. */
  async group(app: string): Promise<string> {
    const known = this.#groups.get(app) ?? (await this.create('/backends/tunnel_group', { labels: { app } }))
    this.#groups.set(app, known)
    return known
  }

  /** An HTTPS edge in front of the service. */
  async edge(name: string, modules: object = {}): Promise<string> {
    await this.create('/reserved_domains', { domain: name })
    const id = await this.create('/edges/https', { hostports: [`${name}:443`], ...modules })
    const backend = { backend_id: await this.group('web') }
    await this.create(`/edges/https/${id}/routes`, { match: '/', match_type: 'path_prefix', backend })
    return id
  }

  #options(host: string, { by, sni = host, ...more }: TlsClientOptions): ConnectionOptions {
    return {
      host: HOST,
      port: this.port,
      ca: this.ca,
      // Otherwise node checks the certificate of the server against the address.
      checkServerIdentity: () => undefined,
      ...(sni !== null && { servername: sni }),
      ...(by && { cert: by.chain, key: by.keyPem }),
      ...more,
    }
  }

  async connect(host: string, options: TlsClientOptions = {}): Promise<TLSSocket> {
    const socket = connect(this.#options(host, options))
    await once(socket, 'secureConnect')
    return socket
  }

  connect2(host: string, options: TlsClientOptions = {}): ClientHttp2Session {
    const socket = connect({ ...this.#options(host, options), ALPNProtocols: ['h2'] })
    const session = connectHttp2(`https://${host}`, { createConnection: () => socket })
    session.on('error', () => undefined)
    return session
  }

  /** One request on a connection of its own; undefined when the handshake is refused. */
  async ask(
    host: string,
    options: TlsClientOptions = {},
    fields: readonly string[] = [],
  ): Promise<Answer | undefined> {
    try {
      const socket = await this.connect(host, options)
      socket.write(head(host, [...fields, 'Connection: close']))
      return answerOf((await buffer(socket)).toString())
    } catch {
      return undefined
    }
  }

  /** The same over HTTP/2. */
  async ask2(host: string, options: TlsClientOptions = {}): Promise<Answer | undefined> {
    const session = this.connect2(host, options)
    try {
      return await askOn(session, host)
    } catch {
      return undefined
    } finally {
      session.destroy()
    }
  }
}

const head = (host: string, fields: readonly string[] = []): string =>
  [`GET / HTTP/1.1`, `Host: ${host}`, 'Accept: application/json', ...fields, '', ''].join('\r\n')

/** A request on a connection that is kept. */
export async function askKept(socket: TLSSocket, host: string): Promise<Answer> {
  socket.write(head(host))
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return answerOf(bytes.toString())
}

/** The same over HTTP/2. */
export async function askOn(session: ClientHttp2Session, host: string): Promise<Answer> {
  const stream = session.request({ ':authority': host, ':path': '/', accept: 'application/json' })
  stream.on('error', () => undefined)
  // A connection that is refused may end a request without an error.
  const over = once(stream, 'close').then(() => Promise.reject(new Error('the request has no answer')))
  over.catch(() => undefined)
  const [headers] = (await Promise.race([once(stream, 'response'), over])) as [Record<string, unknown>]
  return {
    status: Number(headers[':status']),
    body: JSON.parse((await buffer(stream)).toString()) as Answer['body'],
  }
}

function answerOf(text: string): Answer {
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
  return { status, body: JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as Answer['body'] }
}
