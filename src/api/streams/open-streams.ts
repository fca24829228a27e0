import { ACCESS_KINDS } from '#api/access.ts'
import { streamReply } from '#api/answer.ts'
import type { Call, Principal } from '#api/call.ts'
import type { HttpCall } from '#api/http-server.ts'
import type { ChangeFeed } from '#api/streams/change-feed.ts'
import { EventStream } from '#api/streams/event-stream.ts'
import { inBackground } from '#base/background.ts'
import { fail } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'
import type { Reply } from '#http/exchange.ts'

/** Also how long a session that has expired still reads. */
const HEARTBEAT_MS = 5000
const MAX_PER_KEY = 16
const MAX_STREAMS = 256

/** Feeds a stream from now on, and returns how to stop. */
export type Feed = (stream: EventStream) => () => void

interface OpenStreamsOptions {
  /** The caller as of now; rejects if there is none. */
  readonly identify: (httpCall: HttpCall) => Promise<Pick<Principal, 'id' | 'role'>>
  readonly changes: Pick<ChangeFeed, 'listen'>
  readonly closing: AbortSignal
  readonly log: Log
}

const decidesAccess = (kind: string): boolean => kind === dashboardSession.name || ACCESS_KINDS.includes(kind)

/** The open streams of a server: each costs memory and work for every message. */
export class OpenStreams {
  readonly #options: OpenStreamsOptions
  readonly #perKey = new Map<string, number>()
  #count = 0

  constructor(options: OpenStreamsOptions) {
    this.#options = options
  }

  /**
   * Responds with a stream that lasts until the client leaves, its caller is no longer allowed what it was when the
   * stream was opened, or the server stops.
   */
  serve(httpCall: HttpCall, { principal }: Call, feed: Feed): Reply {
    const { keyId } = principal
    this.#take(keyId)
    const stops: (() => void)[] = [() => this.#release(keyId)]
    const stream = new EventStream(() => stops.forEach(stop => stop()))
    stops.push(feed(stream), this.#watch(stream, httpCall, principal))
    return streamReply(httpCall, stream.body)
  }

  /** Ends a stream in time, and keeps it alive until then; returns how to stop. */
  #watch(stream: EventStream, httpCall: HttpCall, principal: Principal): () => void {
    const { changes, closing, log } = this.#options
    const background = { task: 'streams', log } as const
    const check = async (): Promise<void> => {
      if (!(await this.#isCurrent(httpCall, principal))) stream.end()
    }
    const stopChecks = changes.listen(({ kind }) => {
      if (decidesAccess(kind)) void inBackground(background, check)
    })
    const heartbeat = setInterval(
      () => void inBackground(background, () => check().then(() => stream.comment('heartbeat'))),
      HEARTBEAT_MS,
    )
    const end = (): void => stream.end()
    closing.addEventListener('abort', end)
    if (closing.aborted) end()
    return () => {
      clearInterval(heartbeat)
      closing.removeEventListener('abort', end)
      stopChecks()
    }
  }

  /** Whether the caller is still allowed, in the same role: a stream sends what the role may see. */
  async #isCurrent(httpCall: HttpCall, { id, role }: Principal): Promise<boolean> {
    try {
      const now = await this.#options.identify(httpCall)
      return now.id === id && now.role === role
    } catch {
      return false
    }
  }

  #take(keyId: string): void {
    const open = this.#perKey.get(keyId) ?? 0
    if (open >= MAX_PER_KEY) fail('too_many_streams', { limit: MAX_PER_KEY, of: 'API key' })
    if (this.#count >= MAX_STREAMS) fail('too_many_streams', { limit: MAX_STREAMS, of: 'server' })
    this.#perKey.set(keyId, open + 1)
    this.#count++
  }

  #release(keyId: string): void {
    this.#count--
    const open = (this.#perKey.get(keyId) ?? 1) - 1
    if (open > 0) this.#perKey.set(keyId, open)
    else this.#perKey.delete(keyId)
  }
}
