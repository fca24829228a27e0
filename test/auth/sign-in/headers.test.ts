import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ChunkScanner, requestTrailers } from '#http/http1-chunks.ts'
import { trailerLines } from '#http/http2/fields.ts'
import { HeaderField } from '#http2/header-field.ts'
import { isIdentityName } from '#http/identity-names.ts'
import { anna, Browser, ScriptedMethod, Site } from './support.ts'

async function seen(authResult = anna, fields = '', passesTokens = false) {
  const site = new Site()
  const method = Object.assign(new ScriptedMethod(), { granted: authResult, passesTokens })
  const browser = new Browser(site, site.handler(method))
  await browser.signIn()
  await browser.go('https://app.test/', { fields })
  // The second one is answered from memory.
  await browser.go('https://app.test/', { fields })
  const [first, second] = site.sent
  assert.equal(first?.fields.text, second?.fields.text)
  return first?.fields
}

test('later handlers of a request know its user', async () => {
  const site = new Site()
  const browser = new Browser(site, site.handler(new ScriptedMethod()))
  await browser.signIn()
  for (let at = 0; at < 2; at++) {
    await browser.go('https://app.test/')
    assert.deepEqual(site.traces.at(-1)?.identity, anna.identity)
  }
  await browser.go('https://app.test/auth/logout')
  await browser.go('https://app.test/')
  assert.equal(site.traces.at(-1)?.identity, undefined)
})

suite('the service gets', () => {
  test('the user, in both families of names', async () => {
    const fields = await seen()
    assert.equal(
      fields?.text,
      ['adit', 'ngrok']
        .flatMap(family => [
          `${family}-auth-user-id: user-1\r\n`,
          `${family}-auth-user-name: Anna Bell\r\n`,
          `${family}-auth-user-email: anna@example.com\r\n`,
        ])
        .join(''),
    )
  })

  test('tokens of its own application, and of no other', async () => {
    const granted = { ...anna, accessToken: 'a-token', refreshToken: 'r-token' }
    const own = await seen(granted, '', true)
    assert.equal(own?.get('adit-auth-oauth-access-token'), 'a-token')
    assert.equal(own?.get('ngrok-auth-oauth-refresh-token'), 'r-token')
    const managed = await seen(granted)
    assert.equal(managed?.get('adit-auth-oauth-access-token'), undefined)
    assert.doesNotMatch(managed?.text ?? '', /-token/)
  })

  test('other claims of the method, within the same families', async () => {
    const headers = { 'adit-auth-github-organization': 'acme', 'github-team': 'acme/ops', 'bad name': 'x' }
    const fields = await seen({ identity: { ...anna.identity, headers } })
    assert.equal(fields?.get('adit-auth-github-organization'), 'acme')
    assert.equal(fields?.get('ngrok-auth-github-team'), 'acme/ops')
    assert.doesNotMatch(fields?.text ?? '', /bad name/)
  })

  test('names that are not ASCII, percent-encoded', async () => {
    const fields = await seen({ identity: { ...anna.identity, name: 'Žofie 100% 🙂' } })
    assert.equal(fields?.get('adit-auth-user-name'), '%C5%BDofie 100%25 %F0%9F%99%82')
    assert.equal(decodeURIComponent(fields?.get('adit-auth-user-name') ?? ''), 'Žofie 100% 🙂')
  })

  test('nothing that could end a line', async () => {
    const evil = 'x\r\nX-Admin: yes\r\n\r\n'
    const fields = await seen({
      identity: { id: 'user-1', username: evil, email: evil, name: evil, headers: { team: evil } },
    })
    assert.doesNotMatch(fields?.text ?? '', /X-Admin/)
    assert.equal(fields?.text, 'adit-auth-user-id: user-1\r\nngrok-auth-user-id: user-1\r\n')
  })
})

const spellings = (name: string): string[] => [
  name,
  name.toUpperCase(),
  name.replace(/(^|-)\w/g, letter => letter.toUpperCase()),
  name.replaceAll('-', '_'),
  name.replaceAll('-', '_').toUpperCase(),
  name.replace('-', '_'),
  name.replaceAll('-', '.'),
  name.replace('auth-', 'AuTh_'),
]

const names = ['adit', 'ngrok'].flatMap(family =>
  [
    'user-id',
    'user-name',
    'user-email',
    'oauth-access-token',
    'oauth-refresh-token',
    'github-team',
    'anything',
  ].map(rest => `${family}-auth-${rest}`),
)

suite('SEC-07/08: a client cannot claim an identity', () => {
  for (const name of names)
    test(`with ${name} in any spelling`, async () => {
      const claimed = spellings(name).map(each => `${each}: admin\r\n`)
      const fields = await seen(anna, `X-Before: 1\r\n${claimed.join('')}${claimed.join('')}X-After: 2\r\n`)
      assert.doesNotMatch(fields?.text ?? '', /admin/)
      assert.equal(fields?.get('x-before'), '1')
      assert.equal(fields?.get('x-after'), '2')
      assert.equal(fields?.all('adit-auth-user-id').length, 1)
    })

  test('with trailers', () => {
    for (const name of names.flatMap(spellings)) {
      const scanner = new ChunkScanner(requestTrailers)
      scanner.scan(Buffer.from(`0\r\n${name}: admin\r\n\r\n`), () => undefined)
      assert.ok(scanner.fault, name)
    }
    for (const name of names)
      assert.equal(
        trailerLines([new HeaderField(name, 'admin'), new HeaderField('x-sum', '1')], 'client'),
        'x-sum: 1\r\n',
      )
  })

  test('and names that only look alike pass', () => {
    for (const name of [
      'authorization',
      'accept',
      'adit-request-id',
      'ngrok-skip-browser-warning',
      'x-adit-auth-user-id',
    ])
      assert.equal(isIdentityName(name), false)
  })
})
