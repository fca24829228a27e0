import { type ProxyFields, withProxyField } from '#base/trusted-proxies.ts'
import type { Framing } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { allIn, methodCharacters } from '#http/http1-characters.ts'
import { MAX_REQUEST_FIELDS, MAX_REQUEST_HEAD } from '#http/http1-request-head.ts'
import { hostOf, readTarget } from '#http/http1-target.ts'
import { isName, isOfConnection, isValue } from '#http/http2-fields.ts'
import { isOwnName } from '#http/identity-names.ts'
import { malformed, HttpError } from '#http/http-error.ts'

const MAX_METHOD = 32
const LENGTH = /^\d{1,15}$/
const ownNames = new Set([
  'host',
  'content-length',
  'te',
  'expect',
  'cookie',
  'authorization',
  'content-type',
])

/** The state of a head while its pairs are checked one after the other. */
export interface RequestDraft {
  method?: string
  scheme?: string
  authority?: string
  path?: string
  host?: string
  length?: string
  expect?: string
  cookie?: string
  proxyFields?: ProxyFields
  lines: string
  count: number
  size: number
  /** It is a gRPC call. */
  readonly isCall: boolean
}

/** Checks the head of an HTTP/2 stream; `ends`: no body follows. */
export function requestHead(pairs: readonly string[], ends: boolean): RequestHead | HttpError {
  const draft: RequestDraft = { lines: '', count: 0, size: 0, isCall: isCall(pairs) }
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const fault = take(draft, pairs[at] ?? '', pairs[at + 1] ?? '')
    if (fault !== undefined) return fault
  }
  return assembled(draft, ends)
}

function take(draft: RequestDraft, name: string, value: string): HttpError | undefined {
  if (!isValue(value))
    return malformed('a header field holds a control character, or blanks around its value')
  if (name.startsWith(':')) return takePseudo(draft, name, value)
  if (!isName(name, 'client') && !(draft.isCall && isMetadata(name)))
    return malformed('the name of a header field is not valid')
  draft.size += name.length + value.length + 4
  if (draft.size > MAX_REQUEST_HEAD) return tooLarge(`at most ${MAX_REQUEST_HEAD} bytes`)
  // Browsers send each cookie separately, to compress them better (RFC 9113 §8.2.3).
  if (name === 'cookie') {
    draft.cookie = draft.cookie === undefined ? value : `${draft.cookie}; ${value}`
    return undefined
  }
  if (++draft.count > MAX_REQUEST_FIELDS) return tooLarge(`at most ${MAX_REQUEST_FIELDS} fields`)
  if (isOfConnection(name)) return malformed(`HTTP/2 has no field "${name}"`)
  if (name === 'x-forwarded-for' || name === 'forwarded') {
    draft.proxyFields = withProxyField(draft.proxyFields, name, value)
    return undefined
  }
  if (isOwnName(name)) return undefined
  return takeSpecial(draft, name, value)
}

const isCall = (pairs: readonly string[]): boolean =>
  pairs.some((value, at) => value.startsWith('application/grpc') && pairs[at - 1] === 'content-type')

/**
 * gRPC metadata may have "_" in its names, and its servers do not treat that as "-". A name that would be another
 * field's if they did is still rejected.
 */
export function isMetadata(name: string): boolean {
  const other = name.replaceAll('_', '-')
  const isOther = ownNames.has(other) || isOwnName(other) || isOfConnection(other)
  return other !== name && !isOther && isName(other, 'client')
}

function takePseudo(draft: RequestDraft, name: string, value: string): HttpError | undefined {
  const key = name.slice(1)
  if (key !== 'method' && key !== 'scheme' && key !== 'authority' && key !== 'path')
    return malformed('an unknown pseudo-header field')
  if (draft[key] !== undefined) return malformed(`more than one ${name}`)
  if (draft.count > 0 || draft.cookie !== undefined)
    return malformed('a pseudo-header field after the others')
  draft[key] = value
  return undefined
}

/** Fields with a meaning for the head itself, or with restricted values. */
function takeSpecial(draft: RequestDraft, name: string, value: string): HttpError | undefined {
  switch (name) {
    case 'host':
      if (draft.host !== undefined) return malformed('more than one Host')
      draft.host = value
      return undefined
    case 'content-length':
      if (draft.length !== undefined || !LENGTH.test(value)) return malformed('Content-Length is not valid')
      draft.length = value
      return undefined
    case 'te':
      if (value.toLowerCase() !== 'trailers') return malformed('TE allows only "trailers" in HTTP/2')
      break
    case 'expect':
      if (value.toLowerCase() !== '100-continue') return new HttpError('expectation_failed')
      draft.expect = value
      break
  }
  draft.lines += `${name}: ${value}\r\n`
  return undefined
}

const isMethod = (method: string): boolean =>
  method !== '' && method.length <= MAX_METHOD && allIn(methodCharacters, method, 0, method.length)

/** Checks the parts of a head; `ends`: no body follows. */
export function assembled(draft: RequestDraft, ends: boolean): RequestHead | HttpError {
  const { method = '', path: written = '', cookie } = draft
  if (!isMethod(method)) return malformed('its method is not one')
  if (method === 'CONNECT' || method === 'TRACE') return malformed(`${method} is not served here`)
  if (draft.scheme !== 'https' && draft.scheme !== 'http') return malformed('its scheme is not valid')
  const authority = draft.authority ?? draft.host ?? ''
  if (draft.host !== undefined && draft.host.toLowerCase() !== authority.toLowerCase())
    return malformed(':authority and Host name different places')
  const host = hostOf(authority)
  if (host === undefined) return malformed('it does not have one valid :authority')
  // HTTP/1 has other forms of a target, which name the host a second time.
  if (!written.startsWith('/') && written !== '*') return malformed('its path is not valid')
  const destination = readTarget(written, method, authority)
  if (destination instanceof HttpError) return destination
  if (draft.length !== undefined && ends && Number(draft.length) > 0)
    return malformed('its content is missing')
  const lines = cookie === undefined ? draft.lines : `${draft.lines}cookie: ${cookie}\r\n`
  return {
    proxyFields: draft.proxyFields,
    method,
    target: destination.target,
    path: destination.path,
    host,
    authority,
    version: '2',
    keepAlive: true,
    upgrade: '',
    expectsContinue: draft.expect !== undefined,
    framing: framingOf(draft.length, ends),
    fields: new Fields(lines),
  }
}

function framingOf(length: string | undefined, ends: boolean): Framing {
  if (length !== undefined) return { kind: 'length', length: Number(length) }
  return { kind: ends ? 'none' : 'chunked' }
}

export const tooLarge = (reason: string): HttpError => new HttpError('head_too_large', { reason })
