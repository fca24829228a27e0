import { Duplex } from 'node:stream'
import type { ByteStream } from '#tunnel/byte-stream.ts'

/**
 * A stream as a node Duplex. It stays half-open: end it when the peer has ended, or use it in a pipeline. Destroying it
 * aborts the stream.
 */
export function asDuplex(stream: ByteStream): Duplex {
  let written: (() => void) | undefined
  const duplex = new Duplex({
    allowHalfOpen: true,
    read: () => stream.resume(),
    write: (bytes: Buffer, _, done) => {
      if (stream.write(bytes)) done()
      else written = done
    },
    final: done => {
      stream.end()
      done()
    },
    destroy: (error, done) => {
      stream.abort()
      done(error)
    },
  })
  // Nothing is read before there is a reader, so that the window limits what is buffered here.
  stream.pause()
  stream.attach({
    data: bytes => {
      if (!duplex.push(bytes)) stream.pause()
    },
    end: () => duplex.push(null),
    writable: () => {
      const done = written
      written = undefined
      done?.()
    },
    closed: error => {
      if (error !== undefined) duplex.destroy(error)
    },
  })
  return duplex
}
