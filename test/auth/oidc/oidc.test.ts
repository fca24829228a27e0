import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { suite, test } from 'node:test'
import { exportJWK, exportSPKI, generateKeyPair, importJWK } from 'jose'
import { createEgress } from '#base/egress-client.ts'
import { addressOf } from '#auth/oidc/email.ts'
import { secretText } from '../../support/secrets.ts'
import { CALLBACK, CLIENT, HostileProvider } from './hostile-provider.ts'

/** Of another provider. */
const strange = generateKeyPair('RS256')
const begin = { state: 'the-state', callback: CALLBACK, forceReauth: false }
const seconds = (): number => Math.floor(Date.now() / 1000)
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

suite('OpenID Connect', () => {
  test('requests a code with PKCE, a nonce and "openid"', async () => {
    await using provider = await HostileProvider.start()
    const { url, memory } = await provider.method().begin(begin)
    const { searchParams, origin, pathname } = new URL(url)
    const { code_challenge, nonce, ...rest } = Object.fromEntries(searchParams)
    assert.equal(origin + pathname, `${provider.issuer}/authorize`)
    assert.deepEqual(rest, {
      client_id: CLIENT,
      redirect_uri: CALLBACK,
      response_type: 'code',
      scope: 'openid email profile',
      state: 'the-state',
      code_challenge_method: 'S256',
    })
    const { verifier } = memory
    assert.equal(code_challenge, createHash('sha256').update(verifier).digest('base64url'))
    assert.equal(nonce, memory['nonce'])
    assert.ok(verifier.length >= 43)
  })

  test('uses each nonce and verifier once', async () => {
    await using provider = await HostileProvider.start()
    const method = provider.method()
    const [one, two] = [await method.begin(begin), await method.begin(begin)]
    assert.notEqual(one.memory['nonce'], two.memory['nonce'])
    assert.notEqual(one.memory['verifier'], two.memory['verifier'])
  })

  test('requests a prompt for reauthentication', async () => {
    await using provider = await HostileProvider.start()
    const { url } = await provider.method().begin({ ...begin, forceReauth: true })
    assert.equal(new URL(url).searchParams.get('prompt'), 'login')
  })

  test('requests account selection where the provider supports it, else a prompt', async () => {
    for (const values of [undefined, ['login', 'none'], 'select_account', ['login', 'select_account']]) {
      await using provider = await HostileProvider.start()
      provider.metadata = { prompt_values_supported: values }
      const { url } = await provider.method().begin({ ...begin, forceReauth: true, chooseAccount: true })
      const expected = values?.at(1) === 'select_account' ? 'select_account' : 'login'
      assert.equal(new URL(url).searchParams.get('prompt'), expected)
    }
  })

  test('gets the identity of a user, and keeps the tokens for the service', async () => {
    await using provider = await HostileProvider.start()
    provider.tokens = { refresh_token: 'a-refresh-token' }
    assert.deepEqual(await provider.signIn(), {
      identity: { id: 'user-1', username: 'anna', email: 'anna@example.com', name: 'Anna Bell' },
      accessToken: 'an-access-token',
      refreshToken: 'a-refresh-token',
    })
    assert.equal(provider.form.get('redirect_uri'), CALLBACK)
    assert.equal(provider.form.get('code'), 'the-code')
    assert.ok((provider.form.get('code_verifier') ?? '').length >= 43)
  })

  test('requests from UserInfo what the ID token lacks', async () => {
    await using provider = await HostileProvider.start()
    provider.metadata = { userinfo_endpoint: `${provider.issuer}/userinfo` }
    provider.idToken = nonce => {
      const { email: _email, name: _name, ...claims } = provider.claims(nonce)
      return provider.signed(claims)
    }
    provider.userInfo = { sub: 'user-1', email: 'more@example.com', name: 'More' }
    assert.equal((await provider.signIn()).identity.email, 'more@example.com')
    provider.userInfo = { sub: 'another user', email: 'more@example.com' }
    await assert.rejects(provider.signIn(), { code: 'sign_in_unverified' })
  })

  test('rejects an e-mail address that the provider marks as not verified', async () => {
    await using provider = await HostileProvider.start()
    provider.idToken = nonce => provider.signed({ ...provider.claims(nonce), email_verified: false })
    assert.equal((await provider.signIn()).identity.email, '')
    const guarded = provider.method({ emails: ['anna@example.com'] })
    await assert.rejects(provider.signIn(guarded), { code: 'oauth_email_unverified' })
  })

  test('requests the scopes email and profile, whatever other scopes are configured', async () => {
    await using provider = await HostileProvider.start()
    const scopeOf = async (changed: object): Promise<string | null> => {
      const { url } = await provider.method(changed).begin(begin)
      return new URL(url).searchParams.get('scope')
    }
    assert.equal(await scopeOf({ scopes: [], emails: ['anna@example.com'] }), 'openid email profile')
    assert.equal(await scopeOf({ scopes: [] }), 'openid email profile')
    assert.equal(await scopeOf({ scopes: ['groups', 'email'] }), 'openid email profile groups')
    provider.metadata = { scopes_supported: ['openid', 'email'] }
    assert.equal(await scopeOf({ scopes: ['groups'] }), 'openid email groups')
  })

  const flags: readonly [claims: Record<string, unknown>, more: Record<string, unknown>, passes: boolean][] =
    [
      [{ email_verified: true }, {}, true],
      [{ email_verified: 'true' }, {}, true],
      [{ email_verified: 'false' }, {}, false],
      [{ email_verified: 1 }, {}, false],
      [{ email_verified: undefined }, {}, false],
      [{ email_verified: undefined }, { email: 'anna@example.com', email_verified: true }, true],
      [{ email_verified: undefined }, { email: 'anna@example.com', email_verified: false }, false],
      [{ email_verified: undefined }, { email: 'other@example.com', email_verified: true }, false],
      [{ email_verified: undefined }, { email_verified: true }, false],
      [{ email_verified: false }, { email: 'anna@example.com', email_verified: true }, false],
      [{ email: undefined, email_verified: true }, { email: 'anna@example.com' }, false],
    ]
  for (const [claims, more, passes] of flags)
    test(`${passes ? 'takes' : 'refuses'} for a list of addresses ${JSON.stringify([claims, more])}`, async () => {
      await using provider = await HostileProvider.start()
      provider.metadata = { userinfo_endpoint: `${provider.issuer}/userinfo` }
      provider.userInfo = { sub: 'user-1', ...more }
      provider.idToken = nonce => provider.signed({ ...provider.claims(nonce), ...claims })
      const guarded = provider.method({ emails: ['anna@example.com'] })
      if (passes) assert.equal((await provider.signIn(guarded)).identity.email, 'anna@example.com')
      else await assert.rejects(provider.signIn(guarded), { code: 'oauth_email_unverified' })
    })

  test('takes addresses without the flag from the issuers in the table, and from no others', () => {
    const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47'
    const claims = { email: 'anna@example.com' }
    const trusted = [
      `https://login.microsoftonline.com/${tenant}/v2.0`,
      `https://login.microsoftonline.us/${tenant}/v2.0`,
      `https://login.partner.microsoftonline.cn/${tenant}/v2.0`,
      `https://sts.windows.net/${tenant}/`,
      'https://fs.example.com/adfs',
    ]
    const others = [
      'https://login.microsoftonline.com/common/v2.0',
      'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
      `https://login.microsoftonline.com.evil.test/${tenant}/v2.0`,
      `https://evil.test/https://login.microsoftonline.com/${tenant}/v2.0`,
      `http://login.microsoftonline.com/${tenant}/v2.0`,
      'https://evil.test/x/adfs',
      'https://accounts.google.com',
    ]
    for (const issuer of trusted) assert.equal(addressOf(claims, {}, issuer).is, 'verified', issuer)
    for (const issuer of others) assert.equal(addressOf(claims, {}, issuer).is, 'unknown', issuer)
    const disowned = { ...claims, email_verified: false }
    for (const issuer of trusted) assert.equal(addressOf(disowned, {}, issuer).is, 'unverified', issuer)
  })

  test('compares addresses as the OAuth providers do: ASCII letters only, and whole addresses', async () => {
    await using provider = await HostileProvider.start()
    const attempts = [
      // The Kelvin sign, whose lower case is the letter k.
      { email: 'nic\u212a@example.com', lists: { emails: ['nick@example.com'] } },
      { email: 'anna@\u212aey.example', lists: { domains: ['key.example'] } },
      { email: 'anna@evil.test@example.com', lists: { domains: ['example.com'] } },
      { email: 'example.com', lists: { domains: ['example.com'] } },
      { email: 'anna @example.com', lists: { domains: ['example.com'] } },
    ]
    for (const { email, lists } of attempts) {
      provider.idToken = nonce => provider.signed({ ...provider.claims(nonce), email })
      await assert.rejects(provider.signIn(provider.method(lists)), error =>
        /^oauth_(?:not_allowed|email_unverified)$/.test((error as { code: string }).code),
      )
    }
  })

  test('allows the users in the lists of an agent, and no others', async () => {
    await using provider = await HostileProvider.start()
    for (const lists of [{ emails: ['Anna@Example.com'] }, { domains: ['example.com'] }])
      assert.equal((await provider.signIn(provider.method(lists))).identity.id, 'user-1')
    for (const lists of [
      { emails: ['bob@example.com'] },
      { domains: ['ample.com'] },
      { domains: ['a.example.com'] },
    ])
      await assert.rejects(provider.signIn(provider.method(lists)), { code: 'oauth_not_allowed' })
  })

  test('discovers once for concurrent sign-ins', async () => {
    await using provider = await HostileProvider.start()
    const method = provider.method()
    await Promise.all(Array.from({ length: 10 }, () => method.begin(begin)))
    await provider.signIn(method)
    await provider.signIn(method)
    assert.equal(provider.asked.filter(path => path.startsWith('/.well-known')).length, 1)
    assert.equal(provider.asked.filter(path => path === '/jwks').length, 1)
  })

  test('discovers again after an hour, and soon after it failed', async () => {
    await using provider = await HostileProvider.start()
    let time = Date.now()
    const method = provider.method({ now: () => time })
    provider.metadata = { issuer: 'https://another.test' }
    const asked = (): number => provider.asked.length
    await assert.rejects(method.begin(begin), { code: 'sign_in_unverified' })
    await assert.rejects(method.begin(begin), { code: 'sign_in_unverified' })
    assert.equal(asked(), 1)
    provider.metadata = {}
    time += 5000
    await method.begin(begin)
    assert.equal(asked(), 2)
    time += 3_599_000
    await method.begin(begin)
    assert.equal(asked(), 2)
    time += 1000
    await method.begin(begin)
    assert.equal(asked(), 3)
  })

  test('finds the key after the provider changed it', async () => {
    await using provider = await HostileProvider.start()
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    provider.metadata = { id_token_signing_alg_values_supported: ['RS256', 'ES256'] }
    provider.keys = [{ ...(await exportJWK(publicKey)), kid: 'key-2' }]
    provider.idToken = nonce =>
      provider.signed(provider.claims(nonce), { alg: 'ES256', kid: 'key-2' }, privateKey)
    assert.equal((await provider.signIn()).identity.id, 'user-1')
  })

  test('uses a client authentication method of the provider', async () => {
    await using provider = await HostileProvider.start()
    await provider.signIn()
    assert.equal(provider.form.get('client_secret'), null)
    provider.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] }
    await provider.signIn()
    assert.equal(provider.form.get('client_secret'), secretText('oidc'))
    await provider.signIn(provider.method({ clientSecret: undefined }))
    assert.equal(provider.form.get('client_secret'), null)
    assert.equal(provider.form.get('client_id'), CLIENT)
  })

  test('shows the code of an error, and no text of the provider', async () => {
    await using provider = await HostileProvider.start()
    const said = { error: 'access_denied', error_description: 'Call +1 555 to buy', code: '' }
    await assert.rejects(provider.signIn(undefined, said), error => {
      assert.match(String(error), /it says "access_denied"/)
      assert.doesNotMatch(String(error), /Call/)
      return true
    })
    await assert.rejects(provider.signIn(undefined, { error: '<b>Call +1 555</b>' }), {
      code: 'sign_in_refused',
    })
  })

  test('has its own change of what the fingerprint covers', async () => {
    await using provider = await HostileProvider.start()
    const { fingerprint } = provider.method()
    assert.equal(provider.method().fingerprint, fingerprint)
    for (const changed of [
      { clientId: 'x' },
      { scopes: ['x'] },
      { emails: ['x'] },
      { issuer: 'https://x.test' },
    ])
      assert.notEqual(provider.method(changed).fingerprint, fingerprint)
  })
})

