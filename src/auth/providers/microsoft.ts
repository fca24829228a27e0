import type { OAuthProvider } from '#auth/providers/provider.ts'
import { value } from '#auth/providers/user-fields.ts'
import { lowerCase } from '#auth/providers/access.ts'
import { object } from '#base/json-fields.ts'

const GRAPH = 'https://graph.microsoft.com/'

const me = object({ id: value, displayName: value, mail: value, userPrincipalName: value })

const domainOf = (address: string): string => lowerCase(address.slice(address.lastIndexOf('@') + 1))

/**
 * Anyone can create a directory and write any address into `mail`. The login name is always in a verified domain of its
 * directory, so `mail` counts only when it is in the same one.
 */
function emailOf(mail: string, principal: string): string {
  // A guest user: the name is derived from an address elsewhere.
  if (!principal.includes('@') || principal.includes('#EXT#')) return ''
  return mail !== '' && domainOf(mail) === domainOf(principal) ? mail : principal
}

/** https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow */
export const microsoft: OAuthProvider = {
  name: 'microsoft',
  title: 'Microsoft',
  url: 'https://login.microsoftonline.com',
  addresses: {
    authorize: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    api: 'https://graph.microsoft.com/v1.0',
  },
  scopes: (_, { lasting }) => (lasting ? ['User.Read', 'offline_access'] : ['User.Read']),
  // Graph scopes are returned with or without its URL, in any case.
  normal: scope => lowerCase(scope.startsWith(GRAPH) ? scope.slice(GRAPH.length) : scope),
  unlisted: new Set(['offline_access', 'openid', 'profile', 'email']),
  forceReauth: { prompt: 'login' },
  chooseAccount: { prompt: 'select_account' },
  async lookUp(api) {
    const found = await api.get('/me?$select=id,displayName,mail,userPrincipalName', me)
    const email = emailOf(found.mail, found.userPrincipalName)
    return {
      id: found.id,
      username: found.userPrincipalName,
      name: found.displayName,
      email,
      vouched: true,
    }
  },
}
