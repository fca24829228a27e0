import type { ApiRequest, RequestHeaders } from '#api/api-request.ts'
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
import type { BodySink } from '#http/body.ts'

const MAX_BODY = 1_048_576
const NOTHING = Buffer.alloc(0)

/** Exactly one content type in one spelling: looser matching has allowed bodies to bypass validation elsewhere. */
const JSON_TYPE = /^application\/json(; ?charset=(utf-8|UTF-8))?$/

/** Rejects a request without Host, of which response URLs are made: HTTP/1.0 may omit it. */
export function checkHost({ host }: ApiRequest): void {
  if (host === '') fail('bad_request', { reason: 'it needs one valid Host header' })
}

const VERSION_HEADERS = ['service-version', 'adit-version', 'ngrok-version'] as const

/** Absent means the only version. */
export function checkVersion(headers: RequestHeaders): void {
  for (const name of VERSION_HEADERS) {
    const value = headers[name]
    if (value !== undefined && value !== '2') fail('bad_version', { value: value.slice(0, 50) })
  }
}

/** Existing clients of the hosted service compare the text of error codes, so they get its prefix. */
export const brandFor = (headers: RequestHeaders): 'ADIT' | 'NGROK' =>
  headers['ngrok-version'] === undefined ? 'ADIT' : 'NGROK'

/** A person who opens the URL gets a page. */
export const wantsHtml = ({ headers }: ApiRequest): boolean =>
  headers['accept']?.includes('text/html') === true

function checkContentType({ headers }: ApiRequest, hasBody: boolean): void {
  const { 'content-type': type, 'content-encoding': coding } = headers
  if (coding !== undefined) fail('content_type', { value: coding.slice(0, 100) })
  if (type === undefined) {
    if (hasBody) fail('no_content_type')
    return
  }
  if (!JSON_TYPE.test(type)) fail('content_type', { value: type.slice(0, 100) })
}

/** The bytes of a body, at most a mebibyte. */
function bodyBytes(request: ApiRequest): Promise<Buffer> | Buffer {
  const { body } = request
  const { framing } = body
  if (framing.kind === 'none') return NOTHING
  const announced = framing.kind === 'length' ? framing.length : undefined
  if (announced === 0) return NOTHING
  if (announced !== undefined && announced > MAX_BODY) throw tooLarge()
  request.askForBody()
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let length = 0
  const sink: BodySink = {
    data: chunk => {
      length += chunk.length
      if (length <= MAX_BODY) chunks.push(chunk)
      else {
        body.cancel()
        reject(tooLarge())
      }
    },
    end: () => resolve(chunks.length === 1 ? (chunks[0] ?? NOTHING) : Buffer.concat(chunks)),
    fail: () => reject(new Problem('body_unreadable', { reason: 'the connection ended before it' })),
  }
  body.read(sink, false)
  return promise
}

const tooLarge = () => new Problem('body_too_large', { limit: MAX_BODY })

/** A small JSON body of a request that is not an operation on a resource. */
export async function readJson<S extends TSchema>(schema: S, request: ApiRequest): Promise<Static<S>> {
  const bytes = await bodyBytes(request)
  checkContentType(request, true)
  if (bytes.length === 0) fail('body_missing')
  const body = parseBody(bytes)
  validate(schema, body)
  return body as Static<S>
}

/** The request body for the operation: parsed, adjusted for known clients, and validated. */
export async function readBody(operation: Operation, request: ApiRequest): Promise<ResourceBody> {
  const { input } = operation
  if (!input) return {}
  const bytes = await bodyBytes(request)
  checkContentType(request, bytes.length > 0)
  const agent = request.headers['user-agent'] ?? ''
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
