import type { OAuthProvider } from '#auth/providers/provider.ts'
import { value } from '#auth/providers/user-fields.ts'
import { object } from '#base/json-fields.ts'

const profile = object({ user_id: value, name: value, email: value })

/** https://developer.amazon.com/docs/login-with-amazon/authorization-code-grant.html */
export const amazon: OAuthProvider = {
  name: 'amazon',
  title: 'Amazon',
  url: 'https://www.amazon.com',
  addresses: {
    authorize: 'https://www.amazon.com/ap/oa',
    token: 'https://api.amazon.com/auth/o2/token',
    api: 'https://api.amazon.com',
  },
  scopes: () => ['profile'],
  async lookUp(api) {
    const { user_id: id, name, email } = await api.get('/user/profile', profile)
    // There is no flag: the address is the login name, which Amazon has verified.
    return { id, username: email, name, email, vouched: true }
  },
}
