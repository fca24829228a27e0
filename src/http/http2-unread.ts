import { constants, type ServerHttp2Stream } from 'node:http2'

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM } = constants

/** As long as an HTTP/1 client may leave buffered data unread. */
const MAX_UNREAD_MS = 60_000
/** A client may leave this many responses unread for this long, because it has up to a hundred of its own. */
const FEW = 32
const FEW_MS = 5000

interface Output {
  bytes: number
  since: number
}

/**
 * Watches the unsent data of a connection's streams. An HTTP/2 client stalls responses by giving no credit, which the
 * socket does not show, and each costs memory here, a connection to the service, and a slot in the agent.
 */
export class UnreadStreams {
  readonly #outputs = new Map<ServerHttp2Stream, Output>()

  add(stream: ServerHttp2Stream): void {
    this.#outputs.set(stream, { bytes: 0, since: 0 })
  }

  delete(stream: ServerHttp2Stream): void {
    this.#outputs.delete(stream)
  }

  checkTimeouts(now: number): void {
    let unread = 0
    for (const [stream, output] of this.#outputs) {
      const waited = waitedBy(stream, output, now)
      if (waited > MAX_UNREAD_MS) close(stream, NGHTTP2_CANCEL)
      else if (waited > FEW_MS && ++unread > FEW) close(stream, NGHTTP2_ENHANCE_YOUR_CALM)
    }
  }
}

/** How long the same bytes have waited; 0 when none do. */
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
