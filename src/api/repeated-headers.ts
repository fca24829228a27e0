import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Call } from '#api/call.ts'

/** The headers of a request, and what was found out about them. */
export interface SharedHeaders {
  readonly raw: readonly string[]
  readonly parsed: IncomingHttpHeaders
  /** The last call with these headers that was admitted; written by admission. */
  admitted: Call | undefined
}

/** The headers of a connection: clients repeat them with each request, and then they are parsed and checked once. */
export class RepeatedHeaders {
  #last: SharedHeaders | undefined

  /** Those of the last request, if this one has the same. */
  of(request: IncomingMessage): SharedHeaders {
    const { rawHeaders: raw } = request
    const last = this.#last
    if (last !== undefined && isSame(last.raw, raw)) {
      // Node parses them when they are read.
      request.headers = last.parsed
      return last
    }
    return (this.#last = { raw, parsed: request.headers, admitted: undefined })
  }
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false
  return true
}
