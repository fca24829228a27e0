import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ProviderName } from '#auth/providers/provider.ts'
import { providersOf } from '#auth/providers/table.ts'
import { CALLBACK, ProviderServer } from './provider-server.ts'
import type { User } from './provider-shapes.ts'
import {
  ann,
  assertRefused,
  consent,
  methodAt,
  names,
  publicSetup,
  signIn,
  withoutRefreshToken,
} from './support.ts'

const start = (name: ProviderName, user: Partial<User> = {}) =>
  ProviderServer.start(name, { ...ann, ...user })

/** They do not send unverified addresses, or have none. */
const flagged = ['github', 'gitlab', 'google', 'linkedin'] as const
const silent = ['facebook', 'twitch'] as const
const refreshing = names.filter(name => !withoutRefreshToken.includes(name))

suite('an address that the provider does not vouch for', () => {
  for (const name of flagged) {
    test(`does not allow access, and is not passed on: ${name}`, async () => {
      await using server = await start(name, { verified: false })
      for (const access of [{ emails: ['ann@example.test'] }, { domains: ['example.test'] }]) {
        await assertRefused(signIn(methodAt(server, name, { access })), 'oauth_email_unverified')
      }
      assert.equal((await signIn(methodAt(server, name))).identity.email, '')
    })
  }

  for (const name of silent) {
    test(`is not sent at all: ${name}`, async () => {
      await using server = await start(name, { verified: false })
      const access = { domains: ['example.test'] }
      await assertRefused(signIn(methodAt(server, name, { access })), 'oauth_email_missing')
    })
  }
})

suite('scopes', () => {
  for (const name of ['facebook', 'github', 'gitlab', 'google', 'twitch'] as const) {
    test(`the address was not granted: ${name}`, async () => {
      await using server = await start(name)
      server.grants = scopes => scopes.filter(scope => !scope.includes('email'))
      await assertRefused(signIn(methodAt(server, name)), 'oauth_email_withheld')
    })
  }

  for (const name of names.filter(each => each !== 'amazon' && each !== 'facebook')) {
    test(`one of the owner's was not granted: ${name}`, async () => {
      await using server = await start(name)
      const method = methodAt(server, name, { scopes: ['read:more'] })
      assert.match((await consent(method)).asked.searchParams.get('scope') ?? '', / read:more$/)
      await signIn(method)
      server.grants = scopes => scopes.filter(scope => scope !== 'read:more')
      await assertRefused(signIn(method), 'oauth_scopes_missing', 'read:more')
    })
  }

  test('Facebook is requested again for what is granted', async () => {
    await using server = await start('facebook')
    const method = methodAt(server, 'facebook')
    const authResult = await signIn(method)
    server.instead.set('/v24.0/me/permissions', () => ({
      body: { data: [{ permission: 'email', status: 'declined' }] },
    }))
    await assertRefused(method.check(authResult), 'oauth_email_withheld')
  })

  test('GitHub leaves out what another scope contains', async () => {
    await using server = await start('github')
    server.grants = () => ['user', 'admin:org', 'repo']
    const scopes = ['user', 'admin:org', 'write:org', 'repo', 'public_repo']
    const access = { teams: [], emails: ['ann@example.test'] }
    assert.ok((await signIn(methodAt(server, 'github', { scopes, access }))).accessToken)
    const more = methodAt(server, 'github', { scopes: [...scopes, 'delete_repo'] })
    await assertRefused(signIn(more), 'oauth_scopes_missing', 'delete_repo')
  })

  test('Google lists by long names what was requested by short ones', async () => {
    await using server = await start('google')
    server.grants = scopes => scopes.filter(scope => scope.includes('/'))
    const method = methodAt(server, 'google', { scopes: ['email', 'profile', 'openid'] })
    assert.ok((await signIn(method)).accessToken)
  })

  test('Microsoft lists them in its own spelling, and not all', async () => {
    await using server = await start('microsoft')
    server.grants = scopes => ['https://graph.microsoft.com/user.READ', ...scopes]
    assert.ok((await signIn(methodAt(server, 'microsoft'))).refreshToken)
  })
})

