import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import { inBackground } from '#base/background.ts'
import { ACME_ALPN, isTlsChallenge } from '#gateway/acme/tls-challenge.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import type { AgentListener } from '#gateway/listeners/agents.ts'
import { Acceptor, type ListenAddress, type ListenerOptions } from '#gateway/listeners/acceptor.ts'
import { forward, type L4Upstream } from '#gateway/listeners/l4-proxy.ts'
import { ClosingSockets } from '#gateway/listeners/closing-sockets.ts'
import { OpenHttp, type ServedHttp, type ServeHttp } from '#gateway/listeners/open-http.ts'
import { Revocations } from '#gateway/listeners/revocations.ts'
import { clientConnectionOf } from '#gateway/listeners/client-connection.ts'
import type { Certificates } from '#tls/certificates.ts'
import { clientCertificate } from '#tls/client-certificate.ts'
import type { ClientHello } from '#tls/client-hello.ts'
import type { TlsConfig } from '#tls/contexts.ts'
import { Handshakes, type HandshakeLimits } from '#tls/handshakes.ts'
import { proofOf, stillHolds } from '#tls/client-proof.ts'
import type { ClientProof } from '#http/client-certificate.ts'
import { ja4Of } from '#tls/ja4.ts'
import { peekClientHello, type PeekedHello } from '#tls/peek.ts'
import { alpnList, terminate } from '#tls/terminate.ts'
import { OWN_ALPN } from '#tunnel/alpn.ts'

/** What to do with a connection, by its server name. */
export type TlsRoute =
  | { readonly kind: 'http'; readonly config?: TlsConfig }
  /** Terminate TLS and forward the content. */
  | { readonly kind: 'terminated'; readonly config?: TlsConfig; readonly upstream: L4Upstream }
  /** Pass TLS through. */
  | { readonly kind: 'passthrough'; readonly upstream: L4Upstream }
  /** Nothing is served under that name, not even an error page. */
  | { readonly kind: 'refused' }

export interface HttpsListenerOptions extends ListenerOptions {
  readonly certificates: Pick<Certificates, 'contextFor'>
  /** A name without a route is `http`: its clients get an error page. */
  readonly route: (hello: ClientHello, client: HttpClientConnection) => TlsRoute
  /** Serves agents that connect here: many networks allow only port 443. */
  readonly agents?: Pick<AgentListener, 'adopt'> | undefined
  /** The validation certificate for a name; undefined without a challenge. */
  readonly challenge?: (name: string) => Promise<SecureContext> | undefined
  /** Calls back whenever routes may have changed. */
  readonly onChange?: (changed: () => void) => void
  readonly http1: ServeHttp<Socket>
  readonly http2: ServeHttp<TLSSocket>
  readonly handshakes?: Partial<HandshakeLimits>
  /** Duration of a completed handshake, in seconds. */
  readonly handshaken?: (seconds: number) => void
}

const ALPN = alpnList('h2', 'http/1.1')
const CHALLENGE_ALPN = alpnList(ACME_ALPN)
// Alerts of RFC 8446 §6, each a record of its own.
const DECODE_ERROR = Buffer.from([21, 3, 1, 0, 2, 2, 50])
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 1, 0, 2, 2, 112])
const NO_APPLICATION_PROTOCOL = Buffer.from([21, 3, 1, 0, 2, 2, 120])

/** The client with what the handshake has verified; throws for a certificate that cannot be forwarded. */
function proved(
  socket: TLSSocket,
  client: HttpClientConnection,
  { config, handshakeMs }: { readonly config: TlsConfig | undefined; readonly handshakeMs: number },
): HttpClientConnection {
  const { standardName: cipher } = socket.getCipher()
  const tls = { version: socket.getProtocol() ?? '', cipher, handshakeMs }
  if (config?.clients === undefined) return { ...client, tls }
  return { ...client, tls, certificate: clientCertificate(socket, config.clients) }
}

/** TLS clients: HTTP, other protocols inside of TLS, and passed-through TLS. */
export class HttpsListener {
  readonly #options: HttpsListenerOptions
  readonly #acceptor: Acceptor
  readonly #serving = new OpenHttp()
  readonly #handshakes: Handshakes
  readonly #revocations = new Revocations()
  readonly #closing: ClosingSockets
  #streams = 0

