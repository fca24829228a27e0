import type { BodySink } from '#http/body.ts'

const CRLF = Buffer.from('\r\n')
// Up to this size copying a chunk between its size line and CRLF is cheaper than passing on three pieces.
const COPIED_BYTES = 4096

/** Passes data on as an HTTP/1 chunk, for a reader of raw bodies. */
export function sendChunk(sink: BodySink, bytes: Buffer): void {
  const size = Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1')
  if (bytes.length <= COPIED_BYTES) {
    sink.data(Buffer.concat([size, bytes, CRLF]))
    return
  }
  sink.data(size)
  sink.data(bytes)
  sink.data(CRLF)
}
