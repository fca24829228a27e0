import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { applicationSession } from '#contract/kinds/application.ts'
import { Problem } from '#base/errors.ts'
import type { AuthResult, SignInConfig } from '#auth/sign-in/sign-in.ts'
import { anna, Browser, cookiesOf, PAGE, ScriptedMethod, Site } from './support.ts'

/** A method whose provider supports revalidation. */
class Asking extends ScriptedMethod {
  checks: AuthResult[] = []
  verdict: () => Promise<AuthResult> = async () => this.granted

  constructor() {
    super()
    this.granted = { ...anna, accessToken: 'token 1', refreshToken: 'refresh 1' }
  }

  async check(authResult: AuthResult): Promise<AuthResult> {
    this.checks.push(authResult)
    return this.verdict()
  }
}

async function signedIn<Method extends ScriptedMethod>(method: Method, changed: Partial<SignInConfig> = {}) {
  const site = new Site()
  const handler = site.handler(method, changed)
  const browser = new Browser(site, handler)
  await browser.signIn()
  const status = async (chosen = handler): Promise<number> =>
    (await browser.go('https://app.test/', {}, chosen)).head.status
  assert.equal(await status(), 200)
  return { site, method, handler, browser, status }
}

suite('SEC-19: a session', () => {
  test('ends when it was not used for the inactivity timeout', async () => {
    const { site, status } = await signedIn(new ScriptedMethod(), { inactivityTimeout: 600 })
    site.clock.pass(599)
    assert.equal(await status(), 200)
    site.clock.pass(600)
    assert.equal(await status(), 302)
  })

  test('stays valid while it is used', async () => {
    const { site, status } = await signedIn(new ScriptedMethod(), { inactivityTimeout: 600 })
    for (let at = 0; at < 50; at++) {
      site.clock.pass(500)
      assert.equal(await status(), 200)
    }
  })

  test('renews its cookie at most once a minute, or in a tenth of the timeout', async () => {
    for (const [timeout, every] of [
      [3600, 60],
      [100, 10],
    ] as const) {
      const { site, browser } = await signedIn(new ScriptedMethod(), { inactivityTimeout: timeout })
      const renewals = []
      for (let second = 0; second < every * 3; second++) {
        site.clock.pass(1)
        renewals.push(cookiesOf(await browser.go('https://app.test/')).length)
      }
      assert.equal(renewals.filter(count => count > 0).length, 3)
    }
  })

  test('renews no cookie where only its whole duration is limited', async () => {
    const { site, browser } = await signedIn(new ScriptedMethod(), { maximumDuration: 7200 })
    for (let at = 0; at < 10; at++) {
      site.clock.pass(600)
      assert.deepEqual(cookiesOf(await browser.go('https://app.test/')), [])
    }
  })

  test('ends at its maximum duration, however much it is used', async () => {
    const { site, status } = await signedIn(new ScriptedMethod(), {
      maximumDuration: 3600,
      inactivityTimeout: 600,
    })
    for (let at = 0; at < 8; at++) {
      site.clock.pass(449)
      assert.equal(await status(), 200)
    }
    site.clock.pass(8)
    assert.equal(await status(), 302)
  })

  test('ends with the session at the provider', async () => {
    const method = new ScriptedMethod()
    const site = new Site()
    method.granted = { ...anna, until: site.clock.time + 300_000 }
    const browser = new Browser(site, site.handler(method))
    await browser.signIn()
    site.clock.pass(299)
    assert.equal((await browser.go('https://app.test/')).head.status, 200)
    site.clock.pass(1)
    assert.equal((await browser.go('https://app.test/')).head.status, 302)
  })

  test('follows limits that became stricter after it started', async () => {
    const { site, method, status } = await signedIn(new ScriptedMethod())
    site.clock.pass(1000)
    assert.equal(await status(site.handler(method, { maximumDuration: 999 })), 302)
  })

  test('without any limit lasts for a year and more', async () => {
    const { site, status } = await signedIn(new ScriptedMethod())
    for (let month = 0; month < 24; month++) {
      site.clock.pass(30 * 24 * 3600)
      assert.equal(await status(), 200)
    }
  })

  test('ends with the next request when its row is deleted', async () => {
    const { site, status } = await signedIn(new ScriptedMethod())
    const [id = ''] = site.book.sessionIds
    site.clock.pass(10)
    assert.equal(await status(), 200)
    site.book.remove(id)
    assert.equal(await status(), 302)
  })

  test('whose row has not arrived yet is waited for when it is new', async () => {
    const { site, method, browser } = await signedIn(new ScriptedMethod())
    const fields = browser.cookieLine('app.test')
    const [id = ''] = site.book.sessionIds
    const elsewhere = new Site(Buffer.alloc(32, 7), undefined, site.clock)
    const asked = elsewhere.ask(elsewhere.handler(method), { url: 'https://app.test/', fields })
    const row = site.book.records.get(applicationSession, id)
    assert.ok(row)
    setTimeout(() => elsewhere.book.records.changes([{ op: 'put', row }]), 20)
    assert.equal((await asked).head.status, 200)
  })

  test('is reported as used at most once a minute', async () => {
    const { site, status } = await signedIn(new ScriptedMethod())
    for (let second = 0; second < 180; second += 5) {
      site.clock.pass(5)
      assert.equal(await status(), 200)
    }
    assert.equal(site.book.uses.length, 3)
  })
})

