import { METHODS } from 'node:http'
import router, { type HTTPMethod } from 'find-my-way'
import type { ApiRequest } from '#api/api-request.ts'
import { ApiConnections } from '#api/api-connections.ts'
import { newOperationId } from '#api/operation-ids.ts'
import { fail } from '#base/errors.ts'
import type { ListenOn, SharesPorts } from '#base/listen-on.ts'
import { TwoGenerationCache } from '#base/two-generation-cache.ts'
import type { Reply } from '#http/exchange.ts'

/** Only where the gateway terminates TLS: a proxy in front of the API decides for itself. */
const HSTS = 'strict-transport-security: max-age=31536000\r\n'
/** Total length of the paths in one generation of the cache of routes. */
const CACHED_PATHS = 65_536

/** One HTTP request, and what is known of its response. */
export interface HttpCall {
  readonly request: ApiRequest
  readonly operationId: string
  readonly params: Readonly<Record<string, string | undefined>>
  /** Header lines that were added to the response. */
  lines: string
}

/** Called after each response, with method, status and duration. */
export type Answered = (method: string, status: number, seconds: number) => void

export type RouteHandler = (httpCall: HttpCall) => Promise<Reply> | Reply

interface FoundRoute {
  readonly route: RouteHandler
  readonly params: HttpCall['params']
}

const NO_PARAMS = {}
const methods: ReadonlySet<string> = new Set(METHODS)

/** Routes requests to handlers. */
export class HttpServer {
  readonly #connections = new ApiConnections((request, since) => this.#respond(request, since))
  readonly #refusal: (error: unknown, httpCall: HttpCall) => Reply
  readonly #answered: Answered
  readonly #routes = router({ maxParamLength: 512, onBadUrl: () => badUrl() })
  /** By path, for GET and HEAD: dashboards and reconcilers request the same ones again and again. */
  readonly #reads = new TwoGenerationCache<FoundRoute>(CACHED_PATHS)
  readonly #closing = new AbortController()

  /** `refusal` responds when a route has failed; `answered` is called for every response. */
  constructor(refusal: (error: unknown, httpCall: HttpCall) => Reply, answered: Answered = () => undefined) {
    this.#refusal = refusal
    this.#answered = answered
  }

  /** Aborts when the server stops: streams have to end by themselves. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  on(method: HTTPMethod, path: string, route: RouteHandler): void {
    this.#routes.on(method, path, () => undefined, route)
  }

  /** Starts to listen; resolves to its URL. */
  listen(address: ListenOn, sharesPorts?: SharesPorts): Promise<string> {
    return this.#connections.listen(address, sharesPorts)
  }

  /** Also accepts requests of the gateway, at a Unix socket in a folder that only this user can open. */
  listenToGateway(path: string): Promise<void> {
    return this.#connections.listenToGateway(path)
  }

  /** Stops accepting, and closes each connection after its pending response. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#connections.close()
  }

  #respond(request: ApiRequest, since: number): Promise<Reply> {
    const httpCall = {
      request,
      operationId: newOperationId(),
      params: NO_PARAMS as HttpCall['params'],
      lines: request.isViaGateway ? HSTS : '',
    }
    try {
      const { route, params } = this.#find(request)
      httpCall.params = params
      const reply = route(httpCall)
      if (reply instanceof Promise)
        return reply.then(
          found => this.#reported(found, request, since),
          (error: unknown) => this.#refused(error, httpCall, since),
        )
      return Promise.resolve(this.#reported(reply, request, since))
    } catch (error) {
      // Rejected by its head alone: like one that cannot be parsed, it ends its connection.
      return Promise.resolve({ ...this.#refused(error, httpCall, since), isLast: true })
    }
  }

  #refused(error: unknown, httpCall: HttpCall, since: number): Reply {
    return this.#reported(this.#refusal(error, httpCall), httpCall.request, since)
  }

  #reported(reply: Reply, { method }: ApiRequest, since: number): Reply {
    this.#answered(method, reply.head.status, (performance.now() - since) / 1000)
    // A keep-alive connection would keep a closing server waiting.
    return this.closing.aborted ? { ...reply, isLast: true } : reply
  }

  #find({ method, url }: ApiRequest): FoundRoute {
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
    if (!methods.has(method)) fail('bad_request', { reason: 'its method is not one' })
    const found = this.#routes.find(method as HTTPMethod, path)
    if (!found) return fail('no_such_path')
    if (found.store === null) return badUrl()
    return { route: found.store as RouteHandler, params: found.params }
  }
}

const badUrl = (): never =>
  fail('bad_request', { reason: 'the path has a % that is not followed by two hexadecimal digits' })
