import type { Socket } from 'node:net'
import type { TrustedProxies } from '#base/trusted-proxies.ts'
import type { Body } from '#http/body.ts'
import {
  ClientAbort,
  type Endpoint,
  type Exchange,
  type HttpClientConnection,
  type Observer,
  type Reply,
} from '#http/exchange.ts'
import type { RequestHead, ResponseHead } from '#http/head.ts'
import { ConnectionClock } from '#http/http1-connection-clock.ts'
import {
  afterRequest,
  afterResponse,
  connectionPolicy,
  type ConnectionState,
  isBodyUnsure,
  keepsAlive,
  leavesBody,
  waitOf,
  waits,
} from '#http/http1-connection-policy.ts'
import { defaultClientLimits, type Http1ClientLimits } from '#http/http1-limits.ts'
import { RequestReader, type RequestReceiver } from '#http/http1-request-reader.ts'
import { ResponseWriter } from '#http/http1-response-writer.ts'
import { endsWithConnection, isBare } from '#http/http1-serialize.ts'
import type { SocketSplice } from '#http/http1-splice.ts'
import { HttpError, malformed } from '#http/http-error.ts'
import { errorReply } from '#http/pages.ts'
import { withPage } from '#http/pages/send-page.ts'
import { defaultTheme, type PageTheme } from '#http/pages/theme.ts'
import { requestClient } from '#http/request-client.ts'
import { RequestContext } from '#http/request-context.ts'
import type { SiteIsolation } from '#http/site-isolation.ts'
import {
  type HasTimeouts,
  timeoutChecker as sharedSweeper,
  type TimeoutChecker,
} from '#http/timeout-checker.ts'
import { cut } from '#tunnel/splice.ts'

export interface ServeOptions {
  readonly client: HttpClientConnection
  readonly answer: Endpoint
  readonly observer?: Observer
  readonly limits?: Partial<Http1ClientLimits>
  readonly timeouts?: TimeoutChecker
  /** Isolates responses of hosts from each other; absent: off. */
  readonly isolation?: SiteIsolation | undefined
  /** What pages of the gateway look like; absent: the default. */
  readonly theme?: PageTheme | undefined
  /** Proxies whose requests are those of their clients; absent: none. */
  readonly proxies?: TrustedProxies | undefined
  /** Bytes already read from the connection. */
  readonly first?: Buffer
  /** Set where the requests are for this server; absent: they are forwarded to services. */
  readonly own?: OwnRequests
}

/**
 * Requests that are not forwarded: they keep the fields that only the gateway may send to services, their target may be
 * what a service could misread, HTTP/1.0 needs no Host, and responses have no request id.
 */
interface OwnRequests {
  /** The response to what cannot be served; the head is undefined when it could not be parsed. */
  readonly refuse: (error: HttpError, head: RequestHead | undefined) => Reply
}

/** A client connection being served. */
export interface Served {
  /** Finishes the running request, or one that arrives in a moment, then closes. */
  drain(): void
  /** Aborts the running request, if any. */
  cut(): void
  readonly closed: Promise<void>
}

/** Serves HTTP/1 on a socket, plain or TLS, created with `allowHalfOpen` and no reader. */
export function serveHttp1(socket: Socket, options: ServeOptions): Served {
  return new Http1ServerConnection(socket, options)
}

/**
 * Passes requests from the reader to the endpoint, and responses to the writer. What happens when is decided by
 * `http1-connection-policy.ts`.
 */
