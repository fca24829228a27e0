import type { ProviderApi } from '#auth/providers/api.ts'
import type { ProviderUser, OAuthProvider } from '#auth/providers/provider.ts'
import { userInfo, value } from '#auth/providers/user-fields.ts'
import { list, object } from '#base/json-fields.ts'

const OLD = ['r_liteprofile', 'r_emailaddress']

const oldProfile = object({ id: value, localizedFirstName: value, localizedLastName: value })
const oldEmail = object({ elements: list(object({ 'handle~': object({ emailAddress: value }) }), 10) })

/** Applications from before 2023 have other scopes, and cannot request those of OpenID. */
const isOld = (scopes: readonly string[]): boolean =>
  !scopes.includes('openid') && OLD.some(scope => scopes.includes(scope))

async function oldLook(api: ProviderApi): Promise<ProviderUser> {
  const { id, localizedFirstName, localizedLastName } = await api.get('/me', oldProfile)
  const { elements } = await api.get('/emailAddress?q=members&projection=(elements*(handle~))', oldEmail)
  const email = elements[0]?.['handle~'].emailAddress ?? ''
  const name = `${localizedFirstName} ${localizedLastName}`.trim()
  // Only the primary address is returned, which is always verified.
  return { id, username: email, name, email, vouched: true }
}

/** https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2 */
export const linkedin: OAuthProvider = {
  name: 'linkedin',
  title: 'LinkedIn',
  url: 'https://www.linkedin.com',
  addresses: {
    authorize: 'https://www.linkedin.com/oauth/v2/authorization',
    token: 'https://www.linkedin.com/oauth/v2/accessToken',
    api: 'https://api.linkedin.com/v2',
  },
  scopes: owners => (isOld(owners) ? OLD : ['openid', 'profile', 'email']),
  // LinkedIn supports PKCE for native applications only: one with a secret is rejected when it sends a verifier.
  withoutProof: true,
  async lookUp(api, { scopes }) {
    if (isOld(scopes)) return oldLook(api)
    const { sub, name, email, email_verified } = await api.get('/userinfo', userInfo)
    return { id: sub, username: email, name, email, vouched: email_verified }
  },
}
