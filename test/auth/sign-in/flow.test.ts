import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Problem } from '#base/errors.ts'
import { answerUrl } from '#auth/sign-in/provider-response.ts'
import { IDP_INITIATED } from '#auth/sign-in/flow.ts'
import { Seal } from '#auth/sign-in/seal.ts'
import { anna, Browser, cookiesOf, locationOf, PAGE, ScriptedMethod, Site, textOf } from './support.ts'

function start(changed = {}) {
  const site = new Site()
  const method = new ScriptedMethod()
  const handler = site.handler(method, changed)
  return { site, method, handler, browser: new Browser(site, handler) }
}

suite('signing in', () => {
  test('redirects from a page to the provider, and back to the page', async () => {
    const { site, method, browser } = start()
    const begun = await browser.go('https://app.test/deep/page?q=1&r=%2F')
    assert.equal(begun.head.status, 302)
    assert.match(locationOf(begun), /^https:\/\/provider\.test\/authorize\?/)
    assert.equal(method.begun[0]?.callback, 'https://idp.gate.test/oauth2/callback')
    assert.equal(method.begun[0]?.forceReauth, false)

    const back = await browser.go(browser.callback(begun, 'code=abc'))
    assert.equal(back.head.status, 302)
    assert.match(locationOf(back), /^https:\/\/app\.test\/\.adit\/signed-in\?answer=[\w-]+$/)
    assert.equal(cookiesOf(back).length, 0)

    const done = await browser.go(locationOf(back))
    assert.equal(locationOf(done), 'https://app.test/deep/page?q=1&r=%2F')
    assert.deepEqual(method.finished[0]?.memory, { secret: 'memory 1' })
    assert.equal(method.finished[0]?.parameters.get('code'), 'abc')

    assert.equal(site.sent.length, 0)
    const page = await browser.go('https://app.test/deep/page')
    assert.equal(page.head.status, 200)
    assert.equal(site.sent.length, 1)
  })

  test('stores the user, the client address and the expiry', async () => {
    const { site, browser } = start({ maximumDuration: 3600 })
    await browser.go('https://app.test/')
    await browser.signIn()
    const [signedIn] = site.book.arrivals
    assert.deepEqual(signedIn, {
      identity: anna.identity,
      provider: { name: 'scripted', url: 'https://provider.test' },
      moduleContext: { id: 'route_1' },
      publicUrl: 'https://app.test',
      ip: '203.0.113.7',
      userAgent: '',
      expiresAt: site.clock.time + 3_600_000,
    })
  })

  test('drops method and content of the interrupted request: the browser returns with GET', async () => {
    const { site, browser } = start()
    const begun = await browser.go('https://app.test/form', { method: 'POST' })
    assert.equal(begun.head.status, 302)
    const done = await browser.go(locationOf(await browser.go(browser.callback(begun))))
    assert.equal(done.head.status, 302)
    assert.equal(locationOf(done), 'https://app.test/form')
    assert.equal(site.sent.length, 0)
  })

  const programs: Readonly<Record<string, { readonly method?: string; readonly fields: string }>> = {
    'a script of a page': { fields: 'Sec-Fetch-Mode: cors\r\nAccept: */*\r\n' },
    'a script that accepts HTML': { fields: 'Sec-Fetch-Mode: cors\r\nAccept: text/html\r\n' },
    'a script of the same origin': { fields: 'Sec-Fetch-Mode: same-origin\r\nAccept: text/html\r\n' },
    'an image': { fields: 'Sec-Fetch-Mode: no-cors\r\nAccept: image/*\r\n' },
    'a program that accepts anything': { fields: 'Accept: */*\r\n' },
    'a program that accepts JSON': { fields: 'Accept: application/json\r\n' },
    'a program that says nothing': { fields: 'User-Agent: curl/8.5\r\n' },
    'a form of a program': { method: 'POST', fields: 'Accept: */*\r\n' },
    'a change that no page makes': { method: 'PUT', fields: 'Accept: text/html\r\n' },
    'a deletion': { method: 'DELETE', fields: 'Sec-Fetch-Mode: navigate\r\nAccept: text/html\r\n' },
    'a preflight': { method: 'OPTIONS', fields: 'Sec-Fetch-Mode: cors\r\nOrigin: https://a.test\r\n' },
  }
  for (const [name, ask] of Object.entries(programs))
    test(`answers 401 to what cannot follow a redirect: ${name}`, async () => {
      const { site } = start()
      const reply = await site.ask(site.handler(new ScriptedMethod()), {
        url: 'https://app.test/data',
        ...ask,
      })
      assert.equal(reply.head.status, 401)
      assert.equal(reply.head.fields.get('adit-error-code'), 'ERR_ADIT_90110')
      assert.equal(locationOf(reply), '')
    })

  test('answers 401 to a WebSocket', async () => {
    const { browser } = start()
    assert.equal((await browser.go('https://app.test/ws', { upgrade: 'websocket' })).head.status, 401)
  })

  test('redirects page loads to the provider, also of browsers without Sec-Fetch headers', async () => {
    const { site, handler } = start()
    const accept = 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n'
    for (const fields of ['Sec-Fetch-Mode: navigate\r\n', accept, 'Accept: application/xhtml+xml\r\n'])
      for (const method of ['GET', 'HEAD', 'POST']) {
        const reply = await site.ask(handler, { url: 'https://app.test/', method, fields })
        assert.equal(reply.head.status, 302)
      }
  })

  test('allows OPTIONS only if configured, and without an identity', async () => {
    const passing = start({ optionsPassthrough: true })
    const fields = 'Adit-Auth-User-Id: admin\r\nX-Other: 1\r\nCookie: mine=1\r\n'
    assert.equal(
      (await passing.browser.go('https://app.test/', { method: 'OPTIONS', fields })).head.status,
      200,
    )
    assert.equal(passing.site.sent[0]?.fields.text, 'X-Other: 1\r\nCookie: mine=1\r\n')
    assert.equal((await passing.browser.go('https://app.test/', { method: 'GET' })).head.status, 302)
    assert.equal((await start().browser.go('https://app.test/', { method: 'OPTIONS' })).head.status, 401)
  })

  test('requests reauthentication at /auth/authn, and redirects back to "/"', async () => {
    const { browser, method } = start()
    await browser.signIn('https://app.test/somewhere')
    const begun = await browser.go('https://app.test/auth/authn')
    assert.equal(method.begun[1]?.forceReauth, true)
    const done = await browser.go(locationOf(await browser.go(browser.callback(begun))))
    assert.equal(locationOf(done), 'https://app.test/')
  })

  test('keeps the session while the user signs in again, and replaces it then', async () => {
    const { site, browser } = start()
    await browser.signIn()
    const [first] = site.book.sessionIds
    const begun = await browser.go('https://app.test/auth/authn')
    assert.equal((await browser.go('https://app.test/')).head.status, 200)
    await browser.go(locationOf(await browser.go(browser.callback(begun))))
    assert.equal(site.book.sessionIds.length, 1)
    assert.notEqual(site.book.sessionIds[0], first)
    assert.equal((await browser.go('https://app.test/')).head.status, 200)
  })

  test('ends at /auth/logout, with a confirmation page', async () => {
    const { site, browser } = start()
    await browser.signIn()
    const held = browser.cookieLine('app.test')
    const out = await browser.go('https://app.test/auth/logout', { fields: 'Accept: text/html\r\n' })
    assert.equal(out.head.status, 200)
    assert.match(textOf(out), /You are signed out of app\.test.*href="\/auth\/authn"/s)
    assert.equal(browser.cookieLine('app.test'), '')
    assert.equal(site.book.ends.length, 1)
    const fields = held + PAGE
    const replayed = await site.ask(site.handler(new ScriptedMethod()), { url: 'https://app.test/', fields })
    assert.equal(replayed.head.status, 302)
  })

  test('shows why a user is rejected, and creates no session', async () => {
    const { site, method, browser } = start()
    method.finish = async () => {
      throw new Problem('oauth_not_allowed', { provider: 'Scripted', account: 'anna' })
    }
    const refused = await browser.signIn()
    assert.equal(refused.head.status, 403)
    assert.equal(refused.head.fields.get('adit-error-code'), 'ERR_ADIT_3105')
    assert.deepEqual(site.book.sessionIds, [])
    assert.equal(browser.cookieLine('app.test'), '')
  })

  test('shows that the provider cannot be used when the method fails in another way', async () => {
    const { method, browser } = start()
    method.begin = async () => {
      throw new Error('secret detail')
    }
    const failed = await browser.go('https://app.test/')
    assert.equal(failed.head.status, 502)
    assert.doesNotMatch(textOf(failed), /secret detail/)
  })

  test('shows an error when the session cannot be stored', async () => {
    const { site, browser } = start()
    site.book.signedIn = async () => {
      throw new Error('the store is down')
    }
    assert.equal((await browser.signIn()).head.status, 503)
    assert.equal((await browser.go('https://app.test/')).head.status, 302)
  })

  test('refuses an identity without an id, or with one that is too long', async () => {
    for (const id of ['', 'x'.repeat(513)]) {
      const { method, browser } = start()
      method.granted = { identity: { ...anna.identity, id } }
      assert.equal((await browser.signIn()).head.status, 403)
    }
  })

  test('waits for the row of a new session', async () => {
    const { site, browser } = start()
    site.book.holdsBack = true
    const done = browser.signIn()
    setTimeout(() => site.book.letGo(), 50)
    assert.equal((await done).head.status, 302)
    assert.equal((await browser.go('https://app.test/')).head.status, 200)
  })
})

