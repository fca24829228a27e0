import type { Call } from '#api/call.ts'
import type { HttpCall } from '#api/http-server.ts'
import { EventStream } from '#api/streams/event-stream.ts'
import { fail } from '#base/errors.ts'

/** Also how long a revoked key still reads. */
const HEARTBEAT_MS = 5000
const MAX_PER_KEY = 16
const MAX_STREAMS = 256

/** Feeds a stream from now on, and returns how to stop. */
export type Feed = (stream: EventStream) => () => void

/** The open streams of a server: each costs memory and work for every message. */
export class OpenStreams {
  readonly #identify: (httpCall: HttpCall) => Promise<unknown>
  readonly #closing: AbortSignal
  readonly #perKey = new Map<string, number>()
  #count = 0

  constructor(identify: (httpCall: HttpCall) => Promise<unknown>, closing: AbortSignal) {
    this.#identify = identify
    this.#closing = closing
  }

  /** Serves a stream until the client leaves, its key is no longer valid, or the server stops. */
  async serve(httpCall: HttpCall, { principal }: Call, feed: Feed): Promise<void> {
    const { keyId } = principal
    // A client that left while it was authenticated does not close a second time.
    if (httpCall.response.closed) return
    this.#take(keyId)
    const stream = new EventStream(httpCall)
    const stop = feed(stream)
    const heartbeat = setInterval(() => {
      // The key may have been deleted, or its owner deactivated.
      this.#identify(httpCall).then(
        () => stream.comment('heartbeat'),
        () => stream.end(),
      )
    }, HEARTBEAT_MS)
    const end = (): void => stream.end()
    this.#closing.addEventListener('abort', end)
    if (this.#closing.aborted) end()
    try {
      await new Promise(resolve => httpCall.response.once('close', resolve))
    } finally {
      clearInterval(heartbeat)
      this.#closing.removeEventListener('abort', end)
      stop()
      this.#release(keyId)
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
