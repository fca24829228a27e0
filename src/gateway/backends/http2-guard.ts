import { type ClientHttp2Stream, constants } from 'node:http2'

/** Runs a stream's event handler. An internal error costs that stream and nothing else. */
export function guarded(stream: ClientHttp2Stream, action: () => void): void {
  try {
    action()
  } catch {
    if (!stream.destroyed && !stream.closed) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }
}