suite('SEC-14: an issuer', () => {
  const unusable = [
    'http://provider.test',
    'ftp://provider.test',
    'provider.test',
    '',
    'https://user:pass@provider.test',
    'https://provider.test/?x=1',
    'https://provider.test/#x',
    'http://127.0.0.1.evil.test',
    'file:///etc/passwd',
  ]
  for (const issuer of unusable)
    test(`cannot be ${issuer || 'empty'}`, async () => {
      await using provider = await HostileProvider.start()
      assert.throws(() => provider.method({ issuer }), { code: 'sign_in_unconfigured' })
    })

  test('in a private network is not called', async () => {
    await using provider = await HostileProvider.start()
    const method = provider.method({ egress: createEgress({ allow: [] }) })
    await assert.rejects(method.begin(begin), { code: 'sign_in_provider' })
    assert.deepEqual(provider.asked, [])
  })

  test('cannot redirect the browser to another scheme', async () => {
    await using provider = await HostileProvider.start()
    provider.metadata = { authorization_endpoint: 'javascript:alert(1)' }
    await assert.rejects(provider.method().begin(begin), { code: 'sign_in_provider' })
  })

  test('must match the issuer in its metadata', async () => {
    await using provider = await HostileProvider.start()
    provider.metadata = { issuer: `${provider.issuer}/other` }
    await assert.rejects(provider.method().begin(begin), { code: 'sign_in_unverified' })
  })

  test('that cannot be reached is reported', async () => {
    await using provider = await HostileProvider.start()
    const method = provider.method()
    await provider[Symbol.asyncDispose]().catch(() => undefined)
    await assert.rejects(method.begin(begin), { code: 'sign_in_provider', status: 502 })
    Object.assign(provider, { [Symbol.asyncDispose]: async () => undefined })
  })
})

