import { randomBytes } from 'node:crypto'
import type { Visitor } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'

// RFC 9110 §7.6.3. The name is of this process alone, so that only its own requests are taken for returned ones.
const VIA = `1.1 adit-${randomBytes(6).toString('hex')}`

interface Told {
  readonly authority: string
  readonly lines: string
}

// Most visitors ask for one name only, so the last lines of each will mostly do again.
const told = new WeakMap<Visitor, Told>()

/** What an upstream is told of the visitor, as lines of a head. Ours alone to say: heads come without them. */
export function forwardedLines(visitor: Visitor, { authority }: RequestHead): string {
  const last = told.get(visitor)
  if (last?.authority === authority) return last.lines
  const { ip, scheme } = visitor
  const lines = `X-Forwarded-For: ${ip}\r\nX-Forwarded-Proto: ${scheme}\r\nX-Forwarded-Host: ${authority}\r\nVia: ${VIA}\r\n`
  told.set(visitor, { authority, lines })
  return lines
}

/** Whether a request has passed this process before: then its tunnel leads back here, and would do so for ever. */
export const hasReturned = ({ fields }: RequestHead): boolean => fields.text.includes(VIA)
