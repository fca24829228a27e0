import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { github } from '#auth/providers/github.ts'
import { ProviderServer } from './provider-server.ts'
import type { User } from './provider-shapes.ts'
import { ann, assertRefused, consent, methodAt, signIn } from './support.ts'

const start = (user: Partial<User>) => ProviderServer.start('github', { ...ann, ...user })
const many = (count: number): [string, number][] =>
  Array.from({ length: count }, (_, index) => [`crowd/team-${index}`, 1000 + index])
const pages = (server: ProviderServer, path: string): (string | null)[] =>
  server.asked.filter(asked => asked.path === path).map(({ query }) => query.get('page'))

suite('members of teams and organisations at GitHub', () => {
  for (const [why, access, headers] of [
    ['a team', { teams: ['Acme/Core'] }, { 'github-team': 'acme/core' }],
    ['the number of a team', { teams: ['77'] }, { 'github-team': 'acme/core' }],
    ['an organisation', { organizations: ['acme'] }, { 'github-organization': 'Acme' }],
    [
      'either, of several',
      { teams: ['x/y', 'acme/core'], organizations: ['none', 'ACME'] },
      { 'github-team': 'acme/core', 'github-organization': 'Acme' },
    ],
    ['an address, though in no team', { teams: ['x/y'], emails: ['ann@example.test'] }, {}],
  ] as const) {
    test(`${why} allows a user, and the service gets which`, async () => {
      await using server = await start({ teams: [['acme/core', 77]], organizations: ['Other', 'Acme'] })
      const { identity } = await signIn(methodAt(server, 'github', { access }))
      assert.deepEqual(identity.headers, { 'github-user-id': 'ann', ...headers })
    })
  }

  for (const [why, access] of Object.entries({
    'another team of the organisation': { teams: ['acme/cor', 'acme/core2', 'acme/other'] },
    'a team of that name elsewhere': { teams: ['other/core'] },
    'another number': { teams: ['7', '770'] },
    'the number of the organisation': { teams: ['78'], organizations: ['78', '0'] },
    'an organisation whose name begins alike': { organizations: ['acm', 'acme2', 'acme/core'] },
    'the name of a team as an organisation': { organizations: ['core'] },
  })) {
    test(`${why} does not`, async () => {
      await using server = await start({ teams: [['acme/core', 77]], organizations: ['Acme'] })
      await assertRefused(signIn(methodAt(server, 'github', { access })), 'oauth_not_allowed', 'Ann@')
    })
  }

  test('no confirmed address is needed where only teams are required', async () => {
    await using server = await start({ teams: [['acme/core', 77]], verified: false })
    const { identity } = await signIn(methodAt(server, 'github', { access: { teams: ['acme/core'] } }))
    assert.equal(identity.email, '')
    const refused = signIn(methodAt(server, 'github', { access: { teams: ['acme/other'] } }))
    await assertRefused(refused, 'oauth_not_allowed')
  })

  test('the first two hundred memberships are looked at, on our own addresses only', async () => {
    await using server = await start({
      teams: [...many(199), ['acme/last', 5], ['acme/late', 6]],
      organizations: [...many(150).map(([path]) => path.replace('/', '-')), 'acme'],
    })
    const teams = (...names: string[]) => signIn(methodAt(server, 'github', { access: { teams: names } }))
    await teams('acme/last')
    assert.deepEqual(pages(server, '/api/v3/user/teams'), ['1', '2'])
    await assertRefused(teams('acme/late'), 'oauth_not_allowed')
    assert.deepEqual(pages(server, '/api/v3/user/teams'), ['1', '2', '1', '2'])
    await signIn(methodAt(server, 'github', { access: { organizations: ['acme'] } }))
    assert.deepEqual(pages(server, '/api/v3/user/orgs'), ['1', '2'])
    await teams('crowd/team-3')
    assert.deepEqual(pages(server, '/api/v3/user/teams').slice(4), ['1'])
  })

  test('leaving the team ends the session at the next look', async () => {
    await using server = await start({ teams: [['acme/core', 77]] })
    const method = methodAt(server, 'github', { access: { teams: ['acme/core'] } })
    const authResult = await signIn(method)
    await method.check(authResult)
    server.user = { ...ann, teams: [] }
    await assertRefused(method.check(authResult), 'oauth_not_allowed')
  })

  test('organisations are requested only where they are needed', async () => {
    await using server = await start({})
    const scope = async (access: object) =>
      (await consent(methodAt(server, 'github', { access }))).asked.searchParams.get('scope')
    assert.equal(await scope({}), 'read:user user:email')
    assert.equal(await scope({ teams: ['a/b'] }), 'read:user user:email read:org')
    await signIn(methodAt(server, 'github'))
    assert.deepEqual(pages(server, '/api/v3/user/teams'), [])
    server.grants = scopes => scopes.filter(each => each !== 'read:org')
    const refused = signIn(methodAt(server, 'github', { access: { organizations: ['a'] } }))
    await assertRefused(refused, 'oauth_scopes_missing', 'read:org')
  })

  test('a rate limit is a temporary failure, not the end of a session', async () => {
    await using server = await start({})
    const method = methodAt(server, 'github')
    const authResult = await signIn(method)
    const limited = { status: 403, headers: { 'x-ratelimit-remaining': '0' }, body: { message: 'limit' } }
    server.instead.set('/api/v3/user', () => limited)
    await assertRefused(method.check(authResult), 'oauth_provider')
    server.instead.set('/api/v3/user', () => ({ ...limited, headers: {} }))
    await assertRefused(method.check(authResult), 'oauth_session_over')
  })

  test('servers of GitHub Enterprise have their API elsewhere', () => {
    const api = (base: string) => github(base).addresses.api
    assert.equal(api('https://github.com'), 'https://api.github.com')
    assert.equal(api('https://acme.ghe.com'), 'https://api.acme.ghe.com')
    assert.equal(api('https://git.acme.test'), 'https://git.acme.test/api/v3')
  })
})