type Forge = (provider: HostileProvider, nonce: string) => Promise<string> | string

const changed =
  (claims: Record<string, unknown>, header = {}): Forge =>
  (provider, nonce) =>
    provider.signed({ ...provider.claims(nonce), ...claims }, header)

const attacks: Readonly<Record<string, Forge>> = {
  'no algorithm': (provider, nonce) => `${base64url({ alg: 'none' })}.${base64url(provider.claims(nonce))}.`,
  'no algorithm, in another case': (provider, nonce) =>
    `${base64url({ alg: 'nOnE' })}.${base64url(provider.claims(nonce))}.`,
  'no algorithm, with a signature': async (provider, nonce) => {
    const [, , signature] = (await provider.signed(provider.claims(nonce))).split('.')
    return `${base64url({ alg: 'none' })}.${base64url(provider.claims(nonce))}.${signature}`
  },
  'no signature': async (provider, nonce) => {
    const [header, payload] = (await provider.signed(provider.claims(nonce))).split('.')
    return `${header}.${payload}.`
  },
  'the public key as shared secret': async (provider, nonce) => {
    const key = await importJWK({ ...provider.publicJwk }, 'RS256')
    const pem = await exportSPKI(key as CryptoKey)
    return provider.signed(provider.claims(nonce), { alg: 'HS256' }, Buffer.from(pem))
  },
  'the client secret as shared secret': (provider, nonce) =>
    provider.signed(provider.claims(nonce), { alg: 'HS256' }, Buffer.from('a secret'.padEnd(32, '\0'))),
  'an empty shared secret': (provider, nonce) =>
    provider.signed(provider.claims(nonce), { alg: 'HS256' }, Buffer.alloc(32)),
  'the key of another provider': async (provider, nonce) =>
    provider.signed(provider.claims(nonce), {}, (await strange).privateKey),
  'a key that it brings along': async (provider, nonce) => {
    const { privateKey, publicKey } = await strange
    return provider.signed(provider.claims(nonce), { jwk: await exportJWK(publicKey) }, privateKey)
  },
  'an address of a key': async (provider, nonce) => {
    const { privateKey } = await strange
    const header = { jku: `${provider.issuer}/evil`, x5u: `${provider.issuer}/evil`, kid: 'evil' }
    return provider.signed(provider.claims(nonce), header, privateKey)
  },
  'a key id that is a path': async (provider, nonce) => {
    const { privateKey } = await strange
    return provider.signed(provider.claims(nonce), { kid: '../../../../dev/null' }, privateKey)
  },
  'a key that is not there': changed({}, { kid: 'key-9' }),
  'a changed payload': async (provider, nonce) => {
    const [header, , signature] = (await provider.signed(provider.claims(nonce))).split('.')
    return `${header}.${base64url({ ...provider.claims(nonce), sub: 'admin' })}.${signature}`
  },
  'another audience': changed({ aud: 'client-2' }),
  'two audiences and no authorised party': changed({ aud: [CLIENT, 'client-2'] }),
  'another authorised party': changed({ aud: [CLIENT, 'client-2'], azp: 'client-2' }),
  'no audience': changed({ aud: undefined }),
  'another issuer': changed({ iss: 'https://evil.test' }),
  'an issuer with a slash more': (provider, nonce) =>
    provider.signed({ ...provider.claims(nonce), iss: `${provider.issuer}/` }),
  'no issuer': changed({ iss: undefined }),
  'no subject': changed({ sub: undefined }),
  'an empty subject': changed({ sub: '' }),
  'a subject that is a number': changed({ sub: 1 }),
  'a time past': changed({ exp: seconds() - 61 - 300, iat: seconds() - 700 }),
  'no end': changed({ exp: undefined }),
  'an end that is a text': changed({ exp: String(seconds() + 300) }),
  'an end that is a list': changed({ exp: [seconds() + 300] }),
  'no beginning': changed({ iat: undefined }),
  'a beginning that is a text': changed({ iat: String(seconds()) }),
  'a time to come': changed({ nbf: seconds() + 120 }),
  'another nonce': changed({ nonce: 'another' }),
  'no nonce': changed({ nonce: undefined }),
  'a nonce that is a list': (provider, nonce) =>
    provider.signed({ ...provider.claims(nonce), nonce: [nonce] }),
  'a critical extension': (provider, nonce) =>
    new Promise<string>(resolve => {
      const header = base64url({ alg: 'RS256', kid: 'key-1', crit: ['x'], x: 1 })
      void provider
        .signed(provider.claims(nonce))
        .then(token => resolve([header, ...token.split('.').slice(1)].join('.')))
    }),
  'a huge length': changed({ filler: 'x'.repeat(300_000) }),
  'five parts': () => 'a.b.c.d.e',
  'one part': () => 'token',
  'no text': () => ({}) as unknown as string,
  'parts that are no JSON': () => `${Buffer.from('{').toString('base64url')}.e30.AAAA`,
}

