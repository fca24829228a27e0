import type { IncomingMessage } from 'node:http'
import type { ProviderUrls, ProviderName } from '#auth/providers/provider.ts'
import { secretText } from '../../support/secrets.ts'

export const CLIENT = { id: 'client-1', secret: secretText('oauth client') }

/** Who signs in, in the words of no provider. */
export interface User {
  readonly id: string
  readonly login: string
  readonly name: string
  /** Empty: the account has none. */
  readonly email: string
  readonly verified: boolean
  /** Each as org/team, with its number. */
  readonly teams?: readonly (readonly [path: string, id: number])[]
  readonly organizations?: readonly string[]
  /** What Microsoft's directory says, where it is not the address. */
  readonly principal?: string
}

export interface Asked {
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly form: URLSearchParams
}

export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text goes out as it is, anything else as JSON. */
  readonly body: unknown
}

interface Look extends Asked {
  readonly scopes: readonly string[]
  /** What Facebook wants as appsecret_proof. */
  readonly proof: string
}

/** How one provider words its answers, from its own documents. */
export interface Shape {
  addresses(base: string): ProviderUrls
  tokens(access: string, refresh: string, scopes: readonly string[]): object
  refusal(error: string): Answer
  readonly tokenRefusal?: Answer
  readonly refusesProof?: true
  readonly looks: Readonly<Record<string, (user: User, look: Look) => Answer>>
}

/** Of RFC 6749, which most of them follow. */
const refusal = (error: string): Answer => ({
  status: error === 'invalid_client' ? 401 : 400,
  body: { error, error_description: `<b>${error}</b> was the answer` },
})

const bearer = (access: string, refresh: string, scopes: readonly string[]) => ({
  access_token: access,
  refresh_token: refresh,
  token_type: 'Bearer',
  expires_in: 3599,
  scope: scopes.join(' '),
})

const userInfo = ({ id, login, name, email, verified }: User): Answer => ({
  body: {
    sub: id,
    name,
    nickname: login,
    preferred_username: login,
    picture: 'https://images.test/1.png',
    ...(email !== '' && { email, email_verified: verified }),
  },
})

const denied: Answer = { status: 403, body: { message: 'Forbidden' } }
const has = ({ scopes }: Look, ...any: string[]): boolean => any.some(scope => scopes.includes(scope))

/** A page of a list, and the header that GitHub ends it with. */
function paged(all: readonly object[], { query }: Look): Answer {
  const size = Math.min(100, Number(query.get('per_page') ?? 30))
  const page = Number(query.get('page') ?? 1)
  const isLast = page * size >= all.length
  const next = `<https://evil.test/steal?page=${page + 1}>; rel="next", <https://evil.test/>; rel="last"`
  return { headers: isLast ? {} : { link: next }, body: all.slice((page - 1) * size, page * size) }
}

const teamOf = ([path, id]: readonly [string, number]) => {
  const [login = '', slug = ''] = path.split('/')
  return {
    id,
    node_id: `T_${id}`,
    name: slug.toUpperCase(),
    slug,
    organization: { login, id: id + 1 },
    parent: null,
  }
}

const github: Shape = {
  addresses: base => ({
    authorize: `${base}/login/oauth/authorize`,
    token: `${base}/login/oauth/access_token`,
    api: `${base}/api/v3`,
  }),
  tokens: (access, _, scopes) => ({ access_token: access, token_type: 'bearer', scope: scopes.join(',') }),
  // It answers 200 to everything.
  refusal: error => ({
    body: { error: error === 'invalid_grant' ? 'bad_verification_code' : 'incorrect_client_credentials' },
  }),
  looks: {
    '/api/v3/user': ({ id, login, name, email }) => ({
      body: { login, id: Number(id), node_id: 'MDQ6VXNlcjE=', type: 'User', name: name || null, email },
    }),
    '/api/v3/user/emails': ({ email, verified }, look) => {
      if (!has(look, 'user', 'user:email')) return { status: 404, body: { message: 'Not Found' } }
      const other = { email: 'other@elsewhere.test', primary: false, verified: true, visibility: null }
      const primary = { email, primary: true, verified, visibility: 'private' }
      return paged(email === '' ? [other] : [other, primary], look)
    },
    '/api/v3/user/orgs': ({ organizations = [] }, look) =>
      has(look, 'user', 'read:org')
        ? paged(
            organizations.map((login, id) => ({ login, id, description: '' })),
            look,
          )
        : denied,
    '/api/v3/user/teams': ({ teams = [] }, look) =>
      has(look, 'user', 'repo', 'read:org') ? paged(teams.map(teamOf), look) : denied,
  },
}

const gitlab: Shape = {
  addresses: base => ({
    authorize: `${base}/oauth/authorize`,
    token: `${base}/oauth/token`,
    api: `${base}/oauth`,
  }),
  tokens: (access, refresh, scopes) => ({ ...bearer(access, refresh, scopes), created_at: 1_607_635_748 }),
  refusal,
  looks: { '/oauth/userinfo': (user, look) => (has(look, 'openid') ? userInfo(user) : denied) },
}

