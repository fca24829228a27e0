import type { Visitor } from '#gateway/exchange.ts'
import type { RequestHead } from '#gateway/http/head.ts'

/** What an upstream is told of the visitor, as lines of a head. Ours alone to say: heads come without them. */
export const forwardedLines = (visitor: Visitor, head: RequestHead): string =>
  `X-Forwarded-For: ${visitor.ip}\r\nX-Forwarded-Proto: ${visitor.scheme}\r\nX-Forwarded-Host: ${head.authority}\r\n`
