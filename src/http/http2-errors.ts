import type { ServerHttp2Session } from 'node:http2'

/** From here downwards nghttp2 cannot go on after an error. */
const FATAL = -900

/** The error that node makes of a frame that nghttp2 has rejected. */
function isOfFrame(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errno } = error as NodeJS.ErrnoException
  return code === 'ERR_HTTP2_ERROR' && errno !== undefined && errno > FATAL
}

/**
 * Node destroys a session because of any frame that nghttp2 rejects. By then nghttp2 has reset the stream of the frame,
 * or, where the fault is the connection's, has queued a GOAWAY that names it (RFC 9113 §5.4). Node also destroys it
 * because of an acknowledgement that no PING asked for, which RFC 9113 §6.7 lets pass. So the session goes on, and
 * `rejected` is called instead. It cannot be told here which of these happened.
 */
export function keepAfterFrameErrors(session: ServerHttp2Session, rejected: () => void): void {
  const destroy = session.destroy.bind(session)
  session.destroy = (error, code) => {
    if (isOfFrame(error)) rejected()
    else destroy(error, code)
  }
}