suite('SEC-15: a state', () => {
  test('is bound to the browser that started the sign-in', async () => {
    const { site, handler, browser, method } = start()
    const begun = await browser.go('https://app.test/')
    const other = new Browser(site, handler)
    const back = await other.go(browser.callback(begun))
    const refused = await other.go(locationOf(back))
    assert.equal(refused.head.status, 400)
    assert.equal(refused.head.fields.get('adit-error-code'), 'ERR_ADIT_3107')
    assert.equal(method.finished.length, 0)
  })

  test('does not match the cookie of another flow of the same browser', async () => {
    const { site, handler, browser, method } = start()
    const one = await browser.go('https://app.test/one')
    await browser.go('https://app.test/two')
    const names = [...browser.jar('app.test').keys()].toSorted()
    const values = names.map(name => browser.jar('app.test').get(name))
    // The cookie of the second flow under the name of the first.
    const crossed = `Cookie: ${names[0]}=${values[1]}\r\n`
    const back = locationOf(await browser.go(browser.callback(one)))
    const refused = await site.ask(handler, { url: back, fields: crossed })
    assert.equal(refused.head.status, 400)
    assert.equal(method.finished.length, 0)
  })

  test('is valid once, even if the browser keeps its cookie', async () => {
    const { site, handler, browser, method } = start()
    const begun = await browser.go('https://app.test/')
    const back = locationOf(await browser.go(browser.callback(begun)))
    const fields = browser.cookieLine('app.test')
    assert.equal((await site.ask(handler, { url: back, fields })).head.status, 302)
    assert.equal((await site.ask(handler, { url: back, fields })).head.status, 400)
    assert.equal(method.finished.length, 1)
  })

  test('of a user who is already signed in only redirects to the page', async () => {
    const { browser, method } = start()
    const begun = await browser.go('https://app.test/page')
    const back = locationOf(await browser.go(browser.callback(begun)))
    await browser.go(back)
    const again = await browser.go(back)
    assert.equal(locationOf(again), 'https://app.test/page')
    assert.equal(method.finished.length, 1)
  })

  test('is refused after 15 minutes', async () => {
    const { site, browser } = start()
    const begun = await browser.go('https://app.test/')
    site.clock.pass(15 * 60)
    const refused = await browser.go(browser.callback(begun))
    assert.equal(refused.head.status, 400)
    assert.equal(refused.head.fields.get('adit-error-code'), 'ERR_ADIT_3106')
  })

  test('is refused at another route or another host', async () => {
    const { site, browser, method } = start()
    const begun = await browser.go('https://app.test/')
    const back = locationOf(await browser.go(browser.callback(begun)))
    const elsewhere = site.handler(method, {}, { id: 'route_2' })
    assert.equal((await browser.go(back, {}, elsewhere)).head.status, 400)
    const fields = browser.cookieLine('app.test')
    const moved = back.replace('https://app.test', 'https://other.test')
    assert.equal((await site.ask(elsewhere, { url: moved, fields })).head.status, 400)
    assert.equal(method.finished.length, 0)
  })

  test('is refused when the method was changed meanwhile', async () => {
    const { site, browser, method } = start()
    const begun = await browser.go('https://app.test/')
    const back = locationOf(await browser.go(browser.callback(begun)))
    const other = new ScriptedMethod()
    other.fingerprint = 'two'
    const refused = await browser.go(back, {}, site.handler(other))
    assert.equal(refused.head.fields.get('adit-error-code'), 'ERR_ADIT_3120')
    assert.equal(method.finished.length + other.finished.length, 0)
  })

  test('is refused when it is repeated in the query', async () => {
    const { browser } = start()
    const begun = await browser.go('https://app.test/')
    const url = browser.callback(begun)
    assert.equal((await browser.go(`${url}&state=x`)).head.status, 400)
    const back = locationOf(await browser.go(url))
    assert.equal((await browser.go(`${back}&answer=x`)).head.status, 400)
  })

  test('without a flow is accepted only where the provider may initiate it', async () => {
    const { site, browser, method } = start()
    const seal = new Seal(Buffer.alloc(32, 7), { now: site.clock.now })
    const state = {
      realmId: 'route_1',
      origin: 'https://app.test',
      returnTo: '/there',
      flowId: IDP_INITIATED,
    }
    const url = answerUrl(seal, { state, parameters: new URLSearchParams() }) ?? ''
    assert.equal((await browser.go(url)).head.status, 400)
    const willing = Object.assign(new ScriptedMethod(), { allowsIdpInitiated: true })
    const done = await browser.go(url, {}, site.handler(willing))
    assert.equal(locationOf(done), 'https://app.test/there')
    assert.equal(method.finished.length, 0)
    assert.deepEqual(willing.finished[0]?.memory, {})
  })
})

