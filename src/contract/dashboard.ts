import { boolean, line, listOf, moment, object, oneOf, partly, text, type TSchema } from '#contract/schema.ts'

/** A request that signs browsers in or out: not an operation on a resource. */
export interface DashboardCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  readonly input?: TSchema
  readonly status: 200 | 201 | 204 | 302
  readonly output?: TSchema
  /** What authenticates the request. */
  readonly credential: 'key' | 'cookie' | 'none'
}

/** The header that repeats the session's token in every request that changes something. */
export const CSRF_HEADER = 'x-csrf-token'

/** In the page for a failed sign-in: the error, as the API sends it. */
export const FAILURE_META = 'adit-failure'

const email = line({ maxBytes: 254 })
// The upper limit is only for the time that hashing takes.
const password = text({ maxBytes: 512 })
const linkToken = line({ maxBytes: 200 })

/** Bytes of WebAuthn, in base64url. */
const bytes = (maxBytes: number) => line({ maxBytes, pattern: '^[A-Za-z0-9_-]+$' })
const credentialId = bytes(1400)
const clientData = bytes(4096)
const authenticatorData = bytes(4096)

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
    summary:
      'Sign a browser in with the token of a link, or with e-mail address and password. Sets the session cookie.',
    input: object({ token: partly(linkToken), email: partly(email), password: partly(password) }),
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
  methods: {
    method: 'GET',
    path: '/dashboard/methods',
    summary: 'The ways to sign in, besides links and passwords.',
    status: 200,
    output: object({ openid: boolean() }),
    credential: 'none',
  },
  openid: {
    method: 'GET',
    path: '/dashboard/oidc',
    summary: 'Redirect the browser to the OpenID provider of the operator.',
    status: 302,
    credential: 'none',
  },
  openid_callback: {
    method: 'GET',
    path: '/dashboard/oidc/callback',
    summary: 'Where the OpenID provider returns the browser to. Sets the session cookie.',
    status: 302,
    credential: 'none',
  },
  invite: {
    method: 'POST',
    path: '/dashboard/invite',
    summary: 'Make a link with which a user sets a password, once and within 3 days. Only for admins.',
    credential: 'key',
    input: object({ user_id: line({ maxBytes: 64 }) }),
    status: 201,
    output: object({ url: line(), expires_at: moment() }),
  },
  invitation: {
    method: 'POST',
    path: '/dashboard/invitation',
    summary:
      'Set a password with the token of an invitation, and sign in. Ends the other sessions of the user.',
    input: object({ token: linkToken, password }),
    status: 200,
    output: signedIn,
    credential: 'none',
  },
  password: {
    method: 'POST',
    path: '/dashboard/password',
    summary:
      'Change the password of the signed-in user; current_password is required if there is one. Ends the other sessions of the user.',
    input: object({ current_password: partly(password), password }),
    credential: 'cookie',
    status: 204,
  },
  passkey_options: {
    method: 'POST',
    path: '/dashboard/passkeys/options',
    summary: 'What a browser needs to make a passkey for the signed-in user, within 5 minutes.',
    status: 200,
    output: object({
      challenge: line(),
      host: line(),
      user: object({ id: line(), name: line(), display_name: line() }),
      excluded: listOf(line()),
    }),
    credential: 'cookie',
  },
  passkey_add: {
    method: 'POST',
    path: '/dashboard/passkeys',
    summary: 'Add a passkey of the signed-in user; the values are those of the WebAuthn API, in base64url.',
    input: object({
      name: line({ minLength: 1, maxBytes: 100 }),
      credential_id: credentialId,
      client_data: clientData,
      authenticator_data: authenticatorData,
      public_key: bytes(2048),
    }),
    status: 201,
    output: object({ id: line(), name: line() }),
    credential: 'cookie',
  },
  passkey_challenge: {
    method: 'POST',
    path: '/dashboard/passkeys/challenge',
    summary: 'What a browser needs to sign in with a passkey, within 5 minutes.',
    status: 200,
    output: object({ challenge: line(), host: line() }),
    credential: 'none',
  },
  passkey_login: {
    method: 'POST',
    path: '/dashboard/passkeys/login',
    summary:
      'Sign a browser in with a passkey; the values are those of the WebAuthn API, in base64url. Sets the session cookie.',
    input: object({
      credential_id: credentialId,
      client_data: clientData,
      authenticator_data: authenticatorData,
      signature: bytes(2048),
      user_handle: partly(bytes(128)),
    }),
    status: 200,
    output: signedIn,
    credential: 'none',
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
