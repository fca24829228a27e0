import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import type { AgentOptions } from '#agent/index.ts'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { OWN_ALPN } from '#tunnel/alpn.ts'
import { answerHeartbeat } from '#tunnel/heartbeat.ts'
import * as messages from '#tunnel/messages.ts'
import { encodeProxyHeader } from '#tunnel/proxy-header.ts'
import { call, serve } from '#tunnel/rpc.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { HOST } from './support.ts'
import { until } from '../support/until.ts'

const identity = makeLocalRoot('scripted gateway').then(async root => {
  const authority = await LocalAuthority.open(root)
  return { ca: authority.rootPem, leaf: await authority.issue([HOST, 'localhost']) }
})

/** The responses of the gateway; absent ones are those of a correct gateway. */
interface Script {
  /** Whether the handshake of an agent that offers these protocols is taken up. */
  readonly admits?: (protocols: readonly string[]) => boolean
  readonly auth?: (request: messages.AuthRequest, count: number) => object
  readonly bind?: (request: messages.BindRequest, connection: GatewayEnd) => object
  readonly label?: (request: messages.StartTunnelWithLabelRequest) => object
  /** Takes the connection itself, instead of a session. */
  readonly raw?: (socket: TLSSocket) => void
}

/** One connection of an agent, seen from the gateway. */
export class GatewayEnd {
  readonly socket: TLSSocket
  readonly session: MuxSession
  readonly binds: messages.BindRequest[] = []
  readonly labels: messages.StartTunnelWithLabelRequest[] = []
  readonly unbinds: string[] = []
  login: messages.AuthRequest | undefined
  readonly #script: Script
  readonly #changed: () => void

  constructor(socket: TLSSocket, script: Script, count: number, changed: () => void) {
    this.socket = socket
    this.#script = script
    this.#changed = changed
    this.session = new MuxSession(socket, {
      role: 'server',
      accept: (type, stream) => void this.#answer(type, stream, count).catch(() => undefined),
    })
  }

  /** Opens a client connection through the agent. */
  visit(id: string, first = '', header: Partial<messages.ProxyHeader> = {}): Promise<TunnelStream> {
    const whole = {
      Id: id,
      ClientAddr: '203.0.113.7:51234',
      Proto: 'tcp',
      EdgeType: '0',
      PassthroughTLS: false,
    }
    const bytes = Buffer.concat([encodeProxyHeader({ ...whole, ...header }), Buffer.from(first)])
    return this.session.open(streamTypes.proxy, bytes)
  }

  /** Names other nodes after the sign-in. */
  async offer(addresses: readonly object[]): Promise<void> {
    const request = { ConnectAddresses: addresses }
    const exchange = { type: streamTypes.connectAddresses, request, answer: messages.plainAnswer }
    const { Error: refusal } = await call(this.session, exchange)
    if (refusal !== '') throw new Error(refusal)
  }

  async #answer(type: number, stream: TunnelStream, count: number): Promise<void> {
    if (type === streamTypes.heartbeat) {
      answerHeartbeat(stream)
      return
    }
    if (type === streamTypes.auth)
      await this.#serve(stream, messages.authRequest, it => this.#auth(it, count))
    if (type === streamTypes.bind) await this.#serve(stream, messages.bindRequest, it => this.#bind(it))
    if (type === streamTypes.startTunnelWithLabel)
      await this.#serve(stream, messages.startTunnelWithLabelRequest, it => this.#label(it))
    if (type === streamTypes.unbind)
      await this.#serve(stream, messages.unbindRequest, it => {
        this.unbinds.push(it.Id)
        return { Error: '', Extra: null }
      })
    this.#changed()
  }

  #serve<Request>(
    stream: TunnelStream,
    request: (value: unknown, name: string) => Request,
    answer: (request: Request) => object,
  ): Promise<void> {
    return serve(stream, { request, handle: async it => answer(it) })
  }

  #auth(request: messages.AuthRequest, count: number): object {
    this.login = request
    const good = { Version: '3', ClientId: 'ts_1', Extra: { Cookie: 'cookie', Region: 'here', Version: '9' } }
    return this.#script.auth?.(request, count) ?? good
  }

  #bind(request: messages.BindRequest): object {
    this.binds.push(request)
    const Id = request.Id || `tn_${this.binds.length}`
    const good = {
      Id,
      URL: `${request.Proto}://${Id}.test`,
      Proto: request.Proto,
      Opts: {},
      Extra: { Token: `t-${Id}` },
    }
    return this.#script.bind?.(request, this) ?? good
  }

  #label(request: messages.StartTunnelWithLabelRequest): object {
    this.labels.push(request)
    return this.#script.label?.(request) ?? { Id: `tl_${this.labels.length}` }
  }
}

/** A gateway with scripted responses. */
export class ScriptedGateway implements AsyncDisposable {
  readonly address: string
  readonly ca: string
  /** Every connection so far, in the order in which they came. */
  readonly ends: GatewayEnd[] = []
  readonly #sockets = new Set<TLSSocket>()
  readonly #server: ReturnType<typeof createServer>
  #wake = Promise.withResolvers<void>()

  private constructor(server: ReturnType<typeof createServer>, ca: string, script: Script) {
    this.#server = server
    this.ca = ca
    this.address = `${HOST}:${(server.address() as AddressInfo).port}`
    server.on('secureConnection', socket => {
      socket.on('error', () => undefined)
      this.#sockets.add(socket)
      if (script.raw) script.raw(socket)
      else this.ends.push(new GatewayEnd(socket, script, this.ends.length, () => this.#changed()))
    })
  }

  static async start(script: Script = {}): Promise<ScriptedGateway> {
    const { ca, leaf } = await identity
    const server = createServer({
      cert: leaf.certificatePem,
      key: leaf.privateKeyPem.reveal(),
      ALPNCallback: ({ protocols }) => (script.admits?.(protocols) === false ? undefined : OWN_ALPN),
    })
    await once(server.listen(0, HOST), 'listening')
    return new ScriptedGateway(server, ca, script)
  }

  options(more: AgentOptions = {}): AgentOptions {
    return {
      server: this.address,
      ca: this.ca,
      authtoken: 'token',
      retry: { baseMs: 5, capMs: 40 },
      ...more,
    }
  }

  /** Waits for a condition on the requests of agents. */
  until<Found>(look: () => Found) {
    return until(look, { next: () => this.#wake.promise })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #changed(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }
}