class Http1ServerConnection implements Served, RequestReceiver, HasTimeouts {
  readonly closed: Promise<void>
  readonly #socket: Socket
  readonly #connection: HttpClientConnection
  readonly #proxies: TrustedProxies | undefined
  readonly #answer: Endpoint
  readonly #own: OwnRequests | undefined
  readonly #observer: Observer | undefined
  readonly #theme: PageTheme
  readonly #limits: Http1ClientLimits
  readonly #timeouts: TimeoutChecker
  readonly #clock: ConnectionClock
  readonly #reader: RequestReader
  readonly #writer: ResponseWriter
  readonly #state: ConnectionState = {
    phase: 'head',
    requests: 0,
    keepAlive: true,
    isDraining: false,
    hasClientEnded: false,
  }
  readonly #sendInformational = (head: ResponseHead): void => this.#interim(head)
  readonly #replied = (reply: Reply): void => {
    try {
      this.#reply(reply)
    } catch (error) {
      this.#faulted(error)
    }
  }
  readonly #faulted = (error: unknown): void => {
    if (this.#head !== undefined) this.#observer?.failed(this.#head, error)
    this.#reject(new HttpError('gateway_fault'))
  }
  /** Of the running request. */
  #client: HttpClientConnection
  #head: RequestHead | undefined
  #clientAbort: ClientAbort | undefined
  /** Of the running request. */
  #context: RequestContext | undefined
  #splice: SocketSplice | undefined
  /** The client was asked to send the body. */
  #isContinued = false
  /** The response ends when the client half-closes. */
  #isEndless = false

  constructor(socket: Socket, options: ServeOptions) {
    const { client, answer, observer, limits, timeouts = sharedSweeper, first } = options
    this.#socket = socket
    this.#client = this.#connection = client
    this.#proxies = options.proxies
    this.#answer = answer
    this.#own = options.own
    this.#observer = observer
    this.#theme = options.theme ?? defaultTheme
    this.#limits = limits === undefined ? defaultClientLimits : { ...defaultClientLimits, ...limits }
    this.#timeouts = timeouts
    this.#writer = new ResponseWriter(socket, {
      isolation: options.isolation,
      ended: () => this.#responseEnded(),
      unsendable: reason => this.#unsendable(reason),
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    timeouts.add(this)
    this.#clock = new ConnectionClock(socket, timeouts)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('drain', () => this.#drained())
    socket.on('close', () => {
      this.#gone()
      resolve()
    })
    this.#reader = new RequestReader(socket, {
      receiver: this,
      clock: this.#clock,
      limits: this.#limits,
      isForwarded: this.#own === undefined,
    })
    if (first !== undefined && first.length > 0) this.#reader.receive(first)
  }

  drain(): void {
    const state = this.#state
    state.isDraining = true
    state.keepAlive = false
    // Not closed yet: the first request of a new connection would be lost, and the client would not retry it.
    if (state.phase !== 'head' || this.#reader.isWithinHead) return
    if (state.requests > 0 && this.#limits.drainMs === 0) this.#close()
    else this.#clock.restart()
  }

  cut(): void {
    if (connectionPolicy.cut[this.#state.phase] === 'abort') this.#socket.destroy()
  }

  checkTimeouts(now: number): void {
    if (this.#clock.stalledMs(now) > this.#limits.writeStallMs) {
      cut(this.#socket)
      return
    }
    const { phase } = this.#state
    if (
      phase === 'serving' &&
      this.#reader.isBodyDue &&
      this.#clock.requestMs(now) > this.#limits.requestMs
    ) {
      this.#reject(new HttpError('request_timeout'))
      return
    }
    const awaited = waitOf(this.#state, this.#reader, this.#socket.writableEnded)
    if (awaited === undefined || (awaited === 'response' && this.#clock.restartIfSent())) return
    const { limit, action } = waits[awaited]
    if (this.#clock.waitedMs(now) <= this.#limits[limit]) return
    if (action === 'reject') this.#reject(new HttpError('request_timeout'))
    else if (action === 'close') this.#close()
    else this.#socket.destroy()
  }

  request(head: RequestHead, body: Body): void {
    const state = this.#state
    state.phase = 'serving'
    state.requests++
    state.keepAlive = keepsAlive(head, state, this.#limits)
    this.#head = head
    this.#client = requestClient(this.#connection, head, this.#proxies)
    this.#isContinued = this.#isEndless = false
    this.#clientAbort = new ClientAbort()
    const context = (this.#context = new RequestContext())
    context.connection.content = this.#reader.body
    this.#ask({
      client: this.#client,
      head,
      body,
      clientAbort: this.#clientAbort,
      context,
      sendInformational: this.#sendInformational,
    })
  }

  invalidHead(error: HttpError): void {
    this.#client = this.#connection
    this.#reject(error)
  }

  invalidBody(reason: string): void {
    if (connectionPolicy.invalidBody[this.#state.phase] === 'reject') this.#reject(malformed(reason))
    else this.#close()
  }

  bodyComplete(): void {
    if (this.#context !== undefined) this.#context.connection.contentEnded = performance.now()
    if (connectionPolicy.bodyComplete[this.#state.phase] === 'next') this.#next()
  }

  bodyExcess(): void {
    if (connectionPolicy.bodyExcess[this.#state.phase] === 'close') this.#close()
    else this.#reader.holdContent()
  }

  clientEnded(): void {
    const state = this.#state
    state.hasClientEnded = true
    const within =
      this.#own === undefined ? connectionPolicy.endWithinBody : connectionPolicy.endWithinOwnBody
    const action = (this.#reader.isBodyDue ? within : connectionPolicy.end)[state.phase]
    if (action === 'close') this.#close()
    else if (action === 'reject') this.#reject(malformed('the connection ended before its content'))
    else if (action === 'abort' || (action === 'wait' && this.#isEndless)) this.#socket.destroy()
    else if (action === 'forward') this.#splice?.finish()
  }

  #ask(exchange: Exchange): void {
    try {
      this.#answer(exchange).then(this.#replied, this.#faulted)
    } catch (error) {
      this.#faulted(error)
    }
  }

  #interim(head: ResponseHead): void {
    const request = this.#head
    if (connectionPolicy.reply[this.#state.phase] === 'drop' || request?.version !== '1.1') return
    this.#isContinued ||= head.status === 100
    this.#writer.informational(head, request.host)
  }

  #reply(given: Reply): void {
    const head = this.#head
    const context = this.#context
    const state = this.#state
    if (connectionPolicy.reply[state.phase] === 'drop' || head === undefined || context === undefined) {
      given.body.cancel()
      given.upgraded?.abort()
      return
    }
    state.phase = 'responding'
    this.#isEndless = given.isEndless === true
    if (this.#isEndless && state.hasClientEnded) {
      given.body.cancel()
      this.#socket.destroy()
      return
    }
    const reply = this.#toSend(given, head, context)
    if (reply.upgraded !== undefined) {
      this.#upgrade(reply.head, head, reply.upgraded)
      return
    }
    const version = head.version === '1.0' ? '1.0' : '1.1'
    const bare = isBare(head.method, reply.head.status)
    if (
      given.isLast === true ||
      isBodyUnsure(head, this.#isContinued, this.#reader.isBodyDue) ||
      (!bare && endsWithConnection(reply.head.framing, version)) ||
      leavesBody(this.#reader.body, this.#limits)
    )
      state.keepAlive = false
    const requestId = this.#own === undefined ? context.id : undefined
    const transfer = { version, keepAlive: state.keepAlive, bare, requestId } as const
    this.#writer.respond(reply, transfer, head.host)
  }

  /** Reports a reply, and returns it as it is sent. */
  #toSend(given: Reply, head: RequestHead | undefined, context: RequestContext): Reply {
    const client = this.#client
    const reply =
      given.page === undefined ? given : withPage(given, { theme: this.#theme, ip: client.ip, context })
    const observer = this.#observer
    return observer === undefined ? reply : observer.replied(client, head, reply, context)
  }

  #upgrade(head: ResponseHead, { host }: RequestHead, stream: NonNullable<Reply['upgraded']>): void {
    this.#state.phase = 'upgraded'
    this.#writer.informational(head, host)
    this.#splice = this.#reader.upgrade(stream)
    if (this.#context !== undefined) this.#context.connection.upgraded = this.#splice
    if (this.#state.hasClientEnded) this.#splice.finish()
    this.#reader.resume()
  }

  #reject(error: HttpError): void {
    const action = connectionPolicy.error[this.#state.phase]
    if (action === 'respond') this.#refuse(error)
    else if (action === 'abort') this.#socket.destroy()
  }

  #unsendable(reason: string): void {
    if (connectionPolicy.unsendable[this.#state.phase] === 'respond')
      this.#refuse(new HttpError('upstream_invalid', { reason }))
  }

  /** Responds with an error and closes, because the start of the next request is unknown. */
  #refuse(error: HttpError): void {
    const state = this.#state
    const asked = state.phase === 'head' ? undefined : this.#head
    state.phase = 'responding'
    state.keepAlive = false
    this.#clientAbort?.abort()
    this.#reader.body?.fail(new Error('The request was refused.'))
    const context = (this.#context ??= new RequestContext())
    const own = this.#own
    const given = own ? own.refuse(error, asked) : errorReply(error.code, asked, error.values)
    const reply = this.#toSend(given, asked, context)
    const bare = asked !== undefined && isBare(asked.method, reply.head.status)
    const requestId = own === undefined ? context.id : undefined
    const transfer = { version: '1.1', keepAlive: false, bare, requestId } as const
    this.#writer.respond(reply, transfer)
  }

  #responseEnded(): void {
    this.#over(true)
    const { body, isHeld } = this.#reader
    const action = afterResponse(body, isHeld, this.#state, this.#limits)
    if (action === 'next') {
      this.#next()
    } else if (action === 'close') {
      body?.cancel()
      this.#close()
    } else {
      this.#state.phase = 'discarding'
      this.#reader.discardBody()
    }
  }

  /** The running request has ended. */
  #over(whole: boolean): void {
    const context = this.#context
    this.#context = undefined
    if (context !== undefined) this.#observer?.ended(context, whole)
  }

  #next(): void {
    const reader = this.#reader
    this.#clientAbort = undefined
    if (afterRequest(this.#state, reader.isPipelined) === 'close') {
      this.#close()
      return
    }
    this.#state.phase = 'head'
    reader.next()
    if (this.#state.hasClientEnded && reader.isWithinHead) this.#close()
    else if (!reader.isBodyDue) reader.resume()
  }

  /** Half-closes, and waits for the client to do so. */
  #close(): void {
    this.#state.phase = 'closing'
    this.#clock.restart()
    this.#clientAbort = undefined
    this.#reader.drop()
    if (this.#state.hasClientEnded) this.#socket.destroySoon()
    else this.#socket.end()
  }

  #drained(): void {
    this.#writer.drained()
    this.#splice?.drained()
  }

  #gone(): void {
    this.#timeouts.delete(this)
    const clientAbort = this.#clientAbort
    this.#state.phase = 'closing'
    this.#over(false)
    this.#clientAbort = undefined
    this.#reader.abandon()
    this.#splice?.abort()
    this.#writer.abandon()
    clientAbort?.abort()
  }
}
