import { constants, type Http2Stream } from 'node:http2'

/** Runs what an event of a stream asks for. A fault of our own costs that stream and nothing else. */
export function guarded(stream: Http2Stream, action: () => void): void {
  try {
    action()
  } catch {
    if (!stream.destroyed && !stream.closed) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }
}
