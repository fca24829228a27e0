import { randomBytes } from 'node:crypto'
import { withProxyField } from '#base/trusted-proxies.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { HttpError, malformed } from '#http/http-error.ts'
import { MAX_REQUEST_FIELDS, MAX_REQUEST_HEAD } from '#http/http1-request-head.ts'
import { isClientName } from '#http/http2/fields.ts'
import { assembled, type RequestDraft } from '#http/http2/request-draft.ts'
import { isOwnName } from '#http/identity-names.ts'
import { type HeaderField, isOfConnection } from '#http2/header-field.ts'
import type { RequestFields } from '#http2/request-fields.ts'

/**
 * What to do with a field: pass on its line, pass it on in gRPC calls only, drop it, or look at its value. `invalid`:
 * services could take its name for another.
 */
type Handling =
  | 'line'
  | 'metadata'
  | 'dropped'
  | 'invalid'
  | 'host'
  | 'length'
  | 'cookie'
  | 'expect'
  | 'x-forwarded-for'
  | 'forwarded'

/** Fields whose values the gateway reads. */
const readNames = new Set([
  'host',
  'content-length',
  'te',
  'expect',
  'cookie',
  'authorization',
  'content-type',
])

class Verdict {
  readonly handling: Handling
  readonly line: string

  constructor({ name, value }: HeaderField) {
    this.handling = handlingOf(name)
    this.line = `${name}: ${value}\r\n`
  }
}

function handlingOf(name: string): Handling {
  if (name === 'host' || name === 'cookie' || name === 'expect') return name
  if (name === 'x-forwarded-for' || name === 'forwarded') return name
  if (name === 'content-length') return 'length'
  if (!isClientName(name)) return isMetadata(name) ? 'metadata' : 'invalid'
  return isOwnName(name) ? 'dropped' : 'line'
}

/**
 * Whether gRPC metadata may have a name with "_": its servers do not treat that as "-". A name that would be another
 * field's if they did is still rejected.
 */
function isMetadata(name: string): boolean {
  const other = name.replaceAll('_', '-')
  return !readNames.has(other) && !isOwnName(other) && !isOfConnection(other)
}

/** Table entries appear in request after request, so a field is judged once. */
function verdictOn(field: HeaderField): Verdict {
  const known = field.verdict
  if (known instanceof Verdict) return known
  return (field.verdict = new Verdict(field))
}

const isCall = ({ fields }: RequestFields): boolean =>
  fields.some(({ name, value }) => name === 'content-type' && value.startsWith('application/grpc'))

/** The head of a request as the gateway handles it, or why it is rejected; `ends`: no body follows. */
export function requestHeadOf(given: RequestFields, ends: boolean): RequestHead | HttpError {
  if (given.protocol !== undefined) return websocketHead(given)
  const draft = draftOf(given)
  return draft instanceof HttpError ? draft : assembled(draft, ends)
}

function draftOf(given: RequestFields): RequestDraft | HttpError {
  const { method, scheme, authority, path } = given
  const draft: RequestDraft = { method, scheme, authority, path, lines: '', count: 0, size: 0 }
  for (const field of given.fields) {
    draft.size += field.name.length + field.value.length + 4
    if (field.name !== 'cookie') draft.count++
    const error = take(draft, field, given)
    if (error !== undefined) return error
  }
  if (draft.size > MAX_REQUEST_HEAD) return tooLarge(`at most ${MAX_REQUEST_HEAD} bytes`)
  if (draft.count > MAX_REQUEST_FIELDS) return tooLarge(`at most ${MAX_REQUEST_FIELDS} fields`)
  return draft
}

const tooLarge = (reason: string): HttpError => new HttpError('head_too_large', { reason })

function take(draft: RequestDraft, field: HeaderField, given: RequestFields): HttpError | undefined {
  const { handling, line } = verdictOn(field)
  switch (handling) {
    case 'line':
      draft.lines += line
      break
    case 'metadata':
      if (!isCall(given)) return malformed('the name of a header field is not valid')
      draft.lines += line
      break
    case 'invalid':
      return malformed('the name of a header field is not valid')
    case 'host':
      if (draft.host !== undefined) return malformed('more than one Host')
      draft.host = field.value
      break
    case 'length':
      draft.length = field.value
      break
    case 'cookie':
      // Browsers send each cookie separately, to compress them better (RFC 9113 §8.2.3).
      draft.cookie = draft.cookie === undefined ? field.value : `${draft.cookie}; ${field.value}`
      break
    case 'expect':
      if (field.value.toLowerCase() !== '100-continue') return new HttpError('expectation_failed')
      draft.expect = field.value
      draft.lines += line
      break
    case 'x-forwarded-for':
    case 'forwarded':
      draft.proxyFields = withProxyField(draft.proxyFields, handling, field.value)
      break
    case 'dropped':
      break
  }
  return undefined
}

/** The key of WebSocket over HTTP/1, which an extended CONNECT does not have (RFC 8441 §5). */
export const KEY_NAME = 'sec-websocket-key'

/** An extended CONNECT, as the GET that a service expects. */
function websocketHead(given: RequestFields): RequestHead | HttpError {
  if (given.protocol !== 'websocket') return malformed('its :protocol is not "websocket"')
  const draft = draftOf({ ...given, method: 'GET' })
  const head = draft instanceof HttpError ? draft : assembled(draft, true)
  if (head instanceof HttpError) return head
  if (head.fields.get('sec-websocket-version') !== '13') return malformed('its WebSocket version is not 13')
  const lines = head.fields.without(KEY_NAME).text
  const key = randomBytes(16).toString('base64')
  return { ...head, upgrade: 'websocket', fields: new Fields(`${lines}Sec-WebSocket-Key: ${key}\r\n`) }
}