suite('SEC-19: the provider', () => {
  const interval = 300

  test('is queried once in each interval, with its latest tokens', async () => {
    const { site, method, status } = await signedIn(new Asking(), { authCheckInterval: interval })
    site.clock.pass(interval - 1)
    assert.equal(await status(), 200)
    assert.equal(method.checks.length, 0)
    method.verdict = async () => ({ ...anna, accessToken: 'token 2' })
    site.clock.pass(1)
    assert.equal(await status(), 200)
    assert.equal(await status(), 200)
    assert.deepEqual(
      method.checks.map(({ accessToken }) => accessToken),
      ['token 1'],
    )
    site.clock.pass(interval)
    assert.equal(await status(), 200)
    assert.equal(method.checks[1]?.accessToken, 'token 2')
  })

  test('that drops a user ends the session with the next request', async () => {
    const { site, method, status, browser } = await signedIn(new Asking(), { authCheckInterval: interval })
    const held = browser.cookieLine('app.test')
    method.verdict = async () => {
      throw new Problem('oauth_not_allowed', { provider: 'Scripted', account: 'anna' })
    }
    site.clock.pass(interval + 1)
    assert.equal(await status(), 302)
    assert.equal(site.book.ends.length, 1)
    assert.deepEqual(site.book.sessionIds, [])
    const fresh = site.handler(new Asking(), { authCheckInterval: interval })
    assert.equal((await site.ask(fresh, { url: 'https://app.test/', fields: held + PAGE })).head.status, 302)
  })

  test('that returns another user ends the session', async () => {
    const { site, method, status } = await signedIn(new Asking(), { authCheckInterval: interval })
    method.verdict = async () => ({ identity: { ...anna.identity, id: 'user-2' }, accessToken: 'x' })
    site.clock.pass(interval)
    assert.equal(await status(), 302)
  })

  test('that cannot be reached ends the session only after two intervals', async () => {
    for (const error of [new Error('no route'), new Problem('sign_in_provider', { reason: 'down' })]) {
      const { site, method, status } = await signedIn(new Asking(), { authCheckInterval: interval })
      method.verdict = async () => {
        throw error
      }
      site.clock.pass(interval)
      assert.equal(await status(), 200)
      site.clock.pass(interval - 1)
      assert.equal(await status(), 200)
      site.clock.pass(1)
      assert.equal(await status(), 302)
    }
  })

  test('that is back in time keeps the session', async () => {
    const { site, method, status } = await signedIn(new Asking(), { authCheckInterval: interval })
    const good = method.verdict
    method.verdict = async () => {
      throw new Error('no route')
    }
    site.clock.pass(interval)
    assert.equal(await status(), 200)
    const tried = method.checks.length
    assert.equal(await status(), 200)
    // It is not asked with every request while it is down.
    assert.equal(method.checks.length, tried)
    method.verdict = good
    site.clock.pass(60)
    assert.equal(await status(), 200)
    site.clock.pass(interval - 1)
    assert.equal(await status(), 200)
    assert.equal(method.checks.length, tried + 1)
  })

  test('is queried once for concurrent requests', async () => {
    const { site, method, handler, browser } = await signedIn(new Asking(), { authCheckInterval: interval })
    site.clock.pass(interval)
    const fields = browser.cookieLine('app.test')
    const { promise, resolve } = Promise.withResolvers<AuthResult>()
    method.verdict = () => promise
    const asked = Array.from({ length: 20 }, () => site.ask(handler, { url: 'https://app.test/', fields }))
    setImmediate(() => resolve(method.granted))
    const replies = await Promise.all(asked)
    assert.ok(replies.every(({ head }) => head.status === 200))
    assert.equal(method.checks.length, 1)
    // A request with the older cookie does not use the older tokens again.
    await site.ask(handler, { url: 'https://app.test/', fields })
    assert.equal(method.checks.length, 1)
  })

  test('is queried when the configuration changed, and never with tokens of another provider', async () => {
    const { site, status } = await signedIn(new Asking(), { authCheckInterval: interval })
    const changed = Object.assign(new Asking(), { fingerprint: 'two' })
    const handler = site.handler(changed, { authCheckInterval: interval })
    assert.equal(await status(handler), 200)
    assert.equal(await status(handler), 200)
    assert.equal(changed.checks.length, 1)

    const moved = Object.assign(new Asking(), {
      fingerprint: 'three',
      provider: { name: 'scripted', url: 'https://elsewhere.test' },
    })
    assert.equal(await status(site.handler(moved, { authCheckInterval: interval })), 302)
    assert.equal(moved.checks.length, 0)
  })

  test('that cannot be queried requires a new sign-in when the configuration changed', async () => {
    const { site, status } = await signedIn(new ScriptedMethod())
    assert.equal(await status(site.handler(Object.assign(new ScriptedMethod(), { fingerprint: 'two' }))), 302)
  })

  test('is not queried for sessions without tokens: these end when a check is due', async () => {
    const method = new Asking()
    method.granted = { ...anna, accessToken: 'x'.repeat(30_000) }
    const { site, status } = await signedIn(method, { authCheckInterval: interval })
    site.clock.pass(interval)
    assert.equal(await status(), 302)
    assert.equal(method.checks.length, 0)
  })
})
