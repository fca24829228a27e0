import { Problem } from '#base/errors.ts'
import { type Channel, ChannelClosed } from '#cluster/channel.ts'

/** A first process that ended is back by then, unless it cannot start. */
const WAIT_MS = 10_000

/**
 * The connection of a worker to the first process, which may be replaced. Requests wait for the next one, and those
 * without a response are sent again, in order: all of them can be repeated.
 */
export class FirstProcessLink {
  #channel: Channel | undefined
  #next = Promise.withResolvers<Channel>()
  #isClosed = false

  /** A first process is ready for requests. */
  open(channel: Channel): void {
    this.#channel = channel
    this.#next.resolve(channel)
  }

  /** It has ended. */
  lost(): void {
    if (this.#channel === undefined) return
    this.#channel = undefined
    this.#next = Promise.withResolvers()
  }

  /** No first process follows. */
  close(): void {
    this.#isClosed = true
    this.lost()
    // There may be no request that waits.
    this.#next.promise.catch(() => undefined)
    this.#next.reject(new ChannelClosed())
  }

  /** Rejects unless a first process is there within the time. */
  async request<Result>(method: string, argument: unknown, waitMs = WAIT_MS): Promise<Result> {
    for (;;) {
      const channel = this.#channel ?? (await this.#nextWithin(waitMs))
      try {
        return await channel.request<Result>(method, argument)
      } catch (error) {
        if (!(error instanceof ChannelClosed) || this.#isClosed) throw error
      }
    }
  }

  notify(name: string, argument: unknown): void {
    this.#channel?.notify(name, argument)
  }

  async #nextWithin(waitMs: number): Promise<Channel> {
    const late = Promise.withResolvers<never>()
    const isLate = (): void => late.reject(new Problem('first_process_unavailable', {}))
    const timer = waitMs === Infinity ? undefined : setTimeout(isLate, waitMs)
    try {
      return await Promise.race([this.#next.promise, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