  constructor(options: HttpsListenerOptions) {
    this.#options = options
    this.#handshakes = new Handshakes(options.handshakes)
    this.#closing = options.closing ?? new ClosingSockets()
    const background = { task: 'listeners', log: options.log } as const
    const accept = (socket: Socket): void => void inBackground(background, () => this.#accept(socket))
    this.#acceptor = new Acceptor({ ...options, accept })
    options.onChange?.(() => this.#revocations.changed())
  }

  get connections(): number {
    return this.#acceptor.connections
  }

  /** Connections still in the handshake, and those that do not carry HTTP. */
  get handshaking(): number {
    return this.#handshakes.pending
  }

  get streams(): number {
    return this.#streams
  }

  listen(address: ListenAddress): Promise<ListenAddress> {
    return this.#acceptor.listen(address)
  }

  /** Finishes running requests; idle connections close at once, and what lasts past the deadline is aborted. */
  async drain(deadlineMs: number): Promise<void> {
    this.#serving.drain()
    await this.#acceptor.drain(deadlineMs)
  }

  async #accept(socket: Socket): Promise<void> {
    const since = performance.now()
    try {
      this.#handshakes.enter(socket)
      const peeked = await peekClientHello(socket)
      if (peeked.kind === 'hello') await this.#serve(socket, peeked, since)
      else if (peeked.kind === 'gone') socket.destroy()
      else this.#refuse(socket, peeked.bytes)
    } catch (error) {
      this.#options.log.debug({ error }, 'a TLS connection could not be served')
      socket.destroy()
    }
  }

  async #serve(socket: Socket, read: PeekedHello, since: number): Promise<void> {
    const { hello, bytes: peeked } = read
    const connection = clientConnectionOf(socket, hello.serverName, since)
    if (connection === undefined) return void socket.destroy()
    const { log, traffic, usage } = this.#options
    const ja4 = traffic?.wantsFingerprints === true ? ja4Of(peeked) : undefined
    const client: HttpClientConnection = { ...connection, scheme: 'https', ...(ja4 !== undefined && { ja4 }) }
    const isChallenge = isTlsChallenge(hello)
    const answer = isChallenge ? this.#options.challenge?.(hello.serverName ?? '') : undefined
    if (answer !== undefined) return this.#prove(socket, peeked, answer)
    const route = this.#options.route(hello, client)
    if (route.kind === 'refused') return this.#closing.writeAndClose(socket, UNRECOGNIZED_NAME)
    if (route.kind === 'passthrough') {
      this.#handshakes.leave(socket)
      this.#countStream(socket)
      return forward(socket, client, route.upstream, { log, peeked, traffic, usage })
    }
    if (isChallenge) return this.#closing.writeAndClose(socket, NO_APPLICATION_PROTOCOL)
    const { agents } = this.#options
    if (agents && route.kind === 'http' && hello.alpn.includes(OWN_ALPN)) {
      this.#handshakes.leave(socket)
      return agents.adopt(socket, this.#acceptor, read)
    }
    const { secured, ms } = await this.#handshake(socket, { peeked, hello }, route)
    if (route.kind === 'http') {
      const { config } = route
      return this.#http(secured, hello, proved(secured, client, { config, handshakeMs: ms }))
    }
    this.#countStream(socket)
    const proof = route.config?.clients && proofOf(secured, route.config.clients)
    const isRevoked = (): boolean => this.#isRevoked(hello, client, proof)
    this.#revocations.add(secured, { isRevoked, cut: () => secured.destroy() })
    return forward(secured, client, route.upstream, { log, traffic, usage })
  }

  /** Whether the current endpoint of the name requires a certificate that the client has not proved. */
  #isRevoked(hello: ClientHello, client: HttpClientConnection, proof: ClientProof | undefined): boolean {
    const route = this.#options.route(hello, client)
    if (route.kind === 'refused') return proof !== undefined
    const clients = route.kind === 'passthrough' ? undefined : route.config?.clients
    return clients !== undefined && (proof === undefined || !stillHolds(proof, clients))
  }

  async #handshake(
    socket: Socket,
    { peeked, hello }: { readonly peeked: Buffer; readonly hello: ClientHello },
    { kind, config }: Extract<TlsRoute, { readonly config?: TlsConfig }>,
  ): Promise<{ secured: TLSSocket; ms: number }> {
    await this.#handshakes.acquire(socket)
    const begun = performance.now()
    const context = await this.#options.certificates.contextFor(hello.serverName, config, hello.ticketKey)
    const secured = await terminate(socket, peeked, {
      context,
      alpn: kind === 'http' ? ALPN : undefined,
      clientCertificate: config?.clients !== undefined,
    })
    this.#handshakes.leave(socket)
    const ms = performance.now() - begun
    this.#options.handshaken?.(ms / 1000)
    return { secured, ms }
  }

  /** A CA needs only the handshake; until it disconnects, the handshake deadline applies. */
  async #prove(socket: Socket, peeked: Buffer, proof: Promise<SecureContext>): Promise<void> {
    await this.#handshakes.acquire(socket)
    const options = { context: await proof, alpn: CHALLENGE_ALPN, clientCertificate: false }
    const secured = await terminate(socket, peeked, options)
    secured.resume().end()
  }

  #http(socket: TLSSocket, hello: ClientHello, client: HttpClientConnection): void {
    const { http1, http2 } = this.#options
    const served: ServedHttp = socket.alpnProtocol === 'h2' ? http2(socket, client) : http1(socket, client)
    this.#serving.add(socket, served)
    const { certificate } = client
    if (certificate === undefined) return
    const isRevoked = (): boolean => this.#isRevoked(hello, client, certificate)
    this.#revocations.add(socket, { isRevoked, cut: () => served.cut() })
  }

  #countStream(socket: Socket): void {
    this.#streams++
    socket.on('close', () => this.#streams--)
  }

  #refuse(socket: Socket, bytes: Buffer): void {
    this.#handshakes.leave(socket)
    // A plain HTTP request, probably with a missing "s" of https.
    if (/^[A-Z]{3,20} /.test(bytes.toString('latin1', 0, 24)))
      this.#closing.refuseHttp(socket, 'bad_message', { reason: 'it is plain HTTP on an HTTPS port' })
    else this.#closing.writeAndClose(socket, DECODE_ERROR)
  }
}
