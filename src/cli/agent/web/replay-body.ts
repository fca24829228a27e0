import { isPlainObject } from '#base/plain-object.ts'
import { ApiFailure } from '#cli/agent/web/api-failure.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const TARGET = /^[\x21-\x7e]+$/
const FRAMING = new Set(['content-length', 'transfer-encoding'])

interface ReplayBody {
  readonly id: string
  readonly tunnelName: string | undefined
  /** The request to send instead of the captured one. */
  readonly edited: Buffer | undefined
}

const invalid = (err: string): never => {
  throw new ApiFailure('bad_request', err)
}

/** Reads the body of `POST /api/requests/http`; unknown fields are ignored, as wrappers send some. */
export function readReplayBody(body: unknown): ReplayBody {
  if (!isPlainObject(body)) return invalid('the body must be a JSON object')
  const { id, tunnel_name: tunnel, request } = body
  if (typeof id !== 'string' || id === '') return invalid('id: must be the id of a captured request')
  if (tunnel !== undefined && tunnel !== null && typeof tunnel !== 'string')
    return invalid('tunnel_name: must be text')
  const edited = request === undefined || request === null ? undefined : editedRequest(request)
  return { id, tunnelName: tunnel || undefined, edited }
}

function editedRequest(request: unknown): Buffer {
  if (!isPlainObject(request)) return invalid('request: must be an object')
  const { method, uri, headers, body = '' } = request
  if (typeof method !== 'string' || !TOKEN.test(method))
    return invalid('request.method: must be a token such as GET')
  if (typeof uri !== 'string' || !TARGET.test(uri))
    return invalid('request.uri: must be a path without spaces')
  if (typeof body !== 'string') return invalid('request.body: must be base64')
  const content = Buffer.from(body, 'base64')
  const lines = headerLines(headers ?? {})
  // The body may have another length now.
  const length =
    content.length > 0 || !['GET', 'HEAD'].includes(method) ? [`Content-Length: ${content.length}`] : []
  const head = [`${method} ${uri} HTTP/1.1`, ...lines, ...length, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head, 'latin1'), content])
}

function headerLines(headers: unknown): string[] {
  if (!isPlainObject(headers)) return invalid('request.headers: must map names to lists of text')
  return Object.entries(headers).flatMap(([name, values]) => {
    if (!TOKEN.test(name)) return invalid(`request.headers: "${name.slice(0, 100)}" is not a header name`)
    if (FRAMING.has(name.toLowerCase())) return []
    return [values].flat().map(value => {
      if (typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return `${name}: ${value}`
      return invalid(`request.headers: the value of "${name}" must be text of one line`)
    })
  })
}
