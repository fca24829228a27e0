import { MessageError } from '#base/json-fields.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const FIXED_BYTES = 16
const TEXT_BYTES = 107
const MAX_BYTES = 536
const DEADLINE_MS = 10_000

/** Length of the PROXY header at the start of these bytes, of version 1 or 2; undefined while it is incomplete. */
function proxyProtocolLength(bytes: Buffer): number | undefined {
  const seen = Math.min(bytes.length, SIGNATURE.length)
  if (bytes.subarray(0, seen).equals(SIGNATURE.subarray(0, seen))) {
    if (bytes.length < FIXED_BYTES) return undefined
    const length = FIXED_BYTES + bytes.readUInt16BE(FIXED_BYTES - 2)
    if (length > MAX_BYTES) throw new MessageError('The PROXY header is too long.')
    return length <= bytes.length ? length : undefined
  }
  const end = bytes.subarray(0, TEXT_BYTES).indexOf('\r\n')
  if (end !== -1) return end + 2
  if (bytes.length >= TEXT_BYTES) throw new MessageError('The PROXY header has no end.')
  return undefined
}

/** Removes the PROXY header that the gateway sends at the start of a stream if an endpoint requested it. */
export async function readProxyProtocol(stream: TunnelStream): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const timer = setTimeout(() => reject(new MessageError('No PROXY header came.')), DEADLINE_MS)
  let collected = Buffer.alloc(0)
  stream.attach({
    data: bytes => {
      collected = Buffer.concat([collected, bytes])
      try {
        const length = proxyProtocolLength(collected)
        if (length === undefined) return
        stream.detach(collected.subarray(length))
        resolve(collected.subarray(0, length))
      } catch (error) {
        stream.detach()
        reject(error)
      }
    },
    end: () => reject(new MessageError('The stream ended before its PROXY header.')),
    closed: error => reject(error ?? new MessageError('The stream was closed before its PROXY header.')),
  })
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