suite('SEC-18: an ID token is refused', () => {
  for (const [name, forge] of Object.entries(attacks))
    test(`with ${name}`, async () => {
      await using provider = await HostileProvider.start()
      provider.idToken = nonce => forge(provider, nonce)
      await assert.rejects(provider.signIn(), error => {
        const { code } = error as { code: string }
        assert.ok(['sign_in_unverified', 'sign_in_provider'].includes(code), code)
        return true
      })
      assert.equal(provider.asked.includes('/evil'), false)
    })

  test('when there is none', async () => {
    await using provider = await HostileProvider.start()
    provider.tokens = { id_token: undefined }
    await assert.rejects(provider.signIn(), { code: 'sign_in_unverified' })
  })

  test('but accepted with a clock skew of up to a minute', async () => {
    await using provider = await HostileProvider.start()
    for (const claims of [{ exp: seconds() - 55 }, { nbf: seconds() + 55 }]) {
      provider.idToken = nonce => provider.signed({ ...provider.claims(nonce), ...claims })
      assert.equal((await provider.signIn()).identity.id, 'user-1')
    }
  })
})

suite('SEC-15: a response of a provider', () => {
  test('from another issuer is refused before its code is used', async () => {
    await using provider = await HostileProvider.start()
    await assert.rejects(provider.signIn(undefined, { iss: 'https://evil.test' }), {
      code: 'sign_in_unverified',
    })
    assert.equal(provider.asked.includes('/token'), false)
    assert.equal((await provider.signIn(undefined, { iss: provider.issuer })).identity.id, 'user-1')
  })

  test('without an issuer is refused where the provider announces it', async () => {
    await using provider = await HostileProvider.start()
    provider.metadata = { authorization_response_iss_parameter_supported: true }
    await assert.rejects(provider.signIn(), { code: 'sign_in_unverified' })
    assert.equal(provider.asked.includes('/token'), false)
  })

  test('with a used code, or an unknown client, creates no session', async () => {
    await using provider = await HostileProvider.start()
    const { createServer } = await import('node:http')
    const refusing = createServer((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: 'invalid_grant' }))
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => refusing.once('listening', resolve))
    const { port } = refusing.address() as { port: number }
    provider.metadata = { token_endpoint: `http://127.0.0.1:${port}/token` }
    await assert.rejects(provider.signIn(), { code: 'sign_in_refused' })
    refusing.closeAllConnections()
    refusing.close()
  })
})
