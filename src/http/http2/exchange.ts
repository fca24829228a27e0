import type { TrustedProxies } from '#base/trusted-proxies.ts'
import { type Body, noBody } from '#http/body.ts'
import {
  ClientAbort,
  type Endpoint,
  type HttpClientConnection,
  type Observer,
  type Reply,
} from '#http/exchange.ts'
import type { RequestHead, ResponseHead } from '#http/head.ts'
import { withPage } from '#http/pages/send-page.ts'
import { defaultTheme, type PageTheme } from '#http/pages/theme.ts'
import { requestClient } from '#http/request-client.ts'
import { RequestContext } from '#http/request-context.ts'
import type { SiteIsolation } from '#http/site-isolation.ts'

const IDLE_BODY = 30_000

export interface RequestOptions {
  readonly client: HttpClientConnection
  readonly answer: Endpoint
  readonly observer?: Observer | undefined
  /** Isolates responses of hosts from each other; absent: off. */
  readonly isolation?: SiteIsolation | undefined
  /** What pages of the gateway look like; absent: the default. */
  readonly theme?: PageTheme | undefined
  /** Proxies whose requests are those of their clients; absent: none. */
  readonly proxies?: TrustedProxies | undefined
  /** Milliseconds without body data after which a request is aborted. */
  readonly bodyPatience?: number
}

/** The part of a request and its reply that does not depend on the stream. A base class saves an object per request. */
export abstract class Http2Exchange {
  protected readonly context = new RequestContext()
  protected readonly clientAbort = new ClientAbort()
  readonly #options: RequestOptions
  #client: HttpClientConnection
  #head: RequestHead | undefined

  constructor(options: RequestOptions) {
    this.#options = options
    this.#client = options.client
  }

  /** Undefined until it was read. */
  protected get head(): RequestHead | undefined {
    return this.#head
  }

  /** The head was read. */
  protected begin(head: RequestHead): void {
    this.#head = head
    this.#client = requestClient(this.#client, head, this.#options.proxies)
  }

  /** Passes the request to its endpoint; `body` is undefined when none follows. */
  protected ask(
    head: RequestHead,
    body: Body | undefined,
    sendInformational: (interim: ResponseHead) => void,
  ): Promise<Reply> {
    return this.#options.answer({
      client: this.#client,
      head,
      body: body ?? (head.framing.kind === 'none' ? noBody : { ...noBody, framing: head.framing }),
      clientAbort: this.clientAbort,
      context: this.context,
      sendInformational,
    })
  }

  /** Milliseconds without body data after which it is aborted. */
  protected bodyPatience({ fields }: RequestHead): number {
    // In a gRPC call either side may be silent for hours; gRPC has its own keep-alive and deadlines.
    const isCall = fields.get('content-type')?.startsWith('application/grpc') === true
    return isCall ? Infinity : (this.#options.bodyPatience ?? IDLE_BODY)
  }

  protected confined(head: ResponseHead): ResponseHead {
    const { isolation } = this.#options
    return isolation === undefined || this.#head === undefined
      ? head
      : isolation.confined(head, this.#head.host)
  }

  /** Reports a reply, and returns it as it is sent. */
  protected replied(given: Reply): Reply {
    const { observer, theme = defaultTheme } = this.#options
    const client = this.#client
    const context = this.context
    const reply = given.page === undefined ? given : withPage(given, { theme, ip: client.ip, context })
    return observer === undefined ? reply : observer.replied(client, this.#head, reply, context)
  }

  /** Reports that no endpoint has replied. */
  protected faulted(error: unknown): void {
    if (this.#head !== undefined) this.#options.observer?.failed(this.#head, error)
  }

  /** Reports the end; `whole`: the response was sent completely. */
  protected over(whole: boolean): void {
    this.#options.observer?.ended(this.context, whole)
  }
}

/** The content-length of a response; undefined without one. */
export function lengthOf({ framing, announcedLength, status }: ResponseHead): number | undefined {
  if (status === 204) return undefined
  return framing.kind === 'length' ? framing.length : announcedLength
}

/** Ends the exchange of a reply whose body is not sent. */
export function discardBody({ body }: Reply): void {
  // Reading an empty body signals the end of the exchange; any other body is not needed.
  if (body.framing.kind === 'none') body.read(ignored, false)
  else body.cancel()
}

const ignored = { data: () => undefined, end: () => undefined, fail: () => undefined }
