import { clientNetwork } from '#base/client-network.ts'
import { FairShare } from '#base/fair-share.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import { timeoutChecker } from '#http/timeout-checker.ts'
import { Http2ClientConnection } from '#http2/client-connection.ts'
import type { Http2ClientStream, OutgoingHead } from '#http2/client-stream.ts'
import { DialError } from '#registry/agent-dialer.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { isSessionLost } from '#tunnel/frame.ts'

const MAX_LINKS = 8
const IDLE = 90_000
/** Assumed until an upstream has sent its limit. */
const USUAL_STREAMS = 100
/** One client gets no more than this fraction of the usual capacity, and always as many as a browser needs. */
const SHARE = 0.75
const LEAST = 8
/** A connection is shared by many clients: those that read slowly must not stall the others. */
const UNREAD_BYTES = 32 * 1024 * 1024

interface LinkOptions {
  /** It is for one request. */
  readonly isSingle: boolean
  /** Called for each finished request. */
  left(client: HttpClientConnection): void
  /** It accepts no more requests. */
  finishing(): void
}

/** One connection to an HTTP/2 upstream. */
export class Http2Link {
  readonly #connection: Http2ClientConnection
  readonly #options: LinkOptions
  #open = 0
  #taken = 0
  #limit = USUAL_STREAMS
  #greeted = false
  #isLost = false
  #since = timeoutChecker.now

  constructor(stream: ByteStream, options: LinkOptions) {
    this.#options = options
    this.#connection = new Http2ClientConnection(stream, {
      limits: { unreadBytes: UNREAD_BYTES },
      settings: streams => {
        this.#greeted = true
        this.#limit = streams ?? this.#limit
      },
      finishing: () => options.finishing(),
      closed: error => {
        timeoutChecker.delete(this)
        this.#isLost = isSessionLost(error)
      },
    })
  }

  start(): void {
    timeoutChecker.add(this)
    this.#connection.start()
  }

  get isOpen(): boolean {
    return this.#connection.isOpen
  }

  get hasRoom(): boolean {
    return this.isOpen && !this.#options.isSingle && this.#open < this.#limit
  }

  /** Whether the upstream ever sent anything. */
  get greeted(): boolean {
    return this.#greeted
  }

  /** It was opened for an earlier request. */
  get reused(): boolean {
    return this.#taken > 1
  }

  /** The agent's connection was lost, and this one with it. */
  get isLost(): boolean {
    return this.#isLost
  }

  reserve(): void {
    this.#taken++
    this.#open++
  }

  release(client: HttpClientConnection): void {
    this.#open--
    this.#since = timeoutChecker.now
    this.#options.left(client)
    if (this.#options.isSingle) this.#connection.finish()
  }

  /** Sends the head of a reserved request; undefined: the connection was closed meanwhile. */
  request(head: OutgoingHead): Http2ClientStream | undefined {
    return this.isOpen ? this.#connection.request(head) : undefined
  }

  close(): void {
    this.#connection.close()
  }

  checkTimeouts(now: number): void {
    if (this.#open === 0 && now - this.#since > IDLE) this.#connection.finish()
  }
}

/** The connections to one tunnel's upstream, shared by its requests up to the upstream's limit. */
export class Http2Pool {
  readonly #dial: (client: HttpClientConnection) => Promise<ByteStream>
  readonly #shared: boolean
  readonly #share = new FairShare(MAX_LINKS * USUAL_STREAMS, SHARE, LEAST)
  #links: Http2Link[] = []
  #dialing: Promise<Http2Link> | undefined
  #closed = false

  /** Not shared: each request has its own connection, because the PROXY header names its client. */
  constructor(dial: (client: HttpClientConnection) => Promise<ByteStream>, shared: boolean) {
    this.#dial = dial
    this.#shared = shared
  }

  /** A connection with room for one more request, counted from now on until `release`. */
  async take(client: HttpClientConnection): Promise<Http2Link> {
    const keys = [clientNetwork(client.ip)]
    if (!this.#share.take(keys)) throw new DialError('busy', 'The client has reached its share of requests.')
    try {
      return await this.#reserved(client)
    } catch (error) {
      this.#share.release(keys)
      throw error
    }
  }

  async #reserved(client: HttpClientConnection): Promise<Http2Link> {
    if (!this.#shared) {
      const link = await this.#connect(client)
      link.reserve()
      return link
    }
    for (let round = 0; round <= MAX_LINKS; round++) {
      const link = this.#links.find(({ hasRoom }) => hasRoom)
      if (link !== undefined) {
        link.reserve()
        return link
      }
      if (this.#links.length >= MAX_LINKS) break
      this.#dialing ??= this.#connect(client).finally(() => (this.#dialing = undefined))
      const dialled = await this.#dialing
      if (!dialled.isOpen) throw new Error('The connection was closed at once.')
    }
    throw new DialError('busy', 'The upstream has reached its request limit.')
  }

  close(): void {
    this.#closed = true
    for (const link of this.#links) link.close()
  }

  async #connect(client: HttpClientConnection): Promise<Http2Link> {
    const stream = await this.#dial(client)
    if (this.#closed) {
      stream.abort()
      throw new DialError('offline', 'The tunnel is gone.')
    }
    // It carries requests of many clients, so it does not count for the one that opened it.
    if (this.#shared) stream.hold?.(undefined)
    const link = new Http2Link(stream, {
      isSingle: !this.#shared,
      left: ({ ip }) => this.#share.release([clientNetwork(ip)]),
      finishing: () => {
        this.#links = this.#links.filter(other => other !== link)
      },
    })
    this.#links.push(link)
    link.start()
    return link
  }
}
