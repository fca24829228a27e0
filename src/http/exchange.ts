import type { ErrorName } from '#base/errors.ts'
import type { Body } from '#http/body.ts'
import type { RequestHead, ResponseHead } from '#http/head.ts'
import type { ClientCertificate } from '#http/client-certificate.ts'
import type { Trace } from '#http/trace.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'

/** Who sent a request, as the sockets tell it. */
export interface Visitor {
  readonly ip: string
  readonly port: number
  /** The address the visitor connected to. */
  readonly localIp: string
  readonly localPort: number
  readonly scheme: 'http' | 'https'
  /** The name in the TLS handshake; undefined without one. */
  readonly serverName: string | undefined
  /** When the connection was accepted, by `performance.now`. */
  readonly since?: number
  /** The fingerprint of its TLS client; made only while somebody wants it. */
  readonly ja4?: string
  /** How TLS that ended here was spoken. */
  readonly tls?: { readonly version: string; readonly cipher: string }
  /** Set where mutual TLS asked for one. */
  readonly certificate?: ClientCertificate
}

/** Who opened a connection, whatever is spoken on it. */
export type Guest = Omit<Visitor, 'scheme'>

/** Fires once when the client disconnects, so that pending work can be cancelled. */
export class Departure {
  #gone = false
  // Nearly always there is one.
  #first: (() => void) | undefined
  #others: (() => void)[] | undefined

  get happened(): boolean {
    return this.#gone
  }

  /** Calls back at once when it has happened already. */
  whenGone(listener: () => void): void {
    if (this.#gone) listener()
    else if (this.#first === undefined) this.#first = listener
    else (this.#others ??= []).push(listener)
  }

  /** The visitor has gone. */
  tell(): void {
    if (this.#gone) return
    this.#gone = true
    const first = this.#first
    const others = this.#others
    this.#first = this.#others = undefined
    first?.()
    others?.forEach(listener => listener())
  }
}

/** One request on its way. Handlers pass on a changed copy; they never change it. */
export interface Exchange {
  readonly visitor: Visitor
  readonly head: RequestHead
  readonly body: Body
  readonly departure: Departure
  readonly trace: Trace
  /** Passes on an interim answer (100, 103). */
  readonly inform: (head: ResponseHead) => void
}

export interface Reply {
  readonly head: ResponseHead
  readonly body: Body
  /** Set on a 101: from here on bytes go both ways, and there is no body. */
  readonly upgraded?: ByteStream
  /** Set when the gateway itself refuses: why. */
  readonly refusal?: ErrorName
  /**
   * Set when no service has answered, so that another may be asked. `unreached`: nothing of the request got to one, and
   * its content was not touched. `unanswered`: it was sent, but the connection ended before a response could be passed on.
   */
  readonly lost?: Lost
}

export type Lost = 'unreached' | 'unanswered'

/** Answers a request. An unreachable upstream is an answer too: it rejects only for a fault of our own. */
export type Endpoint = (exchange: Exchange) => Promise<Reply>
export type Handler = (exchange: Exchange, next: Endpoint) => Promise<Reply>

/** Who is told of every request; called on the path of each, so it must be quick. */
export interface Observer {
  /** The answer is there, or a refusal of the gateway; the head is undefined when it could not be read. */
  replied(visitor: Visitor, head: RequestHead | undefined, reply: Reply, trace: Trace): void
  /** The answer has left to its end, or its visitor has. */
  ended(trace: Trace, whole: boolean): void
  /** No endpoint has answered: a fault of our own. */
  failed(head: RequestHead, error: unknown): void
}

/** Runs handlers first to last and ends at the backend. A handler that does not call `next` has answered. */
export const chain = (handlers: readonly Handler[], backend: Endpoint): Endpoint =>
  handlers.reduceRight<Endpoint>((rest, handler, at) => {
    const next: Endpoint = exchange => {
      exchange.trace.passed = at + 1
      return rest(exchange)
    }
    return exchange => handler(exchange, next)
  }, backend)
