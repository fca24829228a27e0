import { readFileSync, rmSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import ngrok from '@ngrok/ngrok'
import { connect as connectAgent } from '#agent/index.ts'
import { spawnServer, type Process } from '../../support/server.ts'
import { memoryOf } from './measurements.ts'
import { Upstream } from './upstream.ts'
import { newFolder } from '../../support/folder.ts'
import { closed } from '../../support/net.ts'

export const HOST = 'shop.adit.localhost'

interface WorldOptions {
  readonly environment?: Record<string, string>
  /** Where clients connect. */
  readonly address?: string
  /** Whose agent: that of the SDK when absent. */
  readonly agent?: 'sdk' | 'adit'
}

/** A gateway in a process of its own, a service in this one, and an agent between them. */
export class World implements AsyncDisposable {
  readonly gateway: Process
  readonly address: string
  readonly ca: string
  readonly dataDir: string
  readonly #upstream: Upstream
  #agent: { close(): Promise<void> } | undefined

  private constructor(gateway: Process, upstream: Upstream, dataDir: string, address: string) {
    this.gateway = gateway
    this.#upstream = upstream
    this.dataDir = dataDir
    this.address = address
    this.ca = readFileSync(join(dataDir, 'ca.pem'), 'utf8')
  }

  static async start({
    environment = {},
    address = '127.0.0.1',
    agent = 'sdk',
  }: WorldOptions = {}): Promise<World> {
    const dataDir = newFolder()
    const gateway = await spawnServer(dataDir, { ADIT_LOG_LEVEL: 'warn', ...environment })
    const world = new World(gateway, await Upstream.start(), dataDir, address)
    await (agent === 'sdk' ? world.#connect() : world.#connectOwn())
    return world
  }

  get pid(): number {
    return this.gateway.child.pid ?? 0
  }

  get memory(): number {
    return memoryOf(this.pid)
  }

  get authtoken(): string {
    return readFileSync(join(this.dataDir, 'authtoken'), 'utf8').trim()
  }

  port(listener: 'http' | 'https' | 'agent' | 'ssh'): number {
    return this.gateway.bound[listener]?.port ?? 0
  }

  /** Throws when the gateway has ended. */
  assertAlive(): void {
    const { exitCode, signalCode } = this.gateway.child
    if (exitCode !== null || signalCode !== null)
      throw new Error(`the gateway has ended: ${exitCode ?? signalCode}`)
  }

  /** A connection, with or without TLS; its errors close it and do not fail the test. */
  async connect(scheme: 'http' | 'https', options: Readonly<ConnectOptions> = {}): Promise<Socket> {
    const { alpn = ['http/1.1'], localAddress } = options
    const where = { host: this.address, port: this.port(scheme), ...(localAddress && { localAddress }) }
    const socket: Socket | TLSSocket =
      scheme === 'http'
        ? connectTcp(where)
        : connectTls({ ...where, servername: HOST, ca: this.ca, ALPNProtocols: [...alpn] })
    socket.on('error', () => undefined)
    await openedOrClosed(socket, scheme === 'http' ? 'connect' : 'secureConnect')
    return socket
  }

  /** A connection as an agent opens it, with nothing sent yet. */
  async agentSocket(): Promise<Socket> {
    const options = { host: '127.0.0.1', port: this.port('agent'), servername: 'localhost', ca: this.ca }
    const socket = connectTls(options)
    socket.on('error', () => undefined)
    await openedOrClosed(socket, 'secureConnect')
    return socket
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent?.close().catch(() => undefined)
    if (this.gateway.child.exitCode === null && this.gateway.child.signalCode === null)
      await this.gateway.end('SIGKILL')
    await this.#upstream[Symbol.asyncDispose]()
    rmSync(this.dataDir, { recursive: true, force: true })
  }

  async #connectOwn(): Promise<void> {
    const agent = await connectAgent({
      server: `127.0.0.1:${this.port('agent')}`,
      authtoken: this.authtoken,
      ca: join(this.dataDir, 'ca.pem'),
    })
    this.#agent = agent
    for (const proto of ['http', 'https'] as const)
      await agent.listen({ proto, domain: HOST, forwardTo: this.#upstream.port })
  }

  async #connect(): Promise<void> {
    const session = await new ngrok.SessionBuilder()
      .authtoken(this.authtoken)
      .serverAddr(`localhost:${this.port('agent')}`)
      .rootCas(join(this.dataDir, 'ca.pem'))
      .connect()
    this.#agent = session
    for (const scheme of ['HTTP', 'HTTPS'])
      await session
        .httpEndpoint()
        .scheme(scheme)
        .domain(HOST)
        .listenAndForward(`http://127.0.0.1:${this.#upstream.port}`)
  }
}

interface ConnectOptions {
  readonly alpn?: readonly string[]
  readonly localAddress?: string
}

/** Unlike `once`, an error does not reject: a gateway at its limits may reset. */
const openedOrClosed = (socket: Socket, opened: 'connect' | 'secureConnect'): Promise<void> =>
  new Promise(resolve => void socket.once(opened, () => resolve()).once('close', () => resolve()))

/** Everything read from a connection until it ends. */
export async function allOf(socket: Socket): Promise<string> {
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  if (!socket.closed) await closed(socket)
  return Buffer.concat(pieces).toString('latin1')
}
