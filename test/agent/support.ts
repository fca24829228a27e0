import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  request,
  type RequestListener,
  type RequestOptions,
  type Server,
} from 'node:http'
import {
  createServer as createHttp2,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import { request as requestTls } from 'node:https'
import {
  connect as connectTcp,
  createServer as createTcp,
  type Server as TcpServer,
  type Socket,
} from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { type Agent, type AgentOptions, type AgentStatus, connect } from '#agent/index.ts'
import type { TestServer } from '../support/server.ts'
import { assertNoSecretInPage, RecordedOutput } from '../support/secrets.ts'
import { until } from '../support/until.ts'
import { listening, type Listening } from '../support/net.ts'

export const HOST = '127.0.0.1'

export const caOf = ({ dataDir }: Pick<TestServer, 'dataDir'>): string => join(dataDir, 'ca.pem')
export const addressOf = ({ bound }: Pick<TestServer, 'bound'>): string => `${HOST}:${bound.agent?.port}`

export const optionsFor = (server: TestServer): AgentOptions => ({
  server: addressOf(server),
  authtoken: server.authtoken,
  ca: caOf(server),
  retry: { baseMs: 20, capMs: 200 },
})

/** An agent that is closed at the end of its block, signed in at a server. */
export async function signIn(
  server: TestServer,
  options: AgentOptions = {},
): Promise<Agent & AsyncDisposable> {
  return disposable(await connect({ ...optionsFor(server), ...options }))
}

export const disposable = (agent: Agent): Agent & AsyncDisposable =>
  Object.assign(agent, { [Symbol.asyncDispose]: () => agent.close() })

/** Blocks this process at its next connection, for longer than Node waits for one of several addresses. */
export function stallAtConnect(): void {
  const stall = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
  const begun = (): void => {
    unsubscribe('net.client.socket', begun)
    // The connection is under way after the current turn, and its event is read in the next one.
    process.nextTick(() => process.nextTick(stall))
  }
  subscribe('net.client.socket', begun)
}

/** Keeps the states an agent goes through, and lets a test wait for one. */
export class StatusLog {
  readonly seen: AgentStatus[] = []
  readonly #published = new RecordedOutput('the status of an agent')
  #wake = Promise.withResolvers<void>()

  readonly onStatus = (status: AgentStatus): void => {
    this.seen.push(status)
    this.#published.write(inspect(status))
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  /** The first status that fits and was reported after `from` others. */
  next(fits: (status: AgentStatus) => boolean, from = 0): Promise<AgentStatus> {
    const look = () => this.seen.slice(from).find(status => fits(status))
    return until(look, { what: `status: ${String(fits)}`, next: () => this.#wake.promise })
  }
}

export interface Service extends Listening {
  readonly server: Server | Http2Server | TcpServer
}

const started = async (server: Server | Http2Server | TcpServer): Promise<Service> => ({
  ...(await listening(server)),
  server,
})

/** A web service on this machine. */
export const web = (listener: RequestListener): Promise<Service> => started(createServer(listener))

/** The same by HTTP/2 without TLS. */
export const web2 = (
  listener: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
): Promise<Service> => started(createHttp2(listener))

/** A service that speaks TCP. */
export const tcp = (serve: (socket: Socket) => void): Promise<Service> =>
  started(createTcp({ allowHalfOpen: true }, serve))

export interface Page {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: string
}

interface FetchOptions extends RequestOptions {
  readonly ca?: string
  readonly body?: string | Buffer
}

/** Visits a public address; its name need not be known to any DNS. */
export async function visit(url: string, options: FetchOptions = {}): Promise<Page> {
  const { hostname, host, port, protocol, pathname, search } = new URL(url)
  const { body, ...rest } = options
  const make = protocol === 'https:' ? requestTls : request
  const sent = make({
    host: HOST,
    port,
    path: pathname + search,
    servername: hostname,
    agent: false,
    ...rest,
    headers: { host, ...(rest.headers as Record<string, string> | undefined) },
  } as RequestOptions)
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const text = (await buffer(response)).toString()
  assertNoSecretInPage(response.headers, text)
  return { status: response.statusCode ?? 0, headers: response.headers, body: text }
}

/** All that comes, up to the end; unlike `buffer` of node it leaves our own direction open. */
export async function readAll(stream: Duplex): Promise<string> {
  const pieces: Buffer[] = []
  stream.on('data', (bytes: Buffer) => pieces.push(bytes))
  await once(stream, 'end')
  return Buffer.concat(pieces).toString()
}

/** A connection to a public TCP address. */
export async function dial(url: string): Promise<Socket> {
  const socket = connectTcp({ host: HOST, port: Number(new URL(url).port), allowHalfOpen: true })
  await once(socket, 'connect')
  return socket
}