const google: Shape = {
  addresses: base => ({ authorize: `${base}/o/oauth2/v2/auth`, token: `${base}/token`, api: `${base}/v1` }),
  // The order is its own, and openid comes with the others.
  tokens: (access, refresh, scopes) => bearer(access, refresh, [...scopes, 'openid'].toReversed()),
  refusal,
  looks: { '/v1/userinfo': userInfo },
}

const linkedin: Shape = {
  addresses: base => ({
    authorize: `${base}/oauth/v2/authorization`,
    token: `${base}/oauth/v2/accessToken`,
    api: `${base}/v2`,
  }),
  tokens: (access, refresh, scopes) => ({ ...bearer(access, refresh, scopes), scope: scopes.join(',') }),
  refusal,
  refusesProof: true,
  looks: {
    '/v2/userinfo': (user, look) => (has(look, 'openid') ? userInfo(user) : denied),
    '/v2/me': ({ id, name }, look) => {
      const [first, last] = name.split(' ')
      return has(look, 'r_liteprofile')
        ? { body: { id, localizedFirstName: first, localizedLastName: last } }
        : denied
    },
    '/v2/emailAddress': ({ email }, look) =>
      has(look, 'r_emailaddress') && look.query.get('projection') === '(elements*(handle~))'
        ? { body: { elements: [{ 'handle~': { emailAddress: email }, handle: 'urn:li:emailAddress:1' }] } }
        : denied,
  },
}

const microsoft: Shape = {
  addresses: base => ({
    authorize: `${base}/common/oauth2/v2.0/authorize`,
    token: `${base}/common/oauth2/v2.0/token`,
    api: `${base}/v1.0`,
  }),
  tokens(access, refresh, scopes) {
    const reported = scopes.filter(scope => scope !== 'offline_access')
    const { refresh_token, ...rest } = bearer(access, refresh, [...reported, 'profile', 'openid', 'email'])
    return { ...rest, ext_expires_in: 3599, ...(scopes.includes('offline_access') && { refresh_token }) }
  },
  refusal: error => ({ status: 400, body: { error, error_codes: [70000], trace_id: '0' } }),
  looks: {
    '/v1.0/me': ({ id, name, email, principal = email }, look) =>
      has(look, 'User.Read')
        ? { body: { id, displayName: name, mail: email || null, userPrincipalName: principal } }
        : denied,
  },
}

const twitch: Shape = {
  addresses: base => ({
    authorize: `${base}/oauth2/authorize`,
    token: `${base}/oauth2/token`,
    api: `${base}/helix`,
  }),
  tokens: (access, refresh, scopes) => ({
    ...bearer(access, refresh, scopes),
    token_type: 'bearer',
    scope: scopes,
  }),
  refusal: () => ({ status: 400, body: { status: 400, message: 'Invalid authorization code' } }),
  looks: {
    '/helix/users': ({ id, login, name, email, verified }, look) => {
      if (look.headers['client-id'] !== CLIENT.id) return denied
      const reported = verified && has(look, 'user:read:email') ? { email } : {}
      return { body: { data: [{ id, login, display_name: name, type: '', view_count: 1, ...reported }] } }
    },
  },
}

const facebook: Shape = {
  addresses: base => ({
    authorize: `${base}/v24.0/dialog/oauth`,
    token: `${base}/v24.0/oauth/access_token`,
    api: `${base}/v24.0`,
  }),
  tokens: access => ({ access_token: access, token_type: 'bearer', expires_in: 5_183_944 }),
  refusal: () => ({
    status: 400,
    body: { error: { message: 'This code has been used.', type: 'OAuthException', code: 100 } },
  }),
  tokenRefusal: {
    status: 400,
    body: {
      error: { message: 'Session has expired', type: 'OAuthException', code: 190, error_subcode: 463 },
    },
  },
  looks: {
    '/v24.0/me': ({ id, name, email, verified }, look) => {
      if (look.query.get('appsecret_proof') !== look.proof)
        return { status: 400, body: { error: { type: 'GraphMethodException', code: 100 } } }
      return { body: { id, name, ...(verified && email !== '' && has(look, 'email') && { email }) } }
    },
    '/v24.0/me/permissions': (_, look) => ({
      body: {
        data: ['public_profile', 'email'].map(permission => ({
          permission,
          status: permission === 'public_profile' || has(look, permission) ? 'granted' : 'declined',
        })),
      },
    }),
  },
}

const amazon: Shape = {
  addresses: base => ({ authorize: `${base}/ap/oa`, token: `${base}/auth/o2/token`, api: base }),
  tokens(access, refresh) {
    const { scope: _, ...rest } = bearer(access, refresh, [])
    return rest
  },
  refusal,
  looks: { '/user/profile': ({ id, name, email }) => ({ body: { user_id: id, name, email } }) },
}

export const shapes: Readonly<Record<ProviderName, Shape>> = {
  amazon,
  facebook,
  github,
  gitlab,
  google,
  linkedin,
  microsoft,
  twitch,
}
