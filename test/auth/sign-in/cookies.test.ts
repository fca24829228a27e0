import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  cookieNames,
  joinSession,
  keepSession,
  ownCookies,
  readCookies,
  routeTag,
} from '#auth/sign-in/cookies.ts'
import { anna, Browser, cookiesOf, PAGE, ScriptedMethod, Site } from './support.ts'

function start(changed = {}, method = new ScriptedMethod()) {
  const site = new Site()
  const handler = site.handler(method, changed)
  return { site, method, handler, browser: new Browser(site, handler) }
}

suite('SEC-17: the session cookie', () => {
  test('has the __Host- prefix, Secure and HttpOnly', async () => {
    const { browser } = start()
    const cookies = cookiesOf(await browser.signIn())
    const [session] = cookies.filter(cookie => cookie.startsWith('__Host-adit.session='))
    assert.match(
      session ?? '',
      /^__Host-adit\.session=1\.[\w-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/,
    )
    assert.ok(cookies.every(cookie => !/domain=/i.test(cookie)))
  })

  test('has a plain name where there is no TLS, because a browser would refuse the other', async () => {
    const { site, browser } = start()
    site.httpsPort = undefined
    const begun = await browser.go('http://app.test/')
    const back = await browser.go(browser.callback(begun))
    const done = await browser.go(back.head.fields.get('location') ?? '')
    const session = cookiesOf(done).find(cookie => cookie.startsWith('adit.session='))
    assert.match(session ?? '', /^adit\.session=1\.[\w-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/)
    assert.equal((await browser.go('http://app.test/')).head.status, 200)
  })

  test('has the prefix of its owner', async () => {
    const { browser } = start({ cookiePrefix: 'shop.' })
    const cookies = cookiesOf(await browser.signIn())
    assert.ok(cookies.some(cookie => cookie.startsWith('__Host-shop.session=')))
    assert.equal((await browser.go('https://app.test/')).head.status, 200)
  })

  test('does not reveal its user', async () => {
    const { browser } = start()
    await browser.signIn()
    const text = Buffer.from(browser.cookieLine('app.test'), 'base64url').toString('latin1')
    assert.doesNotMatch(text + browser.cookieLine('app.test'), /anna/i)
  })

  test('is rejected at another host, endpoint, scheme or prefix', async () => {
    const { site, method, browser } = start()
    await browser.signIn()
    const fields = browser.cookieLine('app.test')
    const status = async (url: string, handler = site.handler(method), sent = fields) =>
      (await site.ask(handler, { url, fields: sent + PAGE })).head.status
    assert.equal(await status('https://app.test/'), 200)
    assert.equal(await status('https://other.test/'), 302)
    assert.equal(await status('https://sub.app.test/'), 302)
    assert.equal(await status('https://app.test/', site.handler(method, {}, { id: 'route_2' })), 302)
    assert.equal(await status('http://app.test/'), 308)
    site.httpsPort = undefined
    assert.equal(await status('http://app.test/'), 302)
    assert.equal(await status('http://app.test/', undefined, fields.replace('__Host-', '')), 302)
    const renamed = fields.replace('adit.', 'x.')
    assert.equal(
      await status('https://app.test/', site.handler(method, { cookiePrefix: 'x.' }), renamed),
      302,
    )
  })

  test('is rejected at another host although it is cached for the first', async () => {
    const { site, handler, browser } = start()
    await browser.signIn()
    const fields = browser.cookieLine('app.test') + PAGE
    const ask = async (url: string) => (await site.ask(handler, { url, fields })).head.status
    assert.equal(await ask('https://app.test/'), 200)
    assert.equal(await ask('https://app.test/'), 200)
    assert.equal(await ask('https://other.test/'), 302)
    assert.equal(await ask('http://app.test/'), 308)
    site.httpsPort = undefined
    assert.equal(await ask('http://app.test/'), 302)
  })

  test('is accepted by another process with the same key, and not with another', async () => {
    const { site, method, browser } = start()
    await browser.signIn()
    const fields = browser.cookieLine('app.test') + PAGE
    const same = new Site(Buffer.alloc(32, 7), site.book, site.clock)
    const other = new Site(Buffer.alloc(32, 8), site.book, site.clock)
    assert.equal(
      (await same.ask(same.handler(method), { url: 'https://app.test/', fields })).head.status,
      200,
    )
    assert.equal(
      (await other.ask(other.handler(method), { url: 'https://app.test/', fields })).head.status,
      302,
    )
  })

  test('is new after each sign-in, whatever the browser sent before', async () => {
    const { site, handler, browser } = start()
    await browser.signIn()
    const fixed = browser.cookieLine('app.test')
    await browser.go('https://app.test/auth/logout')
    // An attacker's cookie is in the victim's browser when the victim signs in.
    const victim = new Browser(site, handler)
    victim.jar('app.test').set('__Host-adit.session', /session=([^;\r]*)/.exec(fixed)?.[1] ?? '')
    await victim.signIn()
    assert.notEqual(victim.cookieLine('app.test'), fixed)
    assert.equal(
      (await site.ask(handler, { url: 'https://app.test/', fields: fixed + PAGE })).head.status,
      302,
    )
  })

  test('is spread over at most five, each small enough for browsers', async () => {
    const method = Object.assign(new ScriptedMethod(), { passesTokens: true })
    for (const [length, count] of [
      [100, 1],
      [3000, 2],
      [11_900, 5],
    ] as const) {
      const { site, browser } = start({}, method)
      method.granted = { ...anna, accessToken: 'x'.repeat(length) }
      const cookies = cookiesOf(await browser.signIn()).filter(cookie => cookie.includes('session'))
      assert.equal(cookies.length, count)
      assert.ok(cookies.every(cookie => cookie.length < 4000))
      assert.equal((await browser.go('https://app.test/')).head.status, 200)
      const token = site.sent[0]?.fields.get('adit-auth-oauth-access-token')
      assert.equal(token?.length ?? 0, length <= 8192 ? length : 0)
    }
  })

  test('omits its tokens when they are too long', async () => {
    const method = Object.assign(new ScriptedMethod(), { passesTokens: true })
    const { site, browser } = start({}, method)
    method.granted = { ...anna, accessToken: 'x'.repeat(7000), refreshToken: 'y'.repeat(8000) }
    const cookies = cookiesOf(await browser.signIn()).filter(cookie => cookie.includes('session'))
    assert.equal(cookies.length, 1)
    assert.equal((await browser.go('https://app.test/')).head.status, 200)
    assert.equal(site.sent[0]?.fields.get('adit-auth-user-id'), 'user-1')
    assert.equal(site.sent[0]?.fields.get('adit-auth-oauth-access-token'), undefined)
  })

  test('deletes the parts that a longer one left over', () => {
    const names = cookieNames('', 'https')
    const isOurs = ownCookies('')
    const long = keepSession('a'.repeat(15_000), names, readCookies('', isOurs), 60)
    const jar = readCookies(long.map(cookie => cookie.split(';')[0]).join('; '), isOurs)
    assert.equal(joinSession(jar, names), 'a'.repeat(15_000))
    const short = keepSession('b', names, jar, 60)
    assert.equal(short.length, 5)
    assert.equal(short.filter(cookie => cookie.includes('Max-Age=0')).length, 4)
  })

  test('is kept beside those of other routes, of which the oldest are evicted', () => {
    const isOurs = ownCookies('')
    const namesAt = (at: number) => cookieNames('', 'https', routeTag(`edghtsrt_${at}`))
    const keep = (text: string, at: number, cookies: readonly string[]): string[] => {
      const jar = new Map(cookies.map(cookie => [cookie.slice(0, cookie.indexOf('=')), cookie]))
      for (const line of keepSession(text, namesAt(at), readCookies(cookies.join('; '), isOurs), 60)) {
        const [pair = ''] = line.split(';')
        const name = pair.slice(0, pair.indexOf('='))
        if (line.includes('Max-Age=0')) jar.delete(name)
        else jar.set(name, pair)
      }
      return [...jar.values()]
    }
    const found = (cookies: readonly string[]): number[] =>
      Array.from({ length: 20 }, (_, at) => at).filter(
        at => joinSession(readCookies(cookies.join('; '), isOurs), namesAt(at)) !== undefined,
      )
    let cookies = ['__Host-adit.flow.1=x']
    for (let at = 0; at < 12; at++) cookies = keep('a'.repeat(100), at, cookies)
    assert.deepEqual(found(cookies), [4, 5, 6, 7, 8, 9, 10, 11])
    cookies = keep('a'.repeat(9000), 12, cookies)
    cookies = keep('a'.repeat(9000), 13, cookies)
    cookies = keep('a'.repeat(9000), 14, cookies)
    assert.deepEqual(found(cookies), [13, 14])
    assert.ok(cookies.join('; ').length < 20_000)
    assert.ok(cookies.includes('__Host-adit.flow.1=x'))
  })

  test('is invalid when a part is missing, or it has too many', () => {
    const names = cookieNames('', 'http')
    const read = (text: string) => joinSession(readCookies(text, ownCookies('')), names)
    assert.equal(read('adit.session=2.abc; adit.session.1=def'), 'abcdef')
    assert.equal(read('adit.session=2.abc'), undefined)
    for (const text of [
      'adit.session=9.abc',
      'adit.session=0.abc',
      'adit.session=abc',
      'adit.session=',
      'x=1',
      '',
    ])
      assert.equal(read(text), undefined)
  })

  test('is read once: of two with the same name the first counts', () => {
    const jar = readCookies('adit.session=1.first; adit.session=1.second', ownCookies(''))
    assert.equal(joinSession(jar, cookieNames('', 'http')), '1.first'.slice(2))
  })
})

suite('cookies of the gateway', () => {
  test('are not forwarded to the service, whose own are unchanged', async () => {
    const { site, browser } = start()
    await browser.go('https://app.test/unfinished')
    await browser.signIn()
    browser.jar('app.test').set('theirs', 'a b="c"')
    browser.jar('app.test').set('adit.sessions', 'also theirs')
    await browser.go('https://app.test/')
    assert.equal(site.sent[0]?.fields.get('cookie'), 'theirs=a b="c"; adit.sessions=also theirs')
    assert.equal(site.sent[0]?.fields.all('cookie').length, 1)
  })

  test('are not forwarded under the names of the other scheme either', async () => {
    const { site, browser } = start()
    await browser.signIn()
    for (const name of ['adit.session', 'adit.session.1', 'adit.flow.abc', '__Host-adit.session.4'])
      browser.jar('app.test').set(name, 'x')
    await browser.go('https://app.test/')
    assert.equal(site.sent[0]?.fields.get('cookie'), undefined)
  })

  test('cannot be set by the service', async () => {
    const { site, browser } = start()
    await browser.signIn()
    site.answer =
      'Set-Cookie: __Host-adit.session=1.forged; Path=/; Secure\r\nset-cookie:  adit.session =x\r\nX-Kept: adit.session\r\n' +
      'SET-COOKIE: adit.flow.abc=x\r\nSet-Cookie: ==adit.session=x\r\nSet-Cookie: theirs=adit.session\r\n'
    const reply = await browser.go('https://app.test/')
    assert.deepEqual(cookiesOf(reply), ['theirs=adit.session'])
    assert.equal(reply.head.fields.get('x-kept'), 'adit.session')
  })

  test('make a response private for shared caches', async () => {
    const { site, browser } = start({ inactivityTimeout: 100 })
    await browser.signIn()
    site.clock.pass(20)
    site.answer = 'Cache-Control: public, max-age=60\r\n'
    const reply = await browser.go('https://app.test/')
    assert.equal(cookiesOf(reply).length, 1)
    assert.ok(reply.head.fields.all('cache-control').includes('private'))
  })
})
