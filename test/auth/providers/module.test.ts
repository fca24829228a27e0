import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { inspect } from 'node:util'
import { Problem, type ErrorName } from '#base/errors.ts'
import { readSettings } from '#base/read-settings.ts'
import type { ModuleParts } from '#gateway/modules/module.ts'
import { oauthModule } from '#gateway/modules/oauth.ts'
import { oauthSetup } from '#auth/providers/setup.ts'
import type { SignInOffer } from '#auth/sign-in/sign-in.ts'
import type { JsonObject } from '#base/json-fields.ts'
import { bindOptions } from '#tunnel/messages.ts'
import { secretText } from '../../support/secrets.ts'
import { impatientEgress, log, names } from './support.ts'

/** What the module needs, with the settings of an operator. */
function partsWith(settings: Record<string, string>): ModuleParts {
  const oauth = oauthSetup(readSettings(new Map(Object.entries(settings)), {}))
  return { egress: impatientEgress, log, oauth } as unknown as ModuleParts
}

const provider = (changes: JsonObject = {}): JsonObject => ({
  client_id: 'own',
  client_secret: secretText('own application'),
  scopes: [],
  email_addresses: [],
  email_domains: [],
  ...changes,
})

/** As the store keeps it: unused providers are null. */
const record = (name: string, changes: JsonObject = {}, terms: JsonObject = {}): JsonObject => ({
  enabled: true,
  options_passthrough: true,
  cookie_prefix: 'mine.',
  inactivity_timeout: 60,
  maximum_duration: 3600,
  auth_check_interval: 180,
  provider: { ...Object.fromEntries(names.map(each => [each, null])), [name]: provider(changes) },
  ...terms,
})

const offersOf = (given: JsonObject, settings: Record<string, string> = {}): readonly SignInOffer[] =>
  oauthModule.fromRecord(given, { id: 'edghtsrt_1' }, partsWith(settings))

function fromRecord(given: JsonObject, settings: Record<string, string> = {}): SignInOffer {
  const [only, second] = offersOf(given, settings)
  assert.ok(only)
  assert.equal(second, undefined)
  return only
}

function fromAgent(given: object, settings: Record<string, string> = {}): SignInOffer {
  assert.ok(oauthModule.fromAgent)
  return oauthModule.fromAgent.build(bindOptions({ OAuth: given }, ''), partsWith(settings))
}

const refused = (code: ErrorName, text: string) => (error: unknown) => {
  assert.ok(error instanceof Problem, String(error))
  assert.equal(error.code, code)
  assert.ok(error.message.includes(text), error.message)
  return true
}

async function addressOf({ method }: SignInOffer): Promise<URL> {
  return new URL(
    (await method.begin({ state: 's', callback: 'https://idp.test/cb', forceReauth: false })).url,
  )
}

const managed = { client_id: '', client_secret: '', email_domains: ['example.test'] }

suite('the oauth module of a record', () => {
  for (const name of names) {
    test(`signs in at ${name} with the application of the owner`, async () => {
      const built = fromRecord(record(name))
      const address = await addressOf(built)
      assert.equal(built.method.provider.name, name)
      assert.equal(address.searchParams.get('client_id'), 'own')
      assert.equal(built.method.passesTokens, true)
      assert.deepEqual(built.config, {
        optionsPassthrough: true,
        cookiePrefix: 'mine.',
        inactivityTimeout: 60,
        maximumDuration: 3600,
        authCheckInterval: 180,
      })
    })
  }

  test('offers every provider that it names, each with its own application and users', async () => {
    const own = { google: provider({ client_id: 'g' }), gitlab: provider({ client_id: 'l' }) }
    const offers = offersOf(record('github', {}, { provider: { ...own, github: null } }))
    assert.deepEqual(
      offers.map(({ key, title, method }) => [key, title, method.clientId]),
      [
        ['oauth.gitlab', 'GitLab', 'l'],
        ['oauth.google', 'Google', 'g'],
      ],
    )
  })

  test('requests refresh tokens from Microsoft only where users are rechecked', async () => {
    const scope = async (interval: number) => {
      const built = fromRecord(record('microsoft', {}, { auth_check_interval: interval }))
      return (await addressOf(built)).searchParams.get('scope')
    }
    assert.equal(await scope(180), 'User.Read offline_access')
    assert.equal(await scope(0), 'User.Read')
  })

  for (const name of ['github', 'gitlab', 'google', 'linkedin', 'microsoft', 'twitch']) {
    test(`signs in at ${name} with the application of the operator`, async () => {
      const settings = { [`oauth_${name}`]: 'operators:a:secret' }
      const built = fromRecord(record(name, managed), settings)
      assert.equal((await addressOf(built)).searchParams.get('client_id'), 'operators')
      assert.notEqual(built.method.passesTokens, true)
      assert.ok(!inspect(built, { depth: 10 }).includes('a:secret'))
    })

    test(`names the setting that is missing for ${name}`, () => {
      assert.throws(
        () => fromRecord(record(name, managed), { oauth_other: '' }),
        refused('oauth_application', `oauth_${name}`),
      )
      // What is missing first is named first: a list of users would not help.
      const open = record(name, { ...managed, email_domains: [] })
      assert.throws(
        () => fromRecord(open, { oauth_other: '' }),
        refused('oauth_application', `oauth_${name}`),
      )
    })
  }

  for (const name of ['amazon', 'facebook']) {
    test(`has no application of the operator for ${name}`, () => {
      assert.throws(() => fromRecord(record(name, managed)), refused('oauth_own_app', ''))
    })
  }

  test("does not open the operator's application to every account", () => {
    const given = record('google', { ...managed, email_domains: [] })
    assert.throws(() => fromRecord(given, { oauth_google: 'a:b' }), refused('oauth_open', 'Google'))
  })

  test('is not built without a provider', () => {
    assert.throws(() => fromRecord(record('google', {}, { provider: {} })), refused('oauth_none', 'github'))
  })

  test('has teams and organisations of GitHub among what decides', () => {
    const print = (changes: JsonObject) => fromRecord(record('github', changes)).method.fingerprint
    const prints = [
      {},
      { teams: ['a/b'] },
      { organizations: ['a'] },
      { teams: ['a/b'], organizations: ['a'] },
    ]
    assert.equal(new Set(prints.map(print)).size, 4)
  })

  test('uses the servers of the operator', async () => {
    const settings = {
      oauth_github_url: 'https://git.acme.test/',
      oauth_gitlab_url: 'http://lab.acme.test:81',
    }
    const address = async (name: string) => (await addressOf(fromRecord(record(name), settings))).href
    assert.match(await address('github'), /^https:\/\/git\.acme\.test\/login\/oauth\/authorize\?/)
    assert.match(await address('gitlab'), /^http:\/\/lab\.acme\.test:81\/oauth\/authorize\?/)
  })
})

