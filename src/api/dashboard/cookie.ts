import type { ApiRequest } from '#api/api-request.ts'
import { isSecure } from '#api/dashboard/origin.ts'
import type { HttpCall } from '#api/http-server.ts'
import { addHeader } from '#api/reply.ts'

const SESSION = 'adit_session'

/** Browsers accept the prefix only with Secure and Path=/, so that no other host can have set the cookie. */
const nameFor = (name: string, isTls: boolean): string => (isTls ? `__Host-${name}` : name)

/** The value of a cookie; undefined without it. */
export function readCookie(
  request: ApiRequest,
  name: string,
  publicUrl: string | undefined,
): string | undefined {
  const { cookie } = request.headers
  if (cookie === undefined) return undefined
  const wanted = `${nameFor(name, isSecure(request, publicUrl))}=`
  const pair = cookie.split(';').find(each => each.trimStart().startsWith(wanted))
  return pair?.trim().slice(wanted.length)
}

interface Cookie {
  readonly name: string
  readonly value: string
  /** 0 removes the cookie. */
  readonly seconds: number
  readonly sameSite: 'Strict' | 'Lax'
  readonly publicUrl: string | undefined
}

/** Sets a cookie of a response, besides others. */
export function setCookie(httpCall: HttpCall, cookie: Cookie): void {
  const { name, value, seconds, sameSite, publicUrl } = cookie
  const isTls = isSecure(httpCall.request, publicUrl)
  const attributes = ['Path=/', `Max-Age=${seconds}`, 'HttpOnly', `SameSite=${sameSite}`]
  const parts = [`${nameFor(name, isTls)}=${value}`, ...attributes, ...(isTls ? ['Secure'] : [])]
  addHeader(httpCall, 'set-cookie', parts.join('; '))
}

/** The session token in the cookie of a request; undefined without one. */
export const sessionToken = (request: ApiRequest, publicUrl: string | undefined): string | undefined =>
  readCookie(request, SESSION, publicUrl)

/** Sets the session cookie of a response; an empty `token` removes it. */
export function setSessionCookie(
  httpCall: HttpCall,
  { token, seconds, publicUrl }: { token: string; seconds: number; publicUrl: string | undefined },
): void {
  setCookie(httpCall, { name: SESSION, value: token, seconds, sameSite: 'Strict', publicUrl })
}
