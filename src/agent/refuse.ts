import { isWeb, type Visit } from '#agent/visit.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

// How long a gateway may go on sending what nobody reads.
const DISCARD_MS = 10_000
const EMPTY = Buffer.alloc(0)

/** Tells the gateway that the service cannot be reached: as an HTTP answer where that is spoken, else by the end. */
export function refuse(visit: Visit, reason: string): Buffer {
  if (!isWeb(visit)) {
    visit.stream.abort()
    return EMPTY
  }
  const page = badGateway(`failed to dial backend: ${reason}`)
  discardInput(visit.stream)
  visit.stream.end(page)
  return page
}

/** The response of an agent whose upstream cannot be reached. */
export function badGateway(text: string): Buffer {
  const body = Buffer.from(text)
  const head =
    'HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain; charset=utf-8\r\n' +
    `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

function discardInput(stream: TunnelStream): void {
  const timer = setTimeout(() => stream.reset('stream_cancelled'), DISCARD_MS)
  timer.unref()
  stream.attach({ data: () => undefined, end: () => undefined, closed: () => clearTimeout(timer) })
  stream.resume()
}
