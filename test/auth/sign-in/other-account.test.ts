import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Problem } from '#base/errors.ts'
import type { Reply } from '#http/exchange.ts'
import type { AuthResult } from '#auth/sign-in/sign-in.ts'
import { anna, Browser, cookiesOf, locationOf, offerOf, ScriptedMethod, Site, textOf } from './support.ts'

const bob: AuthResult = { identity: { ...anna.identity, id: 'user-2', username: 'bob' } }

/** A provider with an account that is not allowed, unless the user chooses another one. */
class Picky extends ScriptedMethod {
  allows = false

  override async finish(answer: Parameters<ScriptedMethod['finish']>[0]): Promise<AuthResult> {
    if (!this.allows) throw new Problem('oauth_not_allowed', { provider: 'Provider', account: 'x@y.test' })
    return super.finish(answer)
  }
}

function start(...methods: readonly ScriptedMethod[]) {
  const site = new Site()
  const offers = methods.map((method, at) => offerOf(method, {}, { key: `m${at}`, title: `Provider ${at}` }))
  return { site, browser: new Browser(site, site.signIn.handler(offers, { id: 'route_1' })) }
}

const linkIn = (page: Reply): string => {
  const [, href = ''] = /<a href="([^"]+)">Sign in with another account</.exec(textOf(page)) ?? []
  return href.replaceAll('&amp;', '&')
}
const HTML = { fields: 'Sec-Fetch-Mode: navigate\r\nAccept: text/html\r\n' }

/** From a redirect to the provider to the last response at the endpoint. */
const finished = async (browser: Browser, begun: Reply): Promise<Reply> =>
  browser.go(locationOf(await browser.go(browser.callback(begun))), HTML)

suite('a user whose account is not allowed', () => {
  test('can sign in with another one, and gets the requested page', async () => {
    const method = new Picky()
    const { site, browser } = start(method)
    const page = await finished(browser, await browser.go('https://app.test/deep?x=1'))
    assert.equal(page.head.status, 403)
    method.allows = true
    const begun = await browser.go(linkIn(page))
    assert.deepEqual([method.begun[1]?.forceReauth, method.begun[1]?.chooseAccount], [true, true])
    assert.equal(locationOf(await finished(browser, begun)), 'https://app.test/deep?x=1')
    assert.equal((await browser.go('https://app.test/')).head.status, 200)
    assert.equal(site.book.sessionIds.length, 1)
  })

  test('gets the page again for each such account, and is never redirected in a circle', async () => {
    const { site, browser } = start(new Picky())
    let page = await finished(browser, await browser.go('https://app.test/deep'))
    for (let again = 0; again < 3; again++) {
      assert.deepEqual([page.head.status, locationOf(page)], [403, ''])
      page = await finished(browser, await browser.go(linkIn(page)))
    }
    assert.deepEqual(site.book.sessionIds, [])
  })

  test('can choose another provider, too', async () => {
    const other = new ScriptedMethod()
    const { browser } = start(new Picky(), other)
    const chooser = await browser.go(locationOf(await browser.go('https://app.test/deep')), HTML)
    const [, first = ''] = /<a href="([^"]+)">Sign in with Provider 0</.exec(textOf(chooser)) ?? []
    const begun = await browser.go(`https://app.test${first.replaceAll('&amp;', '&')}`)
    const page = await browser.go(linkIn(await finished(browser, begun)), HTML)
    const [, second = ''] = /<a href="([^"]+)">Sign in with Provider 1</.exec(textOf(page)) ?? []
    const chosen = await browser.go(`https://app.test${second.replaceAll('&amp;', '&')}`)
    assert.equal(other.begun[0]?.chooseAccount, true)
    assert.equal(locationOf(await finished(browser, chosen)), 'https://app.test/deep')
  })

  test('keeps an earlier session until then; a link from elsewhere ends nothing', async () => {
    const method = new Picky()
    const { site, browser } = start(method)
    const link = linkIn(await finished(browser, await browser.go('https://app.test/')))
    method.allows = true
    const victim = new Browser(site, site.handler(method))
    await victim.signIn()
    const before = [...victim.jar('app.test').keys()]
    const begun = await victim.go(link)
    assert.ok(cookiesOf(begun).every(cookie => !before.some(name => cookie.startsWith(`${name}=`))))
    assert.deepEqual(site.book.ends, [])
    assert.equal((await victim.go('https://app.test/')).head.status, 200)
  })

  test('gets a new session that replaces the earlier one', async () => {
    const method = new Picky()
    method.allows = true
    const { site, browser } = start(method)
    await browser.signIn()
    const [first] = site.book.sessionIds
    method.allows = false
    const page = await finished(browser, await browser.go('https://app.test/auth/authn'))
    method.allows = true
    method.granted = bob
    await finished(browser, await browser.go(linkIn(page)))
    assert.deepEqual(site.book.ends, [first])
    assert.equal(site.book.sessionIds.length, 1)
  })
})
