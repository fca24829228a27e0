import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { returnTarget, returnUrl } from '#auth/sign-in/flow.ts'
import { Browser, locationOf, ScriptedMethod, Site } from './support.ts'

const ORIGIN = 'https://app.test'

/** What leads elsewhere in one browser or another when a site redirects to it carelessly. */
const hosts = [
  'evil.test',
  'evil.test:8443',
  'app.test.evil.test',
  'app.test@evil.test',
  '[::1]',
  '2130706433',
]
const shapes = [
  'https://HOST/',
  'http://HOST/',
  '//HOST/',
  '///HOST/',
  '////HOST/',
  '/\\HOST/',
  '\\\\HOST/',
  '/\t/HOST/',
  '/%09/HOST/',
  '/%2f%2fHOST/',
  '/%5cHOST/',
  'https:HOST/',
  'https:/HOST/',
  '/.HOST/',
  '/..//HOST/',
  '@HOST/',
  '/@HOST/',
  ':80@HOST/',
]
const single = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'file:///etc/passwd',
  '.evil.test',
  '',
  '*',
  '?next=//evil.test',
  '/?next=//evil.test',
  '/\r\nLocation: https://evil.test/',
  '/\u0000//evil.test',
]
const payloads = [...hosts.flatMap(host => shapes.map(shape => shape.replace('HOST', host))), ...single]

suite('SEC-16: there are no open redirects', () => {
  test('the table is as long as it must be', () => {
    assert.ok(payloads.length >= 120, String(payloads.length))
  })

  for (const payload of payloads)
    test(`by returning to ${JSON.stringify(payload)}`, () => {
      const url = returnUrl({ origin: ORIGIN, returnTo: payload })
      assert.equal(new URL(url).origin, ORIGIN)
      assert.ok(url.startsWith(`${ORIGIN}/`))
      assert.doesNotMatch(url, /[\r\n\0]/)
      const withPort = returnUrl({ origin: 'http://app.test:8080', returnTo: returnTarget(payload) })
      assert.equal(new URL(withPort).host, 'app.test:8080')
    })

  test('by the requested URL, through a whole sign-in', async () => {
    const site = new Site()
    const handler = site.handler(new ScriptedMethod())
    for (const payload of payloads.filter(each => each.startsWith('/') && !/[\r\n\0\t]/.test(each))) {
      const browser = new Browser(site, handler)
      const done = await browser.signIn(`${ORIGIN}${payload}`)
      assert.equal(new URL(locationOf(done)).origin, ORIGIN, payload)
    }
  })

  test('by parameters of log-in, log-out and the end of a sign-in', async () => {
    const site = new Site()
    const handler = site.handler(new ScriptedMethod())
    const names = [
      'redirect',
      'redirect_path',
      'return_to',
      'next',
      'state',
      'rd',
      'url',
      'origin',
      'RelayState',
    ]
    for (const payload of payloads) {
      const browser = new Browser(site, handler)
      const query = names.map(name => `${name}=${encodeURIComponent(payload)}`).join('&')
      const begun = await browser.go(`${ORIGIN}/auth/authn?${query}`)
      const done = await browser.go(locationOf(await browser.go(browser.callback(begun))))
      assert.equal(locationOf(done), `${ORIGIN}/`)
      assert.equal(locationOf(await browser.go(`${ORIGIN}/auth/logout?${query}`)), '')
      assert.equal(locationOf(await browser.go(`${ORIGIN}/.adit/signed-in?${query}`)), '')
      assert.equal(locationOf(await browser.go(`https://idp.gate.test/oauth2/callback?${query}`)), '')
    }
  })

  test('by the Host header: the port is that of the listener', async () => {
    const site = new Site()
    const browser = new Browser(site, site.handler(new ScriptedMethod()))
    const begun = await browser.go('https://app.test:6666/')
    assert.match(
      locationOf(await browser.go(browser.callback(begun))),
      /^https:\/\/app\.test\/\.adit\/signed-in\?/,
    )
  })

  test('by a URL that is too long: "/" is used instead', async () => {
    const site = new Site()
    const browser = new Browser(site, site.handler(new ScriptedMethod()))
    const done = await browser.signIn(`${ORIGIN}/${'x'.repeat(4000)}`)
    assert.equal(locationOf(done), `${ORIGIN}/`)
  })
})
