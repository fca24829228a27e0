import { connect, type ClientHttp2Session } from 'node:http2'
import { clientNetwork } from '#base/client-network.ts'
import { FairShare } from '#base/fair-share.ts'
import type { Visitor } from '#http/exchange.ts'
import { DialError } from '#registry/fleet.ts'
import { CONNECTION_WINDOW, STREAM_WINDOW } from '#http/http2-limits.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { asDuplex } from '#tunnel/duplex.ts'
import { isSessionLost } from '#tunnel/frame.ts'

const MAX_LINKS = 8
const IDLE = 90_000
/** What is assumed of an upstream that has not told its limit yet. */
const USUAL_STREAMS = 100
/** Of what all connections usually carry, one client has no more than this, and always as many as a browser asks for. */
const SHARE = 0.75
const LEAST = 8

const sessionOptions = {
  settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
  maxSessionMemory: 32,
  // Visitors repeat fields that should be single; it is not ours to refuse that.
  strictSingleValueFields: false,
}

/** One connection to an upstream that speaks HTTP/2. */
export class Http2Link {
  readonly session: ClientHttp2Session
  readonly #single: boolean
  readonly #left: (visitor: Visitor) => void
  #open = 0
  #taken = 0
  #limit = USUAL_STREAMS
  #greeted = false
  /** The connection of the agent broke, and this one with it. */
  isLost = false

  /** `left` is told of each request that is over. */
  constructor(session: ClientHttp2Session, single: boolean, left: (visitor: Visitor) => void) {
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

  /** Whether the upstream ever spoke. */
  get greeted(): boolean {
    return this.#greeted
  }

  /** It was there before the request that has it now. */
  get reused(): boolean {
    return this.#taken > 1
  }

  reserve(): void {
    this.#taken++
    this.#open++
  }

  release(visitor: Visitor): void {
    this.#open--
    this.#left(visitor)
    if (this.#single && this.alive) this.session.close()
  }
}

/** The connections to one tunnel's upstream. They are shared by its requests, as many as the upstream allows. */
export class Http2Pool {
  readonly #dial: (visitor: Visitor) => Promise<ByteStream>
  readonly #shared: boolean
  readonly #share = new FairShare(MAX_LINKS * USUAL_STREAMS, SHARE, LEAST)
  #links: Http2Link[] = []
  #dialing: Promise<Http2Link> | undefined
  #closed = false

  /** Not shared: each request has a connection of its own, because it begins with who the visitor is. */
  constructor(dial: (visitor: Visitor) => Promise<ByteStream>, shared: boolean) {
    this.#dial = dial
    this.#shared = shared
  }

  /** A connection with room for one more request, which counts from now on until `release`. */
  async take(visitor: Visitor): Promise<Http2Link> {
    const keys = [clientNetwork(visitor.ip)]
    if (!this.#share.take(keys))
      throw new DialError('busy', 'The client has as many requests as are left for it.')
    try {
      return await this.#reserved(visitor)
    } catch (error) {
      this.#share.release(keys)
      throw error
    }
  }

  async #reserved(visitor: Visitor): Promise<Http2Link> {
    if (!this.#shared) {
      const link = await this.#connect(visitor)
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
      this.#dialing ??= this.#connect(visitor).finally(() => (this.#dialing = undefined))
      await this.#dialing
    }
    throw new DialError('busy', 'The upstream has as many requests as its connections can take.')
  }

  close(): void {
    this.#closed = true
    for (const { session } of this.#links) session.destroy()
  }

  async #connect(visitor: Visitor): Promise<Http2Link> {
    const stream = await this.#dial(visitor)
    if (this.#closed) {
      stream.abort()
      throw new DialError('offline', 'The tunnel is gone.')
    }
    // It carries the requests of many, so it is not one of the client that it was opened for.
    if (this.#shared) stream.hold?.(undefined)
    const duplex = asDuplex(stream)
    const session = connect('http://upstream', { ...sessionOptions, createConnection: () => duplex })
    // HTTP/2 knows no half-closed connection, and node would wait for the rest of it.
    duplex.once('end', () => session.destroy())
    duplex.once('close', () => session.destroy())
    const link = new Http2Link(session, !this.#shared, ({ ip }) => this.#share.release([clientNetwork(ip)]))
    this.#links.push(link)
    duplex.once('error', error => (link.isLost = isSessionLost(error)))
    session.on('goaway', () => this.#forget(link))
    session.once('close', () => this.#forget(link))
    // Its peer may keep the stream open for ever, and an unanswered half is counted as open in the agent.
    session.once('close', () => stream.abort())
    return link
  }

  #forget(link: Http2Link): void {
    this.#links = this.#links.filter(other => other !== link)
    // An upstream that said it will go is not asked again, but what it is answering is waited for.
    if (link.alive) link.session.close()
  }
}
