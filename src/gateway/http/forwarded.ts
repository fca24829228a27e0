import { randomBytes } from 'node:crypto'
import type { Visitor } from '#gateway/exchange.ts'
import type { RequestHead } from '#gateway/http/head.ts'

// RFC 9110 §7.6.3. The name is of this process alone, so that only its own requests are taken for returned ones.
const VIA = `1.1 adit-${randomBytes(6).toString('hex')}`

/** What an upstream is told of the visitor, as lines of a head. Ours alone to say: heads come without them. */
export const forwardedLines = (visitor: Visitor, head: RequestHead): string =>
  `X-Forwarded-For: ${visitor.ip}\r\nX-Forwarded-Proto: ${visitor.scheme}\r\nX-Forwarded-Host: ${head.authority}\r\nVia: ${VIA}\r\n`

/** Whether a request has passed this process before: then its tunnel leads back here, and would do so for ever. */
export const hasReturned = ({ fields }: RequestHead): boolean => fields.text.includes(VIA)
