import type { OAuthProvider } from '#auth/providers/provider.ts'
import { value } from '#auth/providers/user-fields.ts'
import { list, object } from '#base/json-fields.ts'

const users = object({
  data: list(object({ id: value, login: value, display_name: value, email: value }), 10),
})

/** https://dev.twitch.tv/docs/authentication/getting-tokens-oauth */
export const twitch: OAuthProvider = {
  name: 'twitch',
  title: 'Twitch',
  url: 'https://www.twitch.tv',
  addresses: {
    authorize: 'https://id.twitch.tv/oauth2/authorize',
    token: 'https://id.twitch.tv/oauth2/token',
    api: 'https://api.twitch.tv/helix',
  },
  scopes: () => ['user:read:email'],
  emailScope: 'user:read:email',
  forceReauth: { force_verify: 'true' },
  async lookUp(api) {
    const { data } = await api.get('/users', users, { 'client-id': api.application.id })
    const [user = { id: '', login: '', display_name: '', email: '' }] = data
    // Only verified addresses are returned.
    return {
      id: user.id,
      username: user.login,
      name: user.display_name,
      email: user.email,
      vouched: true,
    }
  },
}
