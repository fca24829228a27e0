import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ProviderName } from '#auth/providers/provider.ts'
import { CALLBACK, ProviderServer } from './provider-server.ts'
import { CLIENT, type Answer, type User } from './provider-shapes.ts'
import {
  ann,
  assertRefused,
  consent,
  impatientEgress,
  methodAt,
  names,
  signIn,
  withoutRefreshToken,
} from './support.ts'

const start = (name: ProviderName, user: Partial<User> = {}) =>
  ProviderServer.start(name, { ...ann, ...user })
const tokenPath = (server: ProviderServer): string => server.shape.addresses('').token
const lookPath = (server: ProviderServer): string => Object.keys(server.shape.looks)[0] ?? ''

for (const name of names) {
  suite(`signing in at ${name}`, () => {
    test('returns the user and the tokens', async () => {
      await using server = await start(name)
      const method = methodAt(server, name)
      const { identity, accessToken, refreshToken } = await signIn(method)
      assert.deepEqual(
        [identity.id, identity.name, identity.email],
        ['4711', 'Ann Example', 'Ann@Example.test'],
      )
      assert.ok(identity.username !== '')
      assert.match(accessToken ?? '', /-access-[0-9a-f]{32}$/)
      assert.equal(refreshToken !== undefined, !withoutRefreshToken.includes(name))
      assert.equal(method.passesTokens, true)
    })

    test('sends the documented parameters, with PKCE unless the provider refuses it', async () => {
      await using server = await start(name)
      const { asked } = await consent(methodAt(server, name, { lasting: false }))
      const minimum: Record<ProviderName, string> = {
        amazon: 'profile',
        facebook: 'email',
        github: 'read:user user:email',
        gitlab: 'openid profile email',
        google:
          'https://www.googleapis.com/auth/userinfo.email https://www.googleapis.com/auth/userinfo.profile',
        linkedin: 'openid profile email',
        microsoft: 'User.Read',
        twitch: 'user:read:email',
      }
      assert.equal(asked.searchParams.get('scope'), minimum[name])
      assert.equal(asked.searchParams.get('redirect_uri'), CALLBACK)
      assert.equal(asked.searchParams.get('code_challenge_method'), name === 'linkedin' ? null : 'S256')
    })

    test('requests reauthentication where the provider supports it', async () => {
      await using server = await start(name)
      const once = await consent(methodAt(server, name))
      const again = await consent(methodAt(server, name), true)
      const added = [...again.asked.searchParams].filter(([key]) => !once.asked.searchParams.has(key))
      assert.equal(added.length, name === 'amazon' || name === 'linkedin' ? 0 : 1)
    })

    test('allows users by address and by domain, and no others', async () => {
      await using server = await start(name)
      for (const access of [
        { emails: ['ann@example.test'] },
        { domains: ['example.test'] },
        { emails: ['bob@example.test'], domains: ['other.test', 'example.test'] },
      ]) {
        assert.equal((await signIn(methodAt(server, name, { access }))).identity.id, '4711')
      }
      for (const access of [
        { emails: ['ann@example.tes', 'bob@example.test', 'ann@sub.example.test'] },
        { domains: ['ample.test', 'sub.example.test', 'test', 'example.test.evil.test'] },
      ]) {
        const refused = signIn(methodAt(server, name, { access }))
        await assertRefused(refused, 'oauth_not_allowed', 'Ann@Example.test')
      }
    })

    for (const [why, email] of Object.entries({
      'a domain that ends alike': 'ann@notexample.test',
      'a subdomain': 'ann@sub.example.test',
      'a domain that begins alike': 'ann@example.test.evil.test',
      'a letter whose lower case is another': 'ann@eKample.test'.replace('K', '\u212a'),
    })) {
      test(`rejects ${why}`, async () => {
        await using server = await start(name, { email, principal: email })
        const access = { domains: ['example.test', 'ekample.test'] }
        await assertRefused(signIn(methodAt(server, name, { access })), 'oauth_not_allowed')
      })
    }

    test('rejects an e-mail address with two at-signs', async () => {
      const email = 'ann@evil.test@example.test'
      await using server = await start(name, { email })
      const access = { domains: ['example.test', 'evil.test@example.test'] }
      await assertRefused(signIn(methodAt(server, name, { access })), 'oauth_email_unverified')
    })

    test('reports a missing e-mail address', async () => {
      await using server = await start(name, { email: '' })
      const access = { domains: ['example.test'] }
      await assertRefused(signIn(methodAt(server, name, { access })), 'oauth_email_missing')
      assert.equal((await signIn(methodAt(server, name))).identity.email, '')
    })

    test('ends when the user denies access, without text of the provider', async () => {
      await using server = await start(name)
      const { memory } = await consent(methodAt(server, name))
      const finish = (query: string) =>
        methodAt(server, name).finish({ parameters: new URLSearchParams(query), memory, callback: CALLBACK })
      await assertRefused(
        finish('error=access_denied&error_description=%3Cb%3E'),
        'oauth_denied',
        'access_denied',
      )
      await assertRefused(finish('error=%3Cb%3E&code=1'), 'oauth_denied', 'gives no reason')
      await assertRefused(finish('code='), 'oauth_denied')
      await assertRefused(finish('code=1&code=2'), 'oauth_denied')
      await assertRefused(finish(`code=${'x'.repeat(9000)}`), 'oauth_denied')
      assert.deepEqual(
        server.asked.filter(({ path }) => path === tokenPath(server)),
        [],
      )
    })

    test('redeems a code once, and only with its verifier, its callback and the right secret', async () => {
      await using server = await start(name)
      const method = methodAt(server, name)
      const first = await consent(method)
      const finish = { ...first, callback: CALLBACK }
      await method.finish(finish)
      await assertRefused(method.finish(finish), 'oauth_exchange')
      const second = { ...(await consent(method)), callback: `${CALLBACK}/other` }
      await assertRefused(method.finish(second), 'oauth_exchange')
      if (name === 'linkedin') return
      const third = { ...(await consent(method)), memory: first.memory, callback: CALLBACK }
      await assertRefused(method.finish(third), 'oauth_exchange')
    })

    for (const [why, answer] of Object.entries<Answer | 'nothing'>({
      'an error of its own': { status: 500, body: { error: 'oops' } },
      'a page': { body: '<html>Sorry</html>' },
      'an empty answer': { body: '' },
      'another kind of value': { body: 7 },
      'more than can be read': { body: 'x'.repeat(1_100_000) },
      silence: 'nothing',
    })) {
      test(`reports a provider error when it responds with ${why}`, async () => {
        await using server = await start(name)
        const method = methodAt(server, name, { egress: impatientEgress })
        for (const path of [tokenPath(server), lookPath(server)]) {
          server.instead.set(path, () => answer)
          await assertRefused(signIn(method), 'oauth_provider')
          server.instead.delete(path)
        }
      })
    }

    test('rejects a user without an id', async () => {
      await using server = await start(name)
      server.instead.set(lookPath(server), () => ({ body: { data: [] } }))
      await assertRefused(signIn(methodAt(server, name)), 'oauth_provider')
    })

    test('rejects a malformed token', async () => {
      await using server = await start(name)
      for (const given of [
        {},
        { access_token: '' },
        { access_token: 7 },
        { access_token: 'a\r\nb: c' },
        { access_token: 'x'.repeat(9000) },
        { access_token: 'good', token_type: 'mac' },
      ]) {
        server.instead.set(tokenPath(server), () => ({ body: given }))
        await assertRefused(signIn(methodAt(server, name)), 'oauth_provider')
      }
    })

    test('queries the provider again later, and sees that the user has changed', async () => {
      await using server = await start(name)
      const method = methodAt(server, name, { access: { domains: ['example.test'] } })
      const authResult = await signIn(method)
      assert.deepEqual(await method.check(authResult), authResult)
      server.user = { ...ann, email: 'ann@elsewhere.test' }
      await assertRefused(method.check(authResult), 'oauth_not_allowed')
    })

    test('ends the session of a user that the provider has dropped', async () => {
      await using server = await start(name)
      const method = methodAt(server, name)
      const authResult = await signIn(method)
      server.dropUser()
      await assertRefused(method.check(authResult), 'oauth_session_over')
      const { accessToken: _, refreshToken: __, ...bare } = authResult
      await assertRefused(method.check(bare), 'oauth_session_over')
    })

    test('does not end a session because of a provider error', async () => {
      await using server = await start(name)
      const method = methodAt(server, name)
      const authResult = await signIn(method)
      server.instead.set(lookPath(server), () => ({ status: 503, body: '' }))
      await assertRefused(method.check(authResult), 'oauth_provider')
    })

    test('has a fingerprint of the access configuration', async () => {
      await using server = await start(name)
      const print = (changes: Parameters<typeof methodAt>[2] = {}) =>
        methodAt(server, name, changes).fingerprint
      const prints = [
        print(),
        print({ access: { emails: ['a@b.test'] } }),
        print({ access: { domains: ['b.test'] } }),
        print({ scopes: ['more'] }),
      ]
      assert.equal(new Set(prints).size, prints.length)
      assert.equal(print(), prints[0])
      assert.ok(prints.every(each => !each.includes(CLIENT.secret)))
    })

    test('does not forward tokens of the managed application', async () => {
      await using server = await start(name)
      assert.equal(methodAt(server, name, { managed: true }).passesTokens, false)
    })
  })
}
