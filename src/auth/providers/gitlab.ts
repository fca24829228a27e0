import type { OAuthProvider } from '#auth/providers/provider.ts'
import { userInfo } from '#auth/providers/user-fields.ts'

/** https://docs.gitlab.com/integration/openid_connect_provider, at gitlab.com or at a server of the operator. */
export const gitlab = (base: string): OAuthProvider => ({
  name: 'gitlab',
  title: 'GitLab',
  url: base,
  addresses: { authorize: `${base}/oauth/authorize`, token: `${base}/oauth/token`, api: `${base}/oauth` },
  scopes: () => ['openid', 'profile', 'email'],
  emailScope: 'email',
  forceReauth: { prompt: 'login' },
  async lookUp(api) {
    const { sub, nickname, name, email, email_verified } = await api.get('/userinfo', userInfo)
    return { id: sub, username: nickname, name, email, vouched: email_verified }
  },
})
