import { connect, type ClientHttp2Session } from 'node:http2'
import { clientNetwork } from '#base/client-network.ts'
import { FairShare } from '#base/fair-share.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import { DialError } from '#registry/agent-dialer.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { asDuplex } from '#tunnel/duplex.ts'
import { isSessionLost } from '#tunnel/frame.ts'

const MAX_LINKS = 8
/** Bytes that an upstream may send on one stream before its reader takes any: they may all be buffered. */
const STREAM_WINDOW = 256 * 1024
/** Node takes these off the socket at once and only stream windows throttle, so it may be larger. */
const CONNECTION_WINDOW = 1024 * 1024
const IDLE = 90_000
/** Assumed until an upstream has sent its limit. */
const USUAL_STREAMS = 100
/** One client gets no more than this fraction of the usual capacity, and always as many as a browser needs. */
const SHARE = 0.75
const LEAST = 8

const sessionOptions = {
  settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
  maxSessionMemory: 32,
  // Clients repeat fields that should be single; that is not for the gateway to reject.
  strictSingleValueFields: false,
}

/** One connection to an HTTP/2 upstream. */
export class Http2Link {
  readonly session: ClientHttp2Session
  readonly #single: boolean
  readonly #left: (client: HttpClientConnection) => void
  #open = 0
  #taken = 0
  #limit = USUAL_STREAMS
  #greeted = false
  /** The agent's connection was lost, and this one with it. */
  isLost = false

  /** `left` is called for each finished request. */
  constructor(session: ClientHttp2Session, single: boolean, left: (client: HttpClientConnection) => void) {
    this.session = session
    this.#single = single
    this.#left = left
    session.on('remoteSettings', settings => {
      this.#greeted = true
      this.#limit = settings.maxConcurrentStreams ?? USUAL_STREAMS
    })
    session.on('error', () => undefined)
    session.setTimeout(IDLE, () => {
      if (this.#open === 0) session.close()
    })
    session.once('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW))
  }

  get alive(): boolean {
    return !this.session.closed && !this.session.destroyed
  }

  get hasRoom(): boolean {
    return this.alive && !this.#single && this.#open < this.#limit
  }

  /** Whether the upstream ever sent anything. */
  get greeted(): boolean {
    return this.#greeted
  }

  /** It was opened for an earlier request. */
  get reused(): boolean {
    return this.#taken > 1
  }

  reserve(): void {
    this.#taken++
    this.#open++
  }

  release(client: HttpClientConnection): void {
    this.#open--
    this.#left(client)
    if (this.#single && this.alive) this.session.close()
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
      await this.#dialing
    }
    throw new DialError('busy', 'The upstream has reached its request limit.')
  }

  close(): void {
    this.#closed = true
    for (const { session } of this.#links) session.destroy()
  }

  async #connect(client: HttpClientConnection): Promise<Http2Link> {
    const stream = await this.#dial(client)
    if (this.#closed) {
      stream.abort()
      throw new DialError('offline', 'The tunnel is gone.')
    }
    // It carries requests of many clients, so it does not count for the one that opened it.
    if (this.#shared) stream.hold?.(undefined)
    const duplex = asDuplex(stream)
    const session = connect('http://upstream', { ...sessionOptions, createConnection: () => duplex })
    // HTTP/2 has no half-closed connections, and node would wait for the rest.
    duplex.once('end', () => session.destroy())
    duplex.once('close', () => session.destroy())
    const link = new Http2Link(session, !this.#shared, ({ ip }) => this.#share.release([clientNetwork(ip)]))
    this.#links.push(link)
    duplex.once('error', error => (link.isLost = isSessionLost(error)))
    session.on('goaway', () => this.#forget(link))
    session.once('close', () => this.#forget(link))
    // Its peer may keep the stream open forever, and a half-closed stream counts as open in the agent.
    session.once('close', () => stream.abort())
    return link
  }

  #forget(link: Http2Link): void {
    this.#links = this.#links.filter(other => other !== link)
    // An upstream that sent GOAWAY gets no new requests, but running ones may finish.
    if (link.alive) link.session.close()
  }
}