suite('the OAuth option of an agent', () => {
  const own = { provider: 'google', client_id: 'own', client_secret: secretText('own application') }

  test('signs in with the application that it brings', async () => {
    const built = fromAgent({ ...own, scopes: ['calendar'], allow_emails: ['Ann@Example.test'] })
    const { searchParams } = await addressOf(built)
    assert.equal(searchParams.get('client_id'), 'own')
    assert.match(searchParams.get('scope') ?? '', / calendar$/)
    assert.deepEqual(built.config, {
      optionsPassthrough: false,
      cookiePrefix: '',
      inactivityTimeout: 0,
      maximumDuration: 0,
      authCheckInterval: 0,
    })
  })

  test('signs in with the application of the operator', async () => {
    const built = fromAgent(
      { provider: 'google', allow_domains: ['example.test'] },
      { oauth_google: 'operators:secret' },
    )
    assert.equal((await addressOf(built)).searchParams.get('client_id'), 'operators')
    assert.notEqual(built.method.passesTokens, true)
  })

  for (const [why, given, text] of [
    ['an unknown provider', { ...own, provider: 'myspace' }, '"myspace" is not one of amazon, facebook'],
    ['a provider of another kind', { ...own, provider: 'constructor' }, 'is not one of'],
    ['no provider', { allow_emails: ['a@b.test'] }, 'is not one of'],
    ['a sealed secret', { ...own, client_secret: '', sealed_client_secret: 'AAAA' }, 'sealed_client_secret'],
    ['an id without a secret', { ...own, client_secret: '' }, 'belong together'],
    ['a secret without an id', { ...own, client_id: '' }, 'belong together'],
    ['scopes without an application', { provider: 'google', scopes: ['x'] }, 'scopes need'],
    ['no application at all', { provider: 'google', allow_emails: ['a@b.test'] }, 'oauth_google'],
    ['neither an application nor a list', { provider: 'google' }, 'oauth_google'],
    ['another form', { ...own, allow_emails: 'a@b.test' }, 'allow_emails must be a list'],
  ] as const) {
    test(`is refused with ${why}`, () => {
      assert.throws(() => fromAgent(given), refused('bind_option', text))
    })
  }
})

suite('the settings of managed applications', () => {
  const read = (name: string, value: string) => readSettings(new Map([[name, value]]), {})

  test('hold an id and a secret, which is never printed', () => {
    const settings = read('oauth_google', '1-x.apps.googleusercontent.com:GOCSPX-s:ecret')
    assert.equal(settings.oauth_google?.id, '1-x.apps.googleusercontent.com')
    assert.equal(settings.oauth_google?.secret.reveal(), 'GOCSPX-s:ecret')
    assert.ok(!(inspect(settings, { depth: 5 }) + JSON.stringify(settings)).includes('GOCSPX'))
  })

  for (const value of ['', 'id', 'id:', ':secret', 'i d:secret']) {
    test(`refuse "${value}"`, () => {
      assert.throws(() => read('oauth_twitch', value), /must be CLIENT_ID:CLIENT_SECRET/)
    })
  }

  test('are empty where nothing is set', () => {
    const setup = oauthSetup(readSettings(new Map(), {}))
    assert.equal(setup.applications.size, 0)
    assert.deepEqual([setup.githubUrl, setup.gitlabUrl], ['https://github.com', 'https://gitlab.com'])
  })
})
