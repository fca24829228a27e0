import { line, moment, object, oneOf, type TSchema } from '#contract/schema.ts'

/** A request that signs browsers in or out: not an operation on a resource. */
export interface DashboardCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  readonly input?: TSchema
  readonly status: 200 | 201 | 204
  readonly output?: TSchema
  /** What authenticates the request. */
  readonly credential: 'key' | 'cookie' | 'none'
}

/** The header that repeats the session's token in every request that changes something. */
export const CSRF_HEADER = 'x-csrf-token'

const signedIn = object({
  user: object({ id: line(), name: line(), email: line(), role: oneOf('admin', 'member') }),
  csrf_token: line(),
  expires_at: moment(),
})

export const dashboardCalls = {
  link: {
    method: 'POST',
    path: '/dashboard/link',
    summary:
      'Make a link that signs the owner of the API key in to the dashboard, once and within 15 minutes.',
    credential: 'key',
    status: 201,
    output: object({ url: line(), expires_at: moment() }),
  },
  login: {
    method: 'POST',
    path: '/dashboard/login',
    summary: 'Sign a browser in: sets the session cookie.',
    input: object({ token: line({ maxBytes: 200 }) }),
    status: 200,
    output: signedIn,
    credential: 'none',
  },
  session: {
    method: 'GET',
    path: '/dashboard/session',
    summary: `The session of the cookie: its user, and the token for the header ${CSRF_HEADER}.`,
    status: 200,
    output: signedIn,
    credential: 'cookie',
  },
  logout: {
    method: 'POST',
    path: '/dashboard/logout',
    summary: 'Sign this browser out.',
    credential: 'cookie',
    status: 204,
  },
  logout_everywhere: {
    method: 'POST',
    path: '/dashboard/logout_everywhere',
    summary: 'Sign out all browsers of the user.',
    credential: 'cookie',
    status: 204,
  },
} as const satisfies Record<string, DashboardCall>
