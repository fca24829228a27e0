import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { launchChromium } from '../../support/chromium.ts'
import { until } from '../../support/until.ts'
import type { EdgeBrowser } from '../oidc/openid-provider.ts'
import { ann } from '../providers/support.ts'
import { sharedKeys } from '../saml/support.ts'
import { HOST, locationOf, pairsOf, RoutesSite, seenIn } from './routes-site.ts'

const keys = await sharedKeys()

suite('a route with several ways to sign in', () => {
  let site: RoutesSite
  before(async () => {
    site = await RoutesSite.start(keys, { workers: '2' })
    await site.learn('/any')
  })
  after(() => site[Symbol.asyncDispose]())

  /** The links of the page to choose from, as a client gets them at some path of the route. */
  const choices = async (surfer: EdgeBrowser, target = '/any'): Promise<[text: string, url: string][]> => [
    ...site.linksIn(await surfer.go(site.url + target)),
  ]

  test('offers every provider on a page without scripts, and each signs in', async () => {
    const users: (string | undefined)[] = []
    const offered = await choices(site.browser(), '/any/deep?x=1')
    const host = new URL(site.openid.issuer).host
    const idp = new URL(/entityID="([^"]+)"/.exec(site.saml.metadata)?.[1] ?? '').host
    assert.deepEqual(
      offered.map(([text]) => text),
      ['Sign in with GitLab', `Sign in with ${host}`, `Sign in with ${idp}`],
    )
    for (const at of offered.keys()) {
      const surfer = site.browser()
      const url = (await choices(surfer, '/any/deep?x=1'))[at]?.[1] ?? ''
      const page = await surfer.signIn(url, 'anna')
      assert.equal(page.url, `${site.url}/any/deep?x=1`, page.text)
      users.push(seenIn(page).user)
      surfer.path.length = 0
      await surfer.go(`${site.url}/any`)
      assert.deepEqual(surfer.path, [`${HOST}/any`])
    }
    assert.deepEqual(users, [ann.id, 'anna', 'u-1'])
    assert.equal(await site.sessionsAt('/any'), 3)
  })

  test('replaces the session when the user signs in with another provider', async () => {
    const surfer = site.browser()
    const count = await site.sessionsAt('/any')
    for (const at of [0, 1]) {
      const again = `/auth/authn?route=${site.idOf('/any')}`
      const url = (await choices(surfer, again))[at]?.[1] ?? ''
      assert.equal((await surfer.signIn(url, 'anna')).url, `${site.url}/`)
    }
    assert.equal(seenIn(await surfer.go(`${site.url}/any`)).user, 'anna')
    assert.equal(await site.sessionsAt('/any'), count + 1)
  })

  test('SEC-16 redirects from the chooser to no URL that a link to it names', async () => {
    const [, to = ''] = /to=([\w-]+)/.exec(locationOf(await site.visit('/any/deep')).search) ?? []
    // The bits of the last character need not count, those of the first do.
    const altered = (to.startsWith('A') ? 'B' : 'A') + to.slice(1)
    const forged = ['https://evil.test/', '//evil.test', altered, 'x']
    const route = site.idOf('/any')
    for (const place of forged) {
      const names = ['to', 'return_to', 'next', 'url', 'redirect_uri', 'state']
      const query = names.map(name => `${name}=${encodeURIComponent(place)}`).join('&')
      const url = `${site.url}/.adit/sign-in?route=${route}&${query}`
      const shown = await site.browser().go(url)
      assert.deepEqual([shown.status, site.linksIn(shown).size], [200, 3])
      const links = [...site.linksIn(shown).values()]
      assert.ok(links.every(link => link.startsWith(`${site.url}/.adit/sign-in?route=${route}&`)))
      const page = await site.browser().signIn(`${url}&with=oidc`, 'anna')
      assert.equal(page.url, `${site.url}/`)
    }
    // What was made for another route or with another provider does not count either.
    const other = await site.visit(`/.adit/sign-in?route=${site.idOf('/admin')}&to=${to}&with=saml`)
    assert.equal(locationOf(other).origin, site.openid.issuer)
    const unknown = await site.visit(`/.adit/sign-in?route=${route}&to=${to}&with=constructor`)
    assert.equal(unknown.status, 200)
  })

  test('SEC-15 finishes a sign-in only in the browser that chose', async () => {
    const route = site.idOf('/any')
    const begun = await site.visit(`/.adit/sign-in?route=${route}&with=oauth.gitlab`)
    const target = await site.returned(begun)
    const other = pairsOf(await site.visit(`/.adit/sign-in?route=${route}&with=oauth.gitlab`))
    const count = (await site.sessions()).length
    for (const cookie of ['', other]) assert.equal((await site.visit(target, cookie)).code, 'ERR_ADIT_3107')
    assert.equal((await site.sessions()).length, count)
    assert.equal((await site.visit(target, pairsOf(begun))).status, 302)
  })

  test('answers programs with 401, at every path', async () => {
    for (const target of ['/any', `/.adit/sign-in?route=${site.idOf('/any')}&with=oidc`]) {
      const got = await site.world.ask(HOST + target, { headers: { accept: 'application/json' } })
      assert.deepEqual([got.status, got.code], [401, 'ERR_ADIT_90110'])
    }
  })

  test('SAML-17 the provider may begin, at the route of its consumer URL and no other', async () => {
    for (const [path, other] of [
      ['/team', '/any'],
      ['/any', '/team'],
    ] as const) {
      await site.learn(path)
      const surfer = site.browser()
      const form = await site.saml.form('', `${site.url}${path}/start`)
      const page = await surfer.finish({ status: 200, text: form, url: site.url, code: undefined }, '')
      assert.equal(page.url, `${site.url}${path}/start`, page.text)
      assert.equal(seenIn(page).user, 'u-1')
      assert.equal((await site.visit(other, surfer.cookies(HOST))).status, 302)
    }
  })

  test('SAML sign-out at the provider ends the session of one route', async () => {
    const surfer = site.browser()
    for (const path of ['/team', '/any']) {
      await site.learn(path)
      const form = await site.saml.form('', `${site.url}${path}`)
      await surfer.finish({ status: 200, text: form, url: site.url, code: undefined }, '')
    }
    await site.learn('/team')
    await surfer.go(site.saml.signOutUrl())
    await until(() => site.visit('/team', surfer.cookies(HOST)), { fits: ({ status }) => status === 302 })
    assert.equal((await site.visit('/any', surfer.cookies(HOST))).status, 200)
  })

  test('works in a real browser, by keyboard and under the policy of the page', async () => {
    await using browser = await launchChromium('--host-resolver-rules=MAP *.test 127.0.0.1')
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
    page.setDefaultTimeout(120_000)
    const complaints: string[] = []
    // A browser may also complain that the site has no icon.
    page.on('console', message => {
      if (/security policy/i.test(message.text())) complaints.push(message.text())
    })
    await page.goto(`${site.url}/any/deep`)
    assert.equal(await page.textContent('h1'), 'Sign in')
    assert.equal((await page.textContent('footer'))?.trim(), 'Adit')
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Sign in with GitLab')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${site.url}/any/deep`)
    assert.match(await page.content(), new RegExp(`"user":"${ann.id}"`))
    assert.deepEqual(complaints, [])
  })
})
