import { MessageError } from '#base/json-fields.ts'
import { proxyHeaderLength } from '#tunnel/proxy-protocol.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

const DEADLINE_MS = 10_000

/** Removes the PROXY header that the gateway sends at the start of a stream if an endpoint requested it. */
export async function readProxyProtocol(stream: TunnelStream): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const timer = setTimeout(() => reject(new MessageError('No PROXY header came.')), DEADLINE_MS)
  let collected = Buffer.alloc(0)
  stream.attach({
    data: bytes => {
      collected = Buffer.concat([collected, bytes])
      try {
        const length = proxyHeaderLength(collected)
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
