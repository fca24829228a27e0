import type { OAuthProvider } from '#auth/providers/provider.ts'
import { value } from '#auth/providers/user-fields.ts'
import { list, object } from '#base/json-fields.ts'

/** A version works for two years at least; after that the oldest working one responds. */
const VERSION = 'v24.0'
const MAX_PERMISSIONS = 500

const me = object({ id: value, name: value, email: value })
const permissions = object({ data: list(object({ permission: value, status: value }), MAX_PERMISSIONS) })

/** https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow */
export const facebook: OAuthProvider = {
  name: 'facebook',
  title: 'Facebook',
  url: 'https://www.facebook.com',
  addresses: {
    authorize: `https://www.facebook.com/${VERSION}/dialog/oauth`,
    token: `https://graph.facebook.com/${VERSION}/oauth/access_token`,
    api: `https://graph.facebook.com/${VERSION}`,
  },
  scopes: () => ['email'],
  emailScope: 'email',
  forceReauth: { auth_type: 'reauthenticate' },
  async lookUp(api) {
    const proof = `appsecret_proof=${api.proof()}`
    const { id, name, email } = await api.get(`/me?fields=id,name,email&${proof}`, me)
    const { data } = await api.get(`/me/permissions?limit=${MAX_PERMISSIONS}&${proof}`, permissions)
    const granted = data.filter(({ status }) => status === 'granted').map(({ permission }) => permission)
    // Unverified addresses are not returned at all.
    return { id, username: email || name, name, email, vouched: true, granted }
  },
}
