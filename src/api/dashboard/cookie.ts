import type { IncomingMessage, ServerResponse } from 'node:http'
import { isSecure } from '#api/dashboard/origin.ts'

const NAME = 'adit_session'

/** Browsers accept the prefix only with Secure and Path=/, so that no other host can have set the cookie. */
const nameFor = (isTls: boolean): string => (isTls ? `__Host-${NAME}` : NAME)

/** The session token in the cookie of a request; undefined without one. */
export function sessionToken(request: IncomingMessage, publicUrl: string | undefined): string | undefined {
  const { cookie } = request.headers
  if (cookie === undefined) return undefined
  const wanted = `${nameFor(isSecure(request, publicUrl))}=`
  const pair = cookie.split(';').find(each => each.trimStart().startsWith(wanted))
  return pair?.trim().slice(wanted.length)
}

interface CookieTarget {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Sets the session cookie of a response; an empty `token` removes it. */
export function setSessionCookie(
  { request, response }: CookieTarget,
  { token, seconds, publicUrl }: { token: string; seconds: number; publicUrl: string | undefined },
): void {
  const isTls = isSecure(request, publicUrl)
  const attributes = [
    'Path=/',
    `Max-Age=${seconds}`,
    'HttpOnly',
    'SameSite=Strict',
    ...(isTls ? ['Secure'] : []),
  ]
  response.setHeader('set-cookie', [`${nameFor(isTls)}=${token}`, ...attributes].join('; '))
}
