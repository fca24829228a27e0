import type { OAuthProvider } from '#auth/providers/provider.ts'
import { userInfo } from '#auth/providers/user-fields.ts'

const EMAIL = 'https://www.googleapis.com/auth/userinfo.email'
const PROFILE = 'https://www.googleapis.com/auth/userinfo.profile'

/** They may be requested by the short name, and are always returned by the long one. */
const longNames: Readonly<Record<string, string>> = { email: EMAIL, profile: PROFILE }

/** https://developers.google.com/identity/protocols/oauth2/web-server */
export const google: OAuthProvider = {
  name: 'google',
  title: 'Google',
  url: 'https://accounts.google.com',
  addresses: {
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    api: 'https://openidconnect.googleapis.com/v1',
  },
  scopes: () => [EMAIL, PROFILE],
  emailScope: EMAIL,
  normal: scope => longNames[scope] ?? scope,
  // Without it there is no refresh token.
  parameters: { access_type: 'offline' },
  // The only prompt that Google can be made to repeat.
  forceReauth: { prompt: 'select_account' },
  issuer: 'https://accounts.google.com',
  async lookUp(api) {
    const { sub, name, email, email_verified } = await api.get('/userinfo', userInfo)
    return { id: sub, username: email, name, email, vouched: email_verified }
  },
}
