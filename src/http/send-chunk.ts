import type { BodySink } from '#http/body.ts'

const CRLF = Buffer.from('\r\n')
// Up to here copying a piece between its chunk size and CRLF costs less than handing on three pieces.
const COPIED_BYTES = 4096

/** Hands a piece of content on as a chunk of HTTP/1, for a reader of raw bodies. */
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
