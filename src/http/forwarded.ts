import { randomBytes } from 'node:crypto'
import type { HttpClientConnection } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'

// RFC 9110 §7.6.3. Unique to this process, so that only its own requests count as loops.
const VIA = `1.1 adit-${randomBytes(6).toString('hex')}`

interface ForwardedLines {
  readonly authority: string
  readonly lines: string
}

// Most clients request one host only, so the last lines can mostly be reused.
const forwarded = new WeakMap<HttpClientConnection, ForwardedLines>()

/** The forwarding headers for upstreams. Only the gateway sets them: they were removed from the request. */
export function forwardedLines(client: HttpClientConnection, { authority }: RequestHead): string {
  const last = forwarded.get(client)
  if (last?.authority === authority) return last.lines
  const { ip, scheme } = client
  const lines = `X-Forwarded-For: ${ip}\r\nX-Forwarded-Proto: ${scheme}\r\nX-Forwarded-Host: ${authority}\r\nVia: ${VIA}\r\n`
  forwarded.set(client, { authority, lines })
  return lines
}

/** Whether a request has passed this process before: then the service of its tunnel is this gateway, in an endless loop. */
export const hasReturned = ({ fields }: RequestHead): boolean => fields.text.includes(VIA)
