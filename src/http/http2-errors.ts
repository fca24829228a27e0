import type { ServerHttp2Session } from 'node:http2'

/** From here downwards nghttp2 errors are fatal. */
const FATAL = -900

/** Node's error for a frame that nghttp2 has rejected. */
function isOfFrame(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errno } = error as NodeJS.ErrnoException
  return code === 'ERR_HTTP2_ERROR' && errno !== undefined && errno > FATAL
}

/**
 * Node destroys a session because of any frame that nghttp2 rejects. By then nghttp2 has reset the stream, or, for a
 * connection error, queued a GOAWAY (RFC 9113 §5.4). Node also destroys it because of an unsolicited PING
 * acknowledgement, which RFC 9113 §6.7 tolerates. So the session continues, and `rejected` is called instead. Which of
 * these happened is unknown here.
 */
export function keepAfterFrameErrors(session: ServerHttp2Session, rejected: () => void): void {
  const destroy = session.destroy.bind(session)
  session.destroy = (error, code) => {
    if (isOfFrame(error)) rejected()
    else destroy(error, code)
  }
}
