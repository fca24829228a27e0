import type { ApiRequest } from '#api/api-request.ts'
import { sessionToken } from '#api/dashboard/cookie.ts'
import { isSafe, requireOwnOrigin } from '#api/dashboard/origin.ts'
import type { DashboardSessions, Session } from '#api/dashboard/sessions.ts'
import { fail } from '#base/errors.ts'
import { sameText } from '#base/secrets.ts'
import { CSRF_HEADER } from '#contract/dashboard.ts'

/** Authenticates requests of browsers by their cookie. */
export class Browsers {
  readonly #sessions: DashboardSessions
  readonly #publicUrl: string | undefined

  constructor(sessions: DashboardSessions, publicUrl: string | undefined) {
    this.#sessions = sessions
    this.#publicUrl = publicUrl
  }

  /** True for a request whose only credential is a session cookie. */
  sent(request: ApiRequest): boolean {
    return request.headers['authorization'] === undefined && this.#tokenOf(request) !== undefined
  }

  /** The session of the cookie, whatever sent the request. */
  async sessionOf(request: ApiRequest): Promise<Session | undefined> {
    const token = this.#tokenOf(request)
    return token === undefined ? undefined : this.#sessions.find(token)
  }

  /** The same for requests that act for the user: rejects what a page of another origin may have sent. */
  async identify(request: ApiRequest): Promise<Session> {
    const session = (await this.sessionOf(request)) ?? fail('session_invalid')
    requireOwnOrigin(request, this.#publicUrl, isSafe(request) ? 'none' : 'origin')
    if (!isSafe(request)) requireCsrfToken(request, session)
    return session
  }

  /** Records a use. */
  touch(request: ApiRequest): void {
    const token = this.#tokenOf(request)
    if (token !== undefined) this.#sessions.touch(token)
  }

  #tokenOf(request: ApiRequest): string | undefined {
    return sessionToken(request, this.#publicUrl)
  }
}

function requireCsrfToken({ headers }: ApiRequest, { csrfToken }: Session): void {
  const given = headers[CSRF_HEADER]
  if (given === undefined || !sameText(given, csrfToken)) fail('csrf_token')
}
