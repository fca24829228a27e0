import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { CaptureStore } from '#agent/capture/capture-store.ts'
import { ApiFailure } from '#cli/agent/web/api-failure.ts'
import { streamEvents } from '#cli/agent/web/event-stream.ts'
import { hostCheck, hostOf, type HostCheck } from '#cli/agent/web/host-check.ts'
import { listen, type Listening } from '#cli/agent/web/listen.ts'
import type { LocalApi } from '#cli/agent/web/local-api.ts'
import { pageFor } from '#cli/agent/web/pages.ts'

interface WebServerOptions {
  readonly api: LocalApi
  readonly captures: CaptureStore
  /** `host:port`; undefined: the default one, or the next free port. */
  readonly address: string | undefined
  readonly allowHosts: readonly string[]
  /** Public host names of tunnels to a local `host:port`. */
  readonly hostsOf: (address: string) => readonly string[]
}

const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** A client that sends nothing within this time is dropped. */
const REQUEST_MS = 30_000
const MAX_BODY_BYTES = 16 * 1_048_576

/** The HTTP server of the inspector and the local API. */
export class WebServer {
  readonly #options: WebServerOptions
  #listening: Listening | undefined
  #check: HostCheck | undefined

  private constructor(options: WebServerOptions) {
    this.#options = options
  }

  static async start(options: WebServerOptions): Promise<WebServer> {
    const web = new WebServer(options)
    web.#listening = await listen(options.address, () => web.#server())
    const address = web.address
    web.#check = hostCheck({
      isLoopback: isLoopback(address),
      allowed: options.allowHosts,
      tunnelHosts: () => options.hostsOf(address),
    })
    return web
  }

  /** `host:port`. */
  get address(): string {
    return this.#listening?.address ?? ''
  }

  get isAlternative(): boolean {
    return this.#listening?.isAlternative ?? false
  }

  close(): void {
    for (const server of this.#listening?.servers ?? []) {
      server.close()
      server.closeAllConnections()
    }
  }

  #server(): Server {
    const server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
      void this.#serve(request, response)
    })
    // The process may exit while a browser keeps its connection.
    return server
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
    try {
      await this.#route(request, response)
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error
      sendJson(response, error.status, error.body, error.headers)
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const denied = this.#check?.(request.headers)
    if (denied !== undefined) throw new ApiFailure('host_denied', denied)
    const url = URL.parse(request.url ?? '', 'http://localhost')
    if (!url) throw new ApiFailure('bad_request', 'the request target is malformed')
    const { method = 'GET' } = request
    if (url.pathname === '/inspect/events' && method === 'GET') {
      streamEvents(this.#options.captures, response)
      return
    }
    const page = method === 'GET' || method === 'HEAD' ? pageFor(url.pathname) : undefined
    if (page) {
      response.writeHead(page.status, page.headers).end(page.body)
      return
    }
    await this.#call(url, request, response)
  }

  async #call(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [first, ...rest] = url.pathname.split('/').slice(1)
    if (first !== 'api')
      throw new ApiFailure('not_found', `there is nothing at ${url.pathname.slice(0, 200)}`)
    const { method = 'GET' } = request
    const segments = decoded(rest)
    const body = () => readJson(request)
    // HEAD works too, with which some programs check whether the agent runs.
    const { status, body: result } = await this.#options.api.handle({
      method: method === 'HEAD' ? 'GET' : method,
      segments: segments.at(-1) === '' ? segments.slice(0, -1) : segments,
      query: url.searchParams,
      body,
    })
    if (result === undefined) response.writeHead(status).end()
    else sendJson(response, status, result)
  }
}

function decoded(segments: readonly string[]): string[] {
  try {
    return segments.map(decodeURIComponent)
  } catch {
    throw new ApiFailure('bad_request', 'the path has a malformed percent-encoding')
  }
}

/** Parses a JSON body. Other types are rejected, because a page of another site can send those without a preflight. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json')
    throw new ApiFailure('media_type', 'the Content-Type must be application/json')
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request) {
    size += (piece as Buffer).length
    if (size > MAX_BODY_BYTES) throw new ApiFailure('too_large', `a body may have ${MAX_BODY_BYTES} bytes`)
    pieces.push(piece as Buffer)
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString()) as unknown
  } catch {
    throw new ApiFailure('bad_request', 'the body is not JSON')
  }
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = `${JSON.stringify(body)}\n`
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

const isLoopback = (address: string): boolean => {
  const host = hostOf(address) ?? ''
  return host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
