import { constants, type ServerHttp2Stream } from 'node:http2'

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM } = constants

/** As long as a client of HTTP/1 may take nothing of what waits for it. */
const MAX_UNREAD_MS = 60_000
/** A client may leave so many answers unread for so long, because it has a hundred of its own in turns. */
const FEW = 32
const FEW_MS = 5000

interface Output {
  bytes: number
  since: number
}

/**
 * Watches what the streams of a connection have to send. A client of HTTP/2 holds answers back by giving no credit,
 * which the socket does not show, and each costs memory here, a connection to the service, and a place in the agent.
 */
export class UnreadStreams {
  readonly #outputs = new Map<ServerHttp2Stream, Output>()

  add(stream: ServerHttp2Stream): void {
    this.#outputs.set(stream, { bytes: 0, since: 0 })
  }

  delete(stream: ServerHttp2Stream): void {
    this.#outputs.delete(stream)
  }

  sweep(now: number): void {
    let unread = 0
    for (const [stream, output] of this.#outputs) {
      const waited = waitedBy(stream, output, now)
      if (waited > MAX_UNREAD_MS) close(stream, NGHTTP2_CANCEL)
      else if (waited > FEW_MS && ++unread > FEW) close(stream, NGHTTP2_ENHANCE_YOUR_CALM)
    }
  }
}

/** For how long the same bytes wait; 0 when none do. */
function waitedBy({ writableLength }: ServerHttp2Stream, output: Output, now: number): number {
  if (writableLength === 0 || writableLength !== output.bytes) {
    output.bytes = writableLength
    output.since = now
  }
  return now - output.since
}

function close(stream: ServerHttp2Stream, code: number): void {
  if (!stream.destroyed && !stream.closed) stream.close(code)
}
