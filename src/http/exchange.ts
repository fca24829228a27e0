import type { ErrorName } from '#base/errors.ts'
import type { Body } from '#http/body.ts'
import type { RequestHead, ResponseHead } from '#http/head.ts'
import type { ClientCertificate } from '#http/client-certificate.ts'
import type { UnsentPage } from '#http/pages/unsent-page.ts'
import type { RequestContext } from '#http/request-context.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'

/** The client of a request, as the sockets report it. */
export interface HttpClientConnection {
  readonly ip: string
  readonly port: number
  /** The address that the client connected to. */
  readonly localIp: string
  readonly localPort: number
  readonly scheme: 'http' | 'https'
  /** The SNI name; undefined without one. */
  readonly serverName: string | undefined
  /** When the connection was accepted, by `performance.now`. */
  readonly since?: number
  /** The TLS client fingerprint; computed only if it is needed. */
  readonly ja4?: string
  /** TLS parameters of a connection that is terminated here. */
  readonly tls?: { readonly version: string; readonly cipher: string; readonly handshakeMs?: number }
  /** Set if mutual TLS requested one. */
  readonly certificate?: ClientCertificate
  /** Called with the tunnel through which a connection without HTTP is forwarded. */
  readonly onTunnel?: (tunnel: TunnelRecord) => void
}

/** The client of a connection, for any protocol. */
export type ClientConnection = Omit<HttpClientConnection, 'scheme'>

/** Fires once when the client disconnects, so that pending work can be cancelled. */
export class ClientAbort {
  #aborted = false
  // Nearly always there is one.
  #first: (() => void) | undefined
  #others: (() => void)[] | undefined

  get aborted(): boolean {
    return this.#aborted
  }

  /** Calls back at once if it has already happened. */
  onAbort(listener: () => void): void {
    if (this.#aborted) listener()
    else if (this.#first === undefined) this.#first = listener
    else (this.#others ??= []).push(listener)
  }

  /** The client has disconnected. */
  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    const first = this.#first
    const others = this.#others
    this.#first = this.#others = undefined
    first?.()
    others?.forEach(listener => listener())
  }
}

/** A request in progress. Handlers pass on a changed copy; they never mutate it. */
export interface Exchange {
  readonly client: HttpClientConnection
  readonly head: RequestHead
  readonly body: Body
  readonly clientAbort: ClientAbort
  readonly context: RequestContext
  /** Forwards an interim response (100, 103). */
  readonly sendInformational: (head: ResponseHead) => void
}

export interface Reply {
  readonly head: ResponseHead
  readonly body: Body
  /** Set on a 101: from here on bytes flow both ways, and there is no body. */
  readonly upgraded?: ByteStream
  /** Set for a page of the gateway: the connection renders the body when it sends the response. */
  readonly page?: UnsentPage
  /** Set when the gateway itself rejects the request: the reason. */
  readonly refusal?: ErrorName
  /**
   * Set when no service has responded, so that another may be tried. `not-sent`: nothing of the request reached one,
   * and its body was not touched. `no-response`: it was sent, but the connection ended before a response could be
   * forwarded.
   */
  readonly failure?: UpstreamFailure
  /** Set if no other request may follow on the connection. */
  readonly isLast?: boolean
  /** Set for a body without an end of its own: it ends when the client half-closes. */
  readonly isEndless?: boolean
}

export type UpstreamFailure = 'not-sent' | 'no-response'

/** Handles a request. An unreachable upstream is a response too: it rejects only for internal errors. */
export type Endpoint = (exchange: Exchange) => Promise<Reply>
export type Handler = (exchange: Exchange, next: Endpoint) => Promise<Reply>

/** Notified of every request; on the hot path, so it must be fast. */
export interface Observer {
  /**
   * The response, or an error of the gateway; the head is undefined when it could not be parsed. Returns what to send:
   * the same, with a body that can be recorded on its way.
   */
  replied(
    client: HttpClientConnection,
    head: RequestHead | undefined,
    reply: Reply,
    context: RequestContext,
  ): Reply
  /** The response was sent completely, or its client has disconnected. */
  ended(context: RequestContext, whole: boolean): void
  /** No endpoint has responded: an internal error. */
  failed(head: RequestHead, error: unknown): void
}
