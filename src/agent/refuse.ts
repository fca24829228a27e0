import { badGateway } from '#agent/dial-upstream.ts'
import { isWeb, type ProxiedConnection } from '#agent/proxied-connection.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

// How long a gateway may keep sending unread data.
const DISCARD_MS = 10_000
const EMPTY = Buffer.alloc(0)

/** Reports an unreachable service to the gateway: as an HTTP response if the protocol is HTTP, else by closing. */
export function refuse(proxied: ProxiedConnection, reason: string): Buffer {
  if (!isWeb(proxied)) {
    proxied.stream.abort()
    return EMPTY
  }
  const page = badGateway(`failed to dial backend: ${reason}`)
  discardInput(proxied.stream)
  proxied.stream.end(page)
  return page
}

function discardInput(stream: TunnelStream): void {
  const timer = setTimeout(() => stream.reset('stream_cancelled'), DISCARD_MS)
  timer.unref()
  stream.attach({ data: () => undefined, end: () => undefined, closed: () => clearTimeout(timer) })
  stream.resume()
}
