import type { ProxyFields } from '#base/trusted-proxies.ts'
import type { Framing } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { HttpError, malformed } from '#http/http-error.ts'
import { allIn, methodCharacters } from '#http/http1-characters.ts'
import { hostOf, readTarget } from '#http/http1-target.ts'

const MAX_METHOD = 32

/** The parts of a head, which its fields were sorted into. */
export interface RequestDraft {
  readonly method: string
  readonly scheme: string | undefined
  readonly authority: string | undefined
  readonly path: string | undefined
  host?: string
  length?: string
  expect?: string
  cookie?: string
  proxyFields?: ProxyFields
  /** The fields that are passed on as they are. */
  lines: string
  count: number
  size: number
}

const isMethod = (method: string): boolean =>
  method !== '' && method.length <= MAX_METHOD && allIn(methodCharacters, method, 0, method.length)

/** Checks the parts of a head; `ends`: no body follows. */
export function assembled(draft: RequestDraft, ends: boolean): RequestHead | HttpError {
  const { method, path: written = '', cookie } = draft
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
