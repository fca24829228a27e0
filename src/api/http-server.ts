import { Server, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import router, { type HTTPMethod } from 'find-my-way'
import { newOperationId } from '#api/operation-ids.ts'
import { problemBody } from '#api/problems.ts'
import { RepeatedHeaders, type SharedHeaders } from '#api/repeated-headers.ts'
import { trustLink } from '#api/via-gateway.ts'
import { fail, Problem } from '#base/errors.ts'
import { newId } from '#base/ids.ts'
import { acceptQueued, listenOn, type ListenOn, type SharesPorts } from '#base/listen-on.ts'
import { TwoGenerationCache } from '#base/two-generation-cache.ts'

/** For a whole request to arrive: a slow sender must not hold a connection forever. */
const REQUEST_TIMEOUT_MS = 60_000
const HEADERS_TIMEOUT_MS = 20_000
const KEEP_ALIVE_MS = 72_000
const SWEEP_MS = 50
/** How long a closing server waits for the first request of a connection. */
const FIRST_REQUEST_MS = 1000
const MAX_URL = 8192
/** Only where the gateway terminates TLS: a proxy in front of the API decides for itself. */
const HSTS = 'max-age=31536000'
/** Total length of the paths in one generation of the cache of routes. */
const CACHED_PATHS = 65_536

/** One HTTP request. */
export interface HttpCall {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: SharedHeaders
  readonly operationId: string
  readonly params: Readonly<Record<string, string | undefined>>
}

/** Called after each response, with method, status and duration. */
export type Answered = (method: string, status: number, seconds: number) => void

export type RouteHandler = (httpCall: HttpCall) => Promise<void> | void

interface FoundRoute {
  readonly route: RouteHandler
  readonly params: HttpCall['params']
}

const NO_PARAMS = {}

/** For Node a connection without a request is idle, so that a closing server would lose a request on its way. */
class WaitingServer extends Server {
  readonly #fresh = new Set<Socket>()

  constructor(options: ServerOptions) {
    super(options)
    this.on('connection', (socket: Socket) => {
      this.#fresh.add(socket)
      socket.once('close', () => this.#fresh.delete(socket))
    })
  }

  /** To be called with each request: a second listener would cost more. */
  requested({ socket }: IncomingMessage): void {
    this.#fresh.delete(socket)
  }

  /** Also called by `close`. */
  override closeIdleConnections(): void {
    if (this.#fresh.size === 0) super.closeIdleConnections()
  }

  stopWaiting(): void {
    this.#fresh.clear()
  }
}

/**
 * Routes requests to handlers. Built on node:http: of a framework only the router would be used, and its other layers
 * take a third of the time of a request (docs/decisions.md has the figures).
 */
export class HttpServer {
  readonly #server = this.#newServer()
  /** For the gateway. */
  readonly #linked = this.#newServer()
  readonly #refuse: (error: unknown, httpCall: HttpCall) => void
  readonly #answered: Answered
  readonly #headers = new WeakMap<Socket, RepeatedHeaders>()
  readonly #routes = router({ maxParamLength: 512, onBadUrl: () => badUrl() })
  /** By path, for GET and HEAD: dashboards and reconcilers request the same ones again and again. */
  readonly #reads = new TwoGenerationCache<FoundRoute>(CACHED_PATHS)
  readonly #closing = new AbortController()

  /** `refuse` responds when a route has failed; `answered` is called for every response. */
  constructor(refuse: (error: unknown, httpCall: HttpCall) => void, answered: Answered = () => undefined) {
    this.#refuse = refuse
    this.#answered = answered
    this.#linked.on('connection', trustLink)
    this.#linked.prependListener('request', (_, response) =>
      response.setHeader('strict-transport-security', HSTS),
    )
  }

  #newServer(): WaitingServer {
    const server = new WaitingServer({
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Bodies are read by their framing: a request without one needs no stream that ends.
      optimizeEmptyRequests: true,
    })
    server.on('request', (request, response) => {
      server.requested(request)
      this.#answer(request, response)
    })
    return server.on('clientError', answerMalformed)
  }

  /** Aborts when the server stops: streams have to end by themselves. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  on(method: HTTPMethod, path: string, route: RouteHandler): void {
    this.#routes.on(method, path, () => undefined, route)
  }

  /** Starts to listen; resolves to its URL. */
  async listen(address: ListenOn, sharesPorts?: SharesPorts): Promise<string> {
    await listenOn(this.#server, address, sharesPorts)
    const { address: host, port, family } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`
  }

  /** Also accepts requests of the gateway, at a Unix socket in a folder that only this user can open. */
  async listenToGateway(path: string): Promise<void> {
    this.#linked.listen(path)
    await once(this.#linked, 'listening')
  }

  /** Stops accepting, and closes each connection after its pending response. */
  async close(): Promise<void> {
    this.#closing.abort()
    if (this.#server.listening) await acceptQueued(this.#server)
    const servers = [this.#server, this.#linked].filter(({ listening }) => listening)
    await Promise.all(servers.map(closed))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const begun = performance.now()
    // A keep-alive connection would keep a closing server waiting.
    if (this.closing.aborted) response.setHeader('connection', 'close')
    const exchange = {
      request,
      response,
      headers: this.#headersOf(request),
      operationId: newOperationId(),
      params: NO_PARAMS as HttpCall['params'],
    }
    try {
      useOriginForm(request)
      const found = this.#find(request)
      exchange.params = found.params
      const done = found.route(exchange)
      if (done) {
        done.then(
          () => this.#report(exchange, begun),
          (error: unknown) => this.#refused(error, exchange, begun),
        )
      } else this.#report(exchange, begun)
    } catch (error) {
      this.#refused(error, exchange, begun)
    }
  }

  #headersOf(request: IncomingMessage): SharedHeaders {
    const { socket } = request
    let headers = this.#headers.get(socket)
    if (headers === undefined) this.#headers.set(socket, (headers = new RepeatedHeaders()))
    return headers.of(request)
  }

  #refused(error: unknown, httpCall: HttpCall, begun: number): void {
    this.#refuse(error, httpCall)
    this.#report(httpCall, begun)
  }

  #report({ request, response }: HttpCall, begun: number): void {
    this.#answered(request.method ?? '', response.statusCode, (performance.now() - begun) / 1000)
  }

  #find({ method = '', url = '' }: IncomingMessage): FoundRoute {
    if (url.length > MAX_URL) fail('path_too_long', { limit: MAX_URL })
    const query = url.indexOf('?')
    const path = query === -1 ? url : url.slice(0, query)
    if (method !== 'GET' && method !== 'HEAD') return this.#lookUp(method, path)
    const known = this.#reads.get(path)
    if (known !== undefined) return known
    const found = this.#lookUp('GET', path)
    this.#reads.set(path, found, path.length)
    return found
  }

  #lookUp(method: string, path: string): FoundRoute {
    const found = this.#routes.find(method as HTTPMethod, path)
    if (!found) return fail('no_such_path')
    if (found.store === null) return badUrl()
    return { route: found.store as RouteHandler, params: found.params }
  }
}

async function closed(server: WaitingServer): Promise<void> {
  const end = once(server, 'close')
  server.close()
  // The response to an earlier request does not close the connection.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  const patience = setTimeout(() => server.stopWaiting(), FIRST_REQUEST_MS)
  await end
  clearInterval(sweep)
  clearTimeout(patience)
}

/** RFC 9112 §3.2.2: absolute-form is allowed; if it is our URL, its path counts. */
function useOriginForm(request: IncomingMessage): void {
  const { url = '', headers } = request
  if (url.startsWith('/')) return
  const own = `http://${headers.host ?? ''}`
  if (url.startsWith(`${own}/`)) request.url = url.slice(own.length)
}

const badUrl = (): never =>
  fail('bad_request', { reason: 'the path has a % that is not followed by two hexadecimal digits' })

/** Responds to invalid HTTP with an API error, and closes the connection. */
function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('headers_too_large', {})
      : new Problem('bad_request', { reason: error.code ?? 'unknown' })
  const body = problemBody(problem, 'ADIT', newId('op'))
  const head = [
    `HTTP/1.1 ${problem.status} Refused`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
