import { ResponseHeads } from '#http/http1-response-head.ts'
import type { TimeoutChecker, HasTimeouts } from '#http/timeout-checker.ts'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'

/** A request that uses an upstream connection: it receives the connection's events. */
export interface StreamUser extends Sink {
  writable(): void
  /** A sweep of the pool. */
  checkTimeouts(now: number): void
}

interface PoolOptions {
  readonly timeouts: TimeoutChecker
  readonly maxIdle: number
  readonly idleMs: number
}

/** One connection to a tunnel's upstream. It must stay silent while it is idle. */
export class UpstreamStream implements Sink {
  readonly stream: ByteStream
  /** No earlier request has used it. */
  fresh = true
  idleSince = 0
  readonly #pool: StreamPool
  #user: StreamUser | undefined

  constructor(stream: ByteStream, pool: StreamPool) {
    this.stream = stream
    this.#pool = pool
  }

  /** Assigns the connection to a request; buffered bytes are delivered at once. */
  use(user: StreamUser): void {
    this.#user = user
    if (this.fresh) this.stream.attach(this)
  }

  /** The request is finished: the connection goes to the pool, or to another reader. */
  leave(): void {
    this.#user = undefined
    this.fresh = false
  }

  /** Detaches the connection from the pool for another protocol; `rest` is its first data. */
  handOver(rest: Buffer | undefined): ByteStream {
    this.leave()
    this.#pool.forget(this)
    this.stream.detach(rest)
    this.stream.resume()
    return this.stream
  }

  /** Resets the connection, dropping data in flight. */
  abort(): void {
    this.#user = undefined
    this.#pool.forget(this)
    this.stream.abort()
  }

  /** Closes an idle connection. */
  finish(): void {
    this.#user = undefined
    this.#pool.forget(this)
    this.stream.end()
  }

  data(bytes: Buffer): void {
    // Unsolicited bytes would be taken for the response to the next request.
    if (this.#user === undefined) this.abort()
    else this.#user.data(bytes)
  }

  end(): void {
    if (this.#user === undefined) this.finish()
    else this.#user.end()
  }

  writable(): void {
    this.#user?.writable()
  }

  closed(error: Parameters<Sink['closed']>[0]): void {
    this.#pool.forget(this)
    const user = this.#user
    this.#user = undefined
    user?.closed(error)
  }

  checkTimeouts(now: number): void {
    this.#user?.checkTimeouts(now)
  }
}

// After a burst this many idle connections are kept, the others only briefly: agents have a connection limit.
const KEPT_IDLE = 64
const SURPLUS_MS = 5000

/** The upstream connections of one tunnel; never shared with another one. */
export class StreamPool implements HasTimeouts {
  readonly heads = new ResponseHeads()
  readonly #timeouts: TimeoutChecker
  readonly #maxIdle: number
  readonly #idleMs: number
  readonly #all = new Set<UpstreamStream>()
  /** The most recently used one is last, and used first. */
  readonly #idle: UpstreamStream[] = []
  #closed = false

  constructor({ timeouts, maxIdle, idleMs }: PoolOptions) {
    this.#timeouts = timeouts
    this.#maxIdle = maxIdle
    this.#idleMs = idleMs
  }

  get idle(): number {
    return this.#idle.length
  }

  add(stream: ByteStream): UpstreamStream {
    const added = new UpstreamStream(stream, this)
    if (this.#all.size === 0) this.#timeouts.add(this)
    this.#all.add(added)
    return added
  }

  /** A recently used idle connection, if there is one and the client may have one more. */
  take(withinMs: number, client: string): UpstreamStream | undefined {
    const last = this.#idle.at(-1)
    if (last === undefined || this.#timeouts.now - last.idleSince > withinMs) return undefined
    if (last.stream.hold?.(client) === false) return undefined
    return this.#idle.pop()
  }

  /** Keeps a connection for the next request. */
  release(used: UpstreamStream): void {
    used.leave()
    // Bytes after the response are delivered now, and close the connection.
    used.stream.resume()
    if (!this.#all.has(used)) return
    if (
      this.#closed ||
      this.#idle.length >= this.#maxIdle ||
      used.stream.closed ||
      used.stream.peerFinished
    ) {
      used.finish()
      return
    }
    used.idleSince = this.#timeouts.now
    this.#idle.push(used)
    // Waiting requests may take this slot, so this comes last.
    used.stream.rest?.()
  }

  forget(gone: UpstreamStream): void {
    if (!this.#all.delete(gone)) return
    const at = this.#idle.indexOf(gone)
    if (at >= 0) this.#idle.splice(at, 1)
    if (this.#all.size === 0) this.#timeouts.delete(this)
  }

  checkTimeouts(now: number): void {
    for (let [oldest] = this.#idle; oldest !== undefined; [oldest] = this.#idle) {
      if (now - oldest.idleSince <= (this.#idle.length > KEPT_IDLE ? SURPLUS_MS : this.#idleMs)) break
      oldest.finish()
    }
    for (const used of this.#all) used.checkTimeouts(now)
  }

  /** Closes idle connections; busy ones finish their request first. */
  close(): void {
    this.#closed = true
    while (this.#idle[0] !== undefined) this.#idle[0].finish()
  }
}
