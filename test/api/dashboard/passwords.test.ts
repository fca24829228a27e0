import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { isPassword, passwordHash } from '#api/dashboard/password-hash.ts'
import { createResource, onEachStore } from '../../support/each-store.ts'
import { newMember } from '../../support/members.ts'
import { Browser, browserOf, postDashboard, postLogin, tokenIn } from '../../support/dashboard.ts'
import { registerSecret, secretText } from '../../support/secrets.ts'
import { startServer, type Answer, type Caller, type TestServer } from '../../support/server.ts'

const codeOf = ({ status, body }: Answer) => [status, body?.error_code]

/** What admins and invited users do. Hashing is slow on purpose, so tests hash as little as they can. */
function helpersFor(api: () => Caller) {
  /** A member and the token of an invitation. */
  async function invited(): Promise<{ id: string; email: string; token: string }> {
    const email = `p${Math.random()}@example.com`
    const user = await createResource(api(), '/users', { name: 'P', email })
    return { id: user.id, email, token: await invitation(user.id) }
  }

  async function invitation(id: string): Promise<string> {
    const answer = await api().post('/dashboard/invite', { user_id: id })
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    assert.ok(answer.body.url.startsWith(`${api().url}/dashboard/invitation#token=`))
    return tokenIn(answer.body.url)
  }

  const accept = (token: string, password: string) =>
    postDashboard(api(), '/dashboard/invitation', { token, password })
  return { invited, invitation, accept }
}

onEachStore('a password for the dashboard', api => {
  const { invited, invitation, accept } = helpersFor(api)

  test('is set once by an invited user, signs in, and ends the sessions before', async () => {
    const { email, id, token } = await invited()
    const password = secretText('first password')
    const answer = await accept(token, password)
    const first = new Browser(api(), answer)
    assert.equal(first.session.user.role, 'member')
    assert.deepEqual(codeOf(await accept(token, password)), [401, 'ERR_ADIT_90461'])
    assert.equal((await first.get('/users')).status, 403)
    const second = new Browser(api(), await postLogin(api(), { email: email.toUpperCase(), password }))
    assert.equal(second.session.user.id, id)

    const next = secretText('second password')
    const third = new Browser(api(), await accept(await invitation(id), next))
    for (const browser of [first, second])
      assert.deepEqual(codeOf(await browser.get('/self')), [401, 'ERR_ADIT_90450'])
    assert.equal((await third.get('/self')).status, 200)
    assert.deepEqual(codeOf(await postLogin(api(), { email, password })), [401, 'ERR_ADIT_90456'])
  })

  test('SEC-invite-roles: is given out by admins only, to active users', async () => {
    const { id } = await invited()
    const member = await newMember(api())
    const answer = await api().post('/dashboard/invite', { user_id: id }, { token: member.token })
    assert.deepEqual(codeOf(answer), [403, 'ERR_ADIT_90462'])
    assert.equal((await api().post('/dashboard/invite', { user_id: 'usr_x' })).status, 404)
    await api().patch(`/users/${id}`, { active: false })
    const inactive = await api().post('/dashboard/invite', { user_id: id })
    assert.deepEqual(codeOf(inactive), [400, 'ERR_ADIT_90463'])
    const admin = await browserOf(api())
    assert.equal((await admin.post('/dashboard/invite', { user_id: member.user.id })).status, 201)
  })

  test('SEC-link-purpose: an invitation does not sign in, and a sign-in link sets no password', async () => {
    const { token } = await invited()
    assert.deepEqual(codeOf(await postLogin(api(), { token })), [401, 'ERR_ADIT_90451'])
    const link = tokenIn((await api().post('/dashboard/link')).body.url)
    const answer = await accept(link, secretText('of another'))
    assert.deepEqual(codeOf(answer), [401, 'ERR_ADIT_90461'])
  })
})

/** Cyrillic letters. */
const randomWord = (): string =>
  Array.from({ length: 6 }, () => String.fromCodePoint(0x430 + Math.floor(Math.random() * 32))).join('')

/** Of at least 12 characters, from lists of passwords that were stolen most often. */
const guessedFirst = [
  'Password12345',
  'password123456',
  'qwerty123456',
  'qwertyuiop123',
  '123456789012',
  '1234567890987654321',
  '1qaz2wsx3edc',
  'zaq12wsxcde3',
  '1q2w3e4r5t6y7u',
  'abc123456789',
  'sunshine2024',
]

