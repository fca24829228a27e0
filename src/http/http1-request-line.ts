import { allIn, methodCharacters } from '#http/http1-characters.ts'
import { HttpError, malformed } from '#http/http-error.ts'
import { MAX_TARGET } from '#http/http1-target.ts'

const MAX_METHOD = 32
// A longer request line has a target that is too long, whatever else it contains.
export const MAX_REQUEST_LINE = MAX_METHOD + 1 + MAX_TARGET + ' HTTP/1.1'.length
const CR = 0x0d
const SPACE = 0x20

const lineFeedAlone = malformed('a line ends without a carriage return')
const notRequestLine = malformed('its first line is not a request line')

export interface ParsedRequestLine {
  readonly method: string
  /** As the client wrote it. */
  readonly target: string
  readonly version: '1.0' | '1.1'
}

/** Parses the line from `start` to `end`, where its CRLF is. */
export function requestLine(text: string, start: number, end: number): ParsedRequestLine | HttpError {
  const methodEnd = text.indexOf(' ', start)
  const targetEnd = text.indexOf(' ', methodEnd + 1)
  if (methodEnd <= start || targetEnd < 0 || targetEnd > end) return notRequestLine
  const version = readVersion(text, targetEnd + 1, end)
  if (version instanceof HttpError) return version
  // A constant, because the hash of a new string would be calculated for each look-up.
  const method = text.startsWith('GET ', start) ? 'GET' : text.slice(start, methodEnd)
  if (method.length > MAX_METHOD || !allIn(methodCharacters, method, 0, method.length))
    return malformed('its method is not one')
  return { method, target: text.slice(methodEnd + 1, targetEnd), version }
}

function readVersion(text: string, from: number, to: number): '1.0' | '1.1' | HttpError {
  if (to - from === 8 && text.startsWith('HTTP/1.1', from)) return '1.1'
  if (to - from === 8 && text.startsWith('HTTP/1.0', from)) return '1.0'
  return /^HTTP\/\d\.\d$/.test(text.slice(from, to)) ? new HttpError('version_unsupported') : notRequestLine
}

interface EarlyFault {
  /** How many bytes show it. */
  readonly after: number
  readonly error: HttpError
}

/** What makes a head invalid before it is complete: nothing may wait for the rest of another protocol. */
export function earlyFault(text: string): EarlyFault | undefined {
  const broken = bareLineFeed(text) + 1
  const fault = lineFault(text)
  if (broken === Infinity || (fault !== undefined && fault.after < broken)) return fault
  return { after: broken, error: lineFeedAlone }
}

/** The end of the first line without a carriage return. */
export function bareLineFeed(text: string): number {
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
    if (at === 0 || text.charCodeAt(at - 1) !== CR) return at
  return Infinity
}

/** A method shows its fault at the first wrong byte, the rest of the line at its end. */
function lineFault(text: string): EarlyFault | undefined {
  if (text === '\r') return undefined
  const start = text.startsWith('\r\n') ? 2 : 0
  const most = start + MAX_METHOD
  let at = start
  while (at < most && methodCharacters[text.charCodeAt(at)] === 1) at++
  if (at === text.length) return undefined
  if (at === start || text.charCodeAt(at) !== SPACE) return { after: at + 1, error: notRequestLine }
  const end = text.indexOf('\r\n', at)
  const line = end < 0 ? undefined : requestLine(text, start, end)
  return line instanceof HttpError ? { after: end + 2, error: line } : undefined
}
