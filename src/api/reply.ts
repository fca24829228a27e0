import { STATUS_CODES } from 'node:http'
import { type Body, bodyOf } from '#http/body.ts'
import type { Reply } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import { TextBody } from '#http/http1-whole.ts'

/** Header fields by name. */
type Headers = Readonly<Record<string, string>>

/** What would end the line, or cannot be sent in it. */
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/

/** A header field as it is sent. */
export function line(name: string, value: string): string {
  if (NOT_IN_VALUE.test(value)) throw new TypeError(`The header "${name}" cannot have that value.`)
  return `${name}: ${value}\r\n`
}

/** Header fields as they are sent. */
export const lines = (headers: Headers): string =>
  Object.entries(headers)
    .map(([name, value]) => line(name, value))
    .join('')

/** A response that is still to be built. */
interface Unanswered {
  /** Header lines that were added to it. */
  lines: string
}

/** Adds a header field to the response, whatever it will be. */
export function addHeader(call: Unanswered, name: string, value: string): void {
  call.lines += line(name, value)
}

/** Builds a response from its header lines, those that were added, and its body. */
export function replyWith(call: Unanswered, status: number, headerLines: string, body: Body): Reply {
  const fields = new Fields(headerLines + call.lines + dateLine())
  return { head: { status, reason: STATUS_CODES[status] ?? '', framing: body.framing, fields }, body }
}

/** The body of a text, or of its bytes. */
export function textBody(text: string | Buffer): Body {
  if (typeof text !== 'string') return bodyOf(text)
  const { length } = text
  // Only ASCII is the same in Latin-1, in which text is sent together with the head.
  return Buffer.byteLength(text) === length
    ? new TextBody(text, { kind: 'length', length })
    : bodyOf(Buffer.from(text))
}

let second = 0
let date = ''

/** RFC 9110 §6.6.1: a server that has a clock sends it. */
export function dateLine(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now === second) return date
  second = now
  date = `date: ${new Date(now * 1000).toUTCString()}\r\n`
  return date
}
