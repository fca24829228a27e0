import type { IncomingMessage } from 'node:http'
import { parseBody } from '#api/json.ts'
import { PAGING, readQuery } from '#api/paging.ts'
import {
  restoreMangledKeys,
  omitsBody,
  queryAliases,
  unwrappedModule,
  withoutPathParameters,
  withoutUnset,
} from '#api/quirks.ts'
import { validate } from '#api/validation.ts'
import { fail, Problem } from '#base/errors.ts'
import { withoutNulls, type ResourceBody } from '#contract/body.ts'
import { isPaged, type Operation } from '#contract/operations.ts'
import type { Static, TSchema } from '#contract/schema.ts'

const MAX_BODY = 1_048_576
const NOTHING = Buffer.alloc(0)

/** Exactly one content type in one spelling: looser matching has allowed bodies to bypass validation elsewhere. */
const JSON_TYPE = /^application\/json(; ?charset=(utf-8|UTF-8))?$/

const HOST = /^([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/

/** Rejects a Host that is ambiguous, or would end up in response URLs. */
export function checkHost({ headers, rawHeaders }: IncomingMessage): void {
  const { host = '' } = headers
  if (!HOST.test(host) || countOf('host', rawHeaders) !== 1)
    fail('bad_request', { reason: 'it needs one valid Host header' })
}

/** Rejects what else Node's parser accepts although it is ambiguous, or would end up in response URLs. */
export function checkMessage({ url = '', httpVersion, headers }: IncomingMessage): void {
  if (!url.startsWith('/') || url.includes('#') || url.includes('\\'))
    fail('bad_request', { reason: 'its target is not a path' })
  if (httpVersion === '0.9') fail('bad_request', { reason: 'it names no version of HTTP' })
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0'))
    fail('bad_request', { reason: 'the only transfer coding is chunked' })
}

/** Node silently keeps the first of several headers. */
function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] ?? ''
    if (header.length === name.length && header.toLowerCase() === name) count++
  }
  return count
}

const VERSION_HEADERS = ['service-version', 'adit-version', 'ngrok-version'] as const

/** Absent means the only version. */
export function checkVersion(headers: IncomingMessage['headers']): void {
  for (const name of VERSION_HEADERS) {
    const value = headers[name]
    if (value !== undefined && value !== '2') fail('bad_version', { value: String(value).slice(0, 50) })
  }
}

/** Existing clients of the hosted service compare the text of error codes, so they get its prefix. */
export const brandFor = (headers: IncomingMessage['headers']): 'ADIT' | 'NGROK' =>
  headers['ngrok-version'] === undefined ? 'ADIT' : 'NGROK'

/** A person who opens the URL gets a page. */
export const wantsHtml = ({ headers }: IncomingMessage): boolean =>
  headers.accept?.includes('text/html') === true

function checkContentType(message: IncomingMessage, hasBody: boolean): void {
  const { 'content-type': type, 'content-encoding': coding } = message.headers
  if (coding !== undefined) fail('content_type', { value: coding.slice(0, 100) })
  if (type === undefined) {
    if (hasBody) fail('no_content_type')
    return
  }
  if (!JSON_TYPE.test(type) || countOf('content-type', message.rawHeaders) !== 1)
    fail('content_type', { value: type.slice(0, 100) })
}

/** The bytes of a body, at most a mebibyte. */
function bodyBytes(request: IncomingMessage): Promise<Buffer> | Buffer {
  const { 'content-length': announced, 'transfer-encoding': coding } = request.headers
  if (coding === undefined && (announced === undefined || announced === '0')) return NOTHING
  if (Number(announced) > MAX_BODY) throw tooLarge()
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length <= MAX_BODY) chunks.push(chunk)
    else reject(tooLarge())
  })
  request.once('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? NOTHING) : Buffer.concat(chunks)))
  request.once('error', () =>
    reject(new Problem('body_unreadable', { reason: 'the connection ended before it' })),
  )
  return promise
}

const tooLarge = () => new Problem('body_too_large', { limit: MAX_BODY })

/** A small JSON body of a request that is not an operation on a resource. */
export async function readJson<S extends TSchema>(schema: S, message: IncomingMessage): Promise<Static<S>> {
  const bytes = await bodyBytes(message)
  checkContentType(message, true)
  if (bytes.length === 0) fail('body_missing')
  const body = parseBody(bytes)
  validate(schema, body)
  return body as Static<S>
}

/** The request body for the operation: parsed, adjusted for known clients, and validated. */
export async function readBody(operation: Operation, message: IncomingMessage): Promise<ResourceBody> {
  const { input } = operation
  if (!input) return {}
  const bytes = await bodyBytes(message)
  checkContentType(message, bytes.length > 0)
  const agent = message.headers['user-agent'] ?? ''
  if (bytes.length === 0 && !omitsBody(agent, operation)) fail('body_missing')
  const parsed = parseBody(bytes)
  const bare = withoutUnset(agent, operation, withoutPathParameters(parsed, operation))
  const own = 'module' in operation.does ? unwrappedModule(bare) : bare
  const body = withoutNulls(input.shape, restoreMangledKeys(agent, input.shape, own))
  validate(input.schema, body)
  return body
}

export function readParameters(operation: Operation, url: string): Map<string, string> {
  const start = url.indexOf('?')
  if (start === -1) return new Map()
  const pages = 'verb' in operation.does && operation.does.verb === 'list' && isPaged(operation.kind)
  const supported = pages ? [...PAGING, ...Object.keys(operation.kind.filters ?? {})] : []
  return readQuery(url.slice(start + 1), supported, queryAliases)
}