suite('the callback host', () => {
  test('redirects nowhere without a valid state', async () => {
    const { browser } = start()
    for (const query of ['', '?code=a', '?state=', '?state=abc', '?state=https://evil.test/'])
      assert.equal((await browser.go(`https://idp.gate.test/oauth2/callback${query}`)).head.status, 400)
  })

  test('forwards a response of any length, or reports that it is too long', async () => {
    const { site, handler } = start()
    const page = `https://app.test/${'p'.repeat(2000)}`
    for (const [length, status] of [
      [100, 302],
      [4000, 302],
      [8000, 502],
    ] as const) {
      const browser = new Browser(site, handler)
      const begun = await browser.go(page)
      const back = await browser.go(browser.callback(begun, `code=${'c'.repeat(length)}`))
      assert.equal(back.head.status, status)
      assert.ok(new URL(locationOf(back) || page).href.length < 8192 + 'https://app.test'.length)
      if (status === 302) assert.equal((await browser.go(locationOf(back))).head.status, 302)
    }
  })

  test('has no other pages', async () => {
    const { site, browser } = start()
    const reply = await browser.go('https://idp.gate.test/')
    assert.equal(reply.head.status, 404)
    assert.equal(site.sent.length, 0)
  })

  test('is no other host', () => {
    const { site } = start()
    const { head } = { head: { host: 'app.idp.gate.test' } }
    assert.equal(site.signIn.callbackHandler({ ...head } as never), undefined)
  })

  test('redirects to HTTPS first', async () => {
    const { browser } = start()
    const reply = await browser.go('http://idp.gate.test/oauth2/callback?code=1')
    assert.equal(reply.head.status, 308)
    assert.equal(locationOf(reply), 'https://idp.gate.test/oauth2/callback?code=1')
  })
})

suite('the cookies of flows', () => {
  test('are at most five: the oldest are evicted', async () => {
    const { site, browser } = start()
    for (let at = 0; at < 8; at++) {
      await browser.go(`https://app.test/${at}`)
      site.clock.pass(1)
      assert.ok(browser.jar('app.test').size <= 5)
    }
    assert.equal(browser.jar('app.test').size, 5)
  })

  test('each return to their own page', async () => {
    const { site, browser } = start()
    const begun = []
    for (const page of ['one', 'two', 'three']) {
      begun.push(await browser.go(`https://app.test/${page}`))
      site.clock.pass(1)
    }
    const [, second] = begun
    assert.ok(second)
    const done = await browser.go(locationOf(await browser.go(browser.callback(second))))
    assert.equal(locationOf(done), 'https://app.test/two')
  })
})
