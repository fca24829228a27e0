import { type JsonObject, MessageError } from '#base/json-fields.ts'
import { TunnelError } from '#tunnel/frame.ts'
import { JsonCollector } from '#tunnel/json-value.ts'
import { proxyHeader, type ProxyHeader } from '#tunnel/messages.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

const LENGTH_BYTES = 8
const MAX_HEADER_BYTES = 16_384

/** What follows the type of a proxy stream: the length, little-endian unlike all else, and the header. */
export function encodeProxyHeader(header: ProxyHeader): Buffer {
  const json = Buffer.from(JSON.stringify(header))
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES + json.length)
  bytes.writeBigInt64LE(BigInt(json.length))
  json.copy(bytes, LENGTH_BYTES)
  return bytes
}

/** Length of the whole header in bytes, once its first 8 are available. */
function announced(bytes: Buffer): number | undefined {
  if (bytes.length < LENGTH_BYTES) return undefined
  const length = bytes.readBigInt64LE()
  if (length < 2n || length > BigInt(MAX_HEADER_BYTES))
    throw new MessageError(`A proxy header cannot be ${length} bytes long.`)
  return LENGTH_BYTES + Number(length)
}

function parse(json: Buffer): JsonObject {
  const message = new JsonCollector(MAX_HEADER_BYTES).push(json)
  if (message === undefined) throw new MessageError('The proxy header is not complete.')
  return message
}

/** Reads the header of a proxied connection; the stream then has no reader, and its bytes follow. */
export async function readProxyHeader(stream: TunnelStream, deadlineMs = 10_000): Promise<ProxyHeader> {
  const { promise, resolve, reject } = Promise.withResolvers<ProxyHeader>()
  const timer = setTimeout(
    () => reject(new TunnelError('write_timeout', `No proxy header came within ${deadlineMs} ms.`)),
    deadlineMs,
  )
  let collected: Buffer = Buffer.alloc(0)
  stream.attach({
    data: bytes => {
      collected = Buffer.concat([collected, bytes])
      try {
        const size = announced(collected)
        if (size === undefined || collected.length < size) return
        stream.detach(collected.subarray(size))
        resolve(proxyHeader(parse(collected.subarray(LENGTH_BYTES, size)), ''))
      } catch (error) {
        stream.detach()
        reject(error)
      }
    },
    end: () => reject(new MessageError('The stream ended before its proxy header.')),
    closed: error => reject(error ?? new MessageError('The stream was closed before its proxy header.')),
  })
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
