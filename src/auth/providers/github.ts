import type { ProviderApi } from '#auth/providers/api.ts'
import { lowerCase } from '#auth/providers/access.ts'
import type { OAuthProvider, UserLookup } from '#auth/providers/provider.ts'
import { identifier, value, verified } from '#auth/providers/user-fields.ts'
import { type FieldReader, list, object } from '#base/json-fields.ts'

const PUBLIC = 'https://github.com'
const PAGE = 100
const MAX_MEMBERSHIPS = 200

const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' }

const user = object({ id: identifier, login: value, name: value })
const emails = list(object({ email: value, primary: verified, verified }), PAGE)
const organizations = list(object({ login: value }), PAGE)
const teams = list(object({ id: identifier, slug: value, organization: object({ login: value }) }), PAGE)

/** The first matching membership, among the first two hundred. */
async function firstOf<T>(
  api: ProviderApi,
  path: string,
  field: FieldReader<T[]>,
  isWanted: (membership: T) => boolean,
): Promise<T | undefined> {
  for (let page = 1; page <= MAX_MEMBERSHIPS / PAGE; page++) {
    const { value: found, more } = await api.page(`${path}?per_page=${PAGE}&page=${page}`, field, headers)
    const first = found.find(isWanted)
    if (first !== undefined || !more) return first
  }
  return undefined
}

async function membership(api: ProviderApi, lookup: UserLookup) {
  const team =
    lookup.teams.size === 0
      ? undefined
      : await firstOf(api, '/user/teams', teams, ({ id, slug, organization }) => {
          const path = lowerCase(`${organization.login}/${slug}`)
          return lookup.teams.has(path) || lookup.teams.has(id)
        })
  const organization =
    lookup.organizations.size === 0
      ? undefined
      : await firstOf(api, '/user/orgs', organizations, ({ login }) =>
          lookup.organizations.has(lowerCase(login)),
        )
  return {
    ...(team && { 'github-team': `${team.organization.login}/${team.slug}` }),
    ...(organization && { 'github-organization': organization.login }),
  }
}

/** GitHub omits a scope that another one contains. */
function implied(scope: string): readonly string[] {
  if (scope === 'user') return ['read:user', 'user:email', 'user:follow']
  if (scope === 'repo')
    return ['repo:status', 'repo_deployment', 'public_repo', 'repo:invite', 'security_events']
  if (scope === 'project') return ['read:project']
  const [level = '', of = ''] = scope.split(':')
  if (level === 'admin') return [`write:${of}`, `read:${of}`]
  return level === 'write' ? [`read:${of}`] : []
}

function apiOf(base: string): string {
  if (base === PUBLIC) return 'https://api.github.com'
  const { protocol, host } = new URL(base)
  return host.endsWith('.ghe.com') ? `${protocol}//api.${host}` : `${base}/api/v3`
}

/** https://docs.github.com/apps/oauth-apps, at github.com or at an Enterprise server of the operator. */
export const github = (base: string): OAuthProvider => ({
  name: 'github',
  title: 'GitHub',
  url: base,
  addresses: {
    authorize: `${base}/login/oauth/authorize`,
    token: `${base}/login/oauth/access_token`,
    api: apiOf(base),
  },
  scopes: (_, { memberships }) =>
    memberships ? ['read:user', 'user:email', 'read:org'] : ['read:user', 'user:email'],
  emailScope: 'user:email',
  implied,
  forceReauth: { prompt: 'select_account' },
  async lookUp(api, lookup) {
    const { id, login, name } = await api.get('/user', user, headers)
    const addresses = await api.get(`/user/emails?per_page=${PAGE}`, emails, headers)
    const primary = addresses.find(each => each.primary)
    const memberships = await membership(api, lookup)
    return {
      id,
      username: login,
      name: name || login,
      email: primary?.email ?? '',
      vouched: primary?.verified ?? false,
      member: Object.keys(memberships).length > 0,
      headers: { 'github-user-id': login, ...memberships },
    }
  },
})