suite('refreshing', () => {
  for (const name of refreshing) {
    test(`an access token that has ended is renewed, once: ${name}`, async () => {
      await using server = await start(name)
      const method = methodAt(server, name)
      const authResult = await signIn(method)
      server.expireTokens()
      const renewed = await method.check(authResult)
      assert.deepEqual(renewed.identity, authResult.identity)
      assert.notEqual(renewed.accessToken, authResult.accessToken)
      assert.notEqual(renewed.refreshToken, authResult.refreshToken)
      assert.deepEqual(await method.check(renewed), renewed)
      server.expireTokens()
      await assertRefused(method.check(authResult), 'oauth_session_over')
    })
  }

  for (const name of withoutRefreshToken) {
    test(`there is none, so the session ends with the token: ${name}`, async () => {
      await using server = await start(name)
      const method = methodAt(server, name)
      const authResult = await signIn(method)
      server.expireTokens()
      await assertRefused(method.check(authResult), 'oauth_session_over')
    })
  }

  test('keeps a refresh token that is not replaced', async () => {
    await using server = await start('google')
    const method = methodAt(server, 'google')
    const authResult = await signIn(method)
    server.expireTokens()
    const { accessToken = '' } = await method.check(authResult)
    server.instead.set('/token', () => ({ body: { access_token: accessToken, token_type: 'Bearer' } }))
    const kept = await method.check({ ...authResult, accessToken: 'old' })
    assert.deepEqual([kept.accessToken, kept.refreshToken], [accessToken, authResult.refreshToken])
  })
})

suite('what only some providers have', () => {
  test('Microsoft: an address in a domain that the directory has not proven counts for nothing', async () => {
    const access = { domains: ['example.test'] }
    await using server = await start('microsoft', { principal: 'evil@evil.onmicrosoft.test' })
    const refused = signIn(methodAt(server, 'microsoft', { access }))
    await assertRefused(refused, 'oauth_not_allowed', 'evil@evil.onmicrosoft.test')
    server.user = { ...ann, principal: 'ann_example.test#EXT#@example.test' }
    await assertRefused(signIn(methodAt(server, 'microsoft', { access })), 'oauth_email_missing')
    server.user = { ...ann, email: '', principal: 'a.example@EXAMPLE.test' }
    const { identity } = await signIn(methodAt(server, 'microsoft', { access }))
    assert.equal(identity.email, 'a.example@EXAMPLE.test')
    server.user = { ...ann, principal: 'a.example@EXAMPLE.test' }
    assert.equal((await signIn(methodAt(server, 'microsoft', { access }))).identity.email, ann.email)
  })

  test('LinkedIn: applications from before OpenID use the old API', async () => {
    await using server = await start('linkedin')
    const access = { emails: ['ann@example.test'] }
    const method = methodAt(server, 'linkedin', { scopes: ['r_emailaddress'], access })
    const { asked } = await consent(method)
    assert.equal(asked.searchParams.get('scope'), 'r_liteprofile r_emailaddress')
    const { identity } = await signIn(method)
    assert.deepEqual([identity.name, identity.email], ['Ann Example', 'Ann@Example.test'])
    assert.ok(server.asked.every(({ path }) => path !== '/v2/userinfo'))
  })

  test('Google: an answer that another server gave is refused', async () => {
    await using server = await start('google')
    const method = methodAt(server, 'google')
    const { parameters, memory } = await consent(method)
    parameters.set('iss', 'https://evil.test')
    await assertRefused(method.finish({ parameters, memory, callback: CALLBACK }), 'oauth_denied')
    parameters.set('iss', 'https://accounts.google.com')
    await method.finish({ parameters, memory, callback: CALLBACK })
  })

  test('all public addresses have TLS, and are those of the documents', () => {
    const hosts = Object.values(providersOf(publicSetup)).flatMap(({ addresses }) =>
      Object.values<string>({ ...addresses }).map(address => {
        const { protocol, host } = new URL(address)
        assert.equal(protocol, 'https:')
        return host
      }),
    )
    assert.deepEqual([...new Set(hosts)].toSorted(), [
      'accounts.google.com',
      'api.amazon.com',
      'api.github.com',
      'api.linkedin.com',
      'api.twitch.tv',
      'github.com',
      'gitlab.com',
      'graph.facebook.com',
      'graph.microsoft.com',
      'id.twitch.tv',
      'login.microsoftonline.com',
      'oauth2.googleapis.com',
      'openidconnect.googleapis.com',
      'www.amazon.com',
      'www.facebook.com',
      'www.linkedin.com',
    ])
  })
})
