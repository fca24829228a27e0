import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'

/** Copies one stream to another, at the pace of the slower one. */
function sinkInto(from: ByteStream, to: ByteStream): Sink {
  return {
    data: bytes => {
      if (!to.write(bytes)) from.pause()
    },
    end: () => to.end(),
    writable: () => to.resume(),
    closed: error => {
      if (error !== undefined) to.abort()
    },
  }
}

/** Connects two streams: data and ends go both ways, and a failure of one resets the other. */
export function join(left: ByteStream, right: ByteStream): void {
  left.attach(sinkInto(left, right))
  right.attach(sinkInto(right, left))
}
