import type { Sweeper, Swept } from '#http/sweeper.ts'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'

/** A request that uses an upstream connection: it hears what the connection's reader would. */
export interface StreamUser extends Sink {
  writable(): void
  /** A sweep of the pool. */
  sweep(now: number): void
}

export interface PoolOptions {
  readonly sweeper: Sweeper
  readonly maxIdle: number
  readonly idleMs: number
}

/** One connection to what a tunnel forwards to. While nobody uses it nothing may come from it. */
export class UpstreamStream implements Sink {
  readonly stream: ByteStream
  /** No request has used it before the present one. */
  fresh = true
  idleSince = 0
  readonly #pool: StreamPool
  #user: StreamUser | undefined

  constructor(stream: ByteStream, pool: StreamPool) {
    this.stream = stream
    this.#pool = pool
  }

  /** Gives the connection to a request; bytes that wait are delivered at once. */
  use(user: StreamUser): void {
    this.#user = user
    if (this.fresh) this.stream.attach(this)
  }

  /** The request is done with it: it goes to the pool, or to another reader. */
  leave(): void {
    this.#user = undefined
    this.fresh = false
  }

  /** Takes the connection out of the pool for another protocol; `rest` is the first of it. */
  handOver(rest: Buffer | undefined): ByteStream {
    this.leave()
    this.#pool.forget(this)
    this.stream.detach(rest)
    this.stream.resume()
    return this.stream
  }

  /** Gives the connection up, with whatever is on its way. */
  abort(): void {
    this.#user = undefined
    this.#pool.forget(this)
    this.stream.abort()
  }

  /** Ends a connection on which nothing is on its way. */
  finish(): void {
    this.#user = undefined
    this.#pool.forget(this)
    this.stream.end()
  }

  data(bytes: Buffer): void {
    // Bytes nobody asked for would be taken for the answer of the next request.
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

  sweep(now: number): void {
    this.#user?.sweep(now)
  }
}

// After a rush so many connections are kept, the others only for a moment: agents can have but so many at once.
const KEPT_IDLE = 64
const SURPLUS_MS = 5000

/** The upstream connections of one tunnel; they are never shared with another one. */
export class StreamPool implements Swept {
  readonly #sweeper: Sweeper
  readonly #maxIdle: number
  readonly #idleMs: number
  readonly #all = new Set<UpstreamStream>()
  /** The one used last is at the end, and is used first. */
  readonly #idle: UpstreamStream[] = []
  #closed = false

  constructor({ sweeper, maxIdle, idleMs }: PoolOptions) {
    this.#sweeper = sweeper
    this.#maxIdle = maxIdle
    this.#idleMs = idleMs
  }

  get idle(): number {
    return this.#idle.length
  }

  add(stream: ByteStream): UpstreamStream {
    const added = new UpstreamStream(stream, this)
    if (this.#all.size === 0) this.#sweeper.add(this)
    this.#all.add(added)
    return added
  }

  /** An idle connection that was used within the time, if there is one and the client may have one more. */
  take(withinMs: number, client: string): UpstreamStream | undefined {
    const last = this.#idle.at(-1)
    if (last === undefined || this.#sweeper.now - last.idleSince > withinMs) return undefined
    if (last.stream.hold?.(client) === false) return undefined
    return this.#idle.pop()
  }

  /** Keeps a connection for the next request. */
  release(used: UpstreamStream): void {
    used.leave()
    // What came behind the answer is told now, and ends the connection.
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
    used.idleSince = this.#sweeper.now
    this.#idle.push(used)
    // Those who wait for a place may take this one's, so it is the last thing done.
    used.stream.rest?.()
  }

  forget(gone: UpstreamStream): void {
    if (!this.#all.delete(gone)) return
    const at = this.#idle.indexOf(gone)
    if (at >= 0) this.#idle.splice(at, 1)
    if (this.#all.size === 0) this.#sweeper.delete(this)
  }

  sweep(now: number): void {
    for (let [oldest] = this.#idle; oldest !== undefined; [oldest] = this.#idle) {
      if (now - oldest.idleSince <= (this.#idle.length > KEPT_IDLE ? SURPLUS_MS : this.#idleMs)) break
      oldest.finish()
    }
    for (const used of this.#all) used.sweep(now)
  }

  /** Ends what is idle; what runs is finished and then ended. */
  close(): void {
    this.#closed = true
    while (this.#idle[0] !== undefined) this.#idle[0].finish()
  }
}
