import type { IncomingMessage } from 'node:http'
import { parseBody } from '#api/json.ts'
import { readQuery } from '#api/paging.ts'
import {
  mendedBody,
  queryAliases,
  unwrappedModule,
  withoutPathParameters,
  withoutUnset,
} from '#api/quirks.ts'
import { validate } from '#api/validation.ts'
import { fail } from '#base/errors.ts'
import { withoutNulls, type Body } from '#contract/body.ts'
import { isPaged, type Operation } from '#contract/operations.ts'

export const MAX_BODY = 1_048_576

/** Exactly one content type exists, in one spelling: anything looser has let bodies past validation elsewhere. */
const JSON_TYPE = /^application\/json(; ?charset=(utf-8|UTF-8))?$/

const HOST = /^([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/

/**
 * Refuses what Node's parser lets through although two readers could understand it differently, or that would
 * end up in the addresses of an answer.
 */
export function checkMessage({ url = '', httpVersion, headers, headersDistinct }: IncomingMessage): void {
  const [host = '', second] = headersDistinct.host ?? []
  if (second !== undefined || !HOST.test(host))
    fail('bad_request', { reason: 'it needs one valid Host header' })
  const path = url.startsWith(`http://${host}/`) ? url.slice(`http://${host}`.length) : url
  if (!path.startsWith('/') || /[#\\]/.test(path)) fail('bad_request', { reason: 'its target is not a path' })
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0'))
    fail('bad_request', { reason: 'the only transfer coding is chunked' })
}

const VERSION_HEADERS = ['service-version', 'adit-version', 'ngrok-version'] as const

/** Absent means the one version there is. */
export function checkVersion(headers: IncomingMessage['headers']): void {
  for (const name of VERSION_HEADERS) {
    const value = headers[name]
    if (value !== undefined && value !== '2') fail('bad_version', { value: String(value).slice(0, 50) })
  }
}

/** Existing clients of the hosted service compare the text of error codes, so they get it in its name. */
export const brandFor = (headers: IncomingMessage['headers']): 'ADIT' | 'NGROK' =>
  headers['ngrok-version'] === undefined ? 'ADIT' : 'NGROK'

function checkContentType(message: IncomingMessage, hasBody: boolean): void {
  const [first, second] = message.headersDistinct['content-type'] ?? []
  const coding = message.headers['content-encoding']
  if (coding !== undefined) fail('content_type', { value: coding.slice(0, 100) })
  if (first === undefined) {
    if (hasBody) fail('no_content_type')
    return
  }
  if (second !== undefined || !JSON_TYPE.test(first)) fail('content_type', { value: first.slice(0, 100) })
}

/** The body of a call as the operation takes it: parsed, mended for known clients, and checked. */
export function readBody(operation: Operation, message: IncomingMessage, bytes: Buffer): Body {
  const { input } = operation
  if (!input) return {}
  checkContentType(message, bytes.length > 0)
  const parsed = parseBody(bytes)
  const agent = message.headers['user-agent'] ?? ''
  const bare = withoutUnset(agent, operation, withoutPathParameters(parsed, operation))
  const own = 'module' in operation.does ? unwrappedModule(bare) : bare
  const body = withoutNulls(input.shape, mendedBody(agent, input.shape, own))
  validate(input.schema, body)
  return body
}

const PAGING = ['before_id', 'limit']

export function readParameters(operation: Operation, url: string): Map<string, string> {
  const start = url.indexOf('?')
  if (start === -1) return new Map()
  const pages = 'verb' in operation.does && operation.does.verb === 'list' && isPaged(operation.kind)
  return readQuery(url.slice(start + 1), pages ? PAGING : [], queryAliases)
}