suite('a password for the dashboard', () => {
  let server: TestServer
  before(async () => {
    server = await startServer()
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
  })
  const api = (): Caller => server.api
  const { invited, accept } = helpersFor(api)

  test('SEC-password-change: needs the current one and ends the other sessions', async () => {
    const { email, token } = await invited()
    const password = secretText('before the change')
    const first = new Browser(api(), await accept(token, password))
    const other = new Browser(api(), await postLogin(api(), { email, password }))
    const next = secretText('after the change')
    const wrong = await first.post('/dashboard/password', { current_password: 'guess', password: next })
    assert.deepEqual(codeOf(wrong), [403, 'ERR_ADIT_90460'])
    assert.equal((await other.get('/self')).status, 200)
    const changed = await first.post('/dashboard/password', { current_password: password, password: next })
    assert.equal(changed.status, 204)
    assert.equal((await first.get('/self')).status, 200)
    assert.deepEqual(codeOf(await other.get('/self')), [401, 'ERR_ADIT_90450'])
    assert.equal((await postLogin(api(), { email, password: next })).status, 200)
  })

  test('SEC-password-weak: is rejected when it is short, common or the name, and the invitation stays', async () => {
    const { email, token } = await invited()
    const local = email.split('@')[0] ?? ''
    for (const weak of ['short', 'aaaaaaaaaaaaaaaa', `${local}123`, ...guessedFirst]) {
      const answer = await accept(token, weak)
      assert.deepEqual(codeOf(answer), [400, 'ERR_ADIT_90459'], weak)
      assert.ok(!answer.body.msg.includes(weak))
    }
    assert.equal((await accept(token, 'x'.repeat(600))).status, 400)
    assert.equal((await accept(token, secretText('good enough'))).status, 200)
  })

  test('SEC-password-characters: may have 128 characters of any script, which all count, and no more', async () => {
    const { email, token } = await invited()
    // No composition is required: this has one kind of letters, blanks and an emoji.
    const words = registerSecret(`пароль 🔑 ${Array.from({ length: 20 }, randomWord).join(' ')}`)
    const password = Array.from(words).slice(0, 127).join('')
    assert.deepEqual(codeOf(await accept(token, `${password}xy`)), [400, 'ERR_ADIT_90530'])
    assert.equal((await accept(token, `${password}x`)).status, 200)
    assert.equal((await postLogin(api(), { email, password: `${password}x` })).status, 200)
    for (const other of [password, `${password}y`, `${password} x`])
      assert.deepEqual(codeOf(await postLogin(api(), { email, password: other })), [401, 'ERR_ADIT_90456'])
  })

  test('SEC-password-storage: is stored as a hash with a salt of its own', async () => {
    const password = secretText('stored twice')
    const hashes = [await passwordHash(password), await passwordHash(password)]
    // 128 bits of salt, 256 bits of scrypt.
    for (const hash of hashes) assert.match(hash, /^scrypt\$[\w-]{22}\$[\w-]{43}$/)
    assert.notEqual(hashes[0]?.split('$')[1], hashes[1]?.split('$')[1])
    assert.notEqual(hashes[0]?.split('$')[2], hashes[1]?.split('$')[2])
    for (const hash of hashes) assert.equal(await isPassword(password, hash), true)
    assert.equal(await isPassword(`${password}x`, hashes[0]), false)
  })

  test('SEC-password-guessing: is blocked after five wrong ones, and no answer tells which users exist', async () => {
    const { email, token } = await invited()
    const password = secretText('not guessed')
    assert.equal((await accept(token, password)).status, 200)
    const unknown = await postLogin(api(), { email: `u${Math.random()}@example.com`, password })
    for (let count = 0; count < 5; count++) {
      const answer = await postLogin(api(), { email, password: `guess ${count}` })
      assert.deepEqual(codeOf(answer), [401, 'ERR_ADIT_90456'])
      assert.equal(answer.body.msg, unknown.body.msg)
    }
    const answer = await postLogin(api(), { email, password })
    assert.deepEqual(codeOf(answer), [429, 'ERR_ADIT_90457'])
    assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
    const rejected = (await api().get(`/audit_events?principal=${email}`)).body.audit_events
    assert.equal(rejected[0].type, 'dashboard_session_rejected.v0')
    assert.equal(JSON.stringify(rejected).includes('guess'), false)
  })
})
