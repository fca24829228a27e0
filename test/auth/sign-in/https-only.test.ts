import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { World } from '../../e2e/edges/world.ts'
import { head, readAnswer, sentPlain } from '../../e2e/edges/security/support.ts'
import { HostileProvider } from '../oidc/hostile-provider.ts'
import { Browser, cookiesOf, locationOf, ScriptedMethod, Site } from './support.ts'

function start() {
  const site = new Site()
  const handler = site.handler(new ScriptedMethod())
  return { site, handler, browser: new Browser(site, handler) }
}

suite('sign-in without TLS', () => {
  test('redirects to the same URL over HTTPS, whatever the request is', async () => {
    const { site, browser } = start()
    const asks = [
      { url: 'http://app.test/page?x=1', to: 'https://app.test/page?x=1' },
      { url: 'http://app.test/auth/authn', to: 'https://app.test/auth/authn' },
      { url: 'http://app.test/auth/logout', to: 'https://app.test/auth/logout' },
      { url: 'http://app.test/.adit/signed-in?answer=x', to: 'https://app.test/.adit/signed-in?answer=x' },
      { url: 'http://app.test/data', to: 'https://app.test/data', fields: 'Sec-Fetch-Mode: cors\r\n' },
      { url: 'http://app.test//evil.test/', to: 'https://app.test//evil.test/' },
    ]
    for (const { url, to, ...ask } of asks) {
      const reply = await browser.go(url, ask)
      assert.deepEqual([reply.head.status, locationOf(reply)], [308, to])
      assert.deepEqual(cookiesOf(reply), [])
    }
    assert.deepEqual(site.sent, [])
  })

  test('names the port of the listener', async () => {
    const { site, browser } = start()
    site.httpsPort = 8443
    assert.equal(locationOf(await browser.go('http://app.test/')), 'https://app.test:8443/')
  })

  test('is refused where the host does not require sign-in by HTTPS', async () => {
    const { site, browser } = start()
    site.realmAt = scheme => (scheme === 'http' ? 'route_1' : undefined)
    const reply = await browser.go('http://app.test/')
    assert.deepEqual([reply.head.status, reply.refusal], [403, 'sign_in_https'])
    assert.deepEqual(cookiesOf(reply), [])
    assert.deepEqual(site.sent, [])
  })

  test('ignores an injected session cookie', async () => {
    const { site, handler, browser } = start()
    site.httpsPort = undefined
    const begun = await browser.go('http://app.test/')
    await browser.go(locationOf(await browser.go(browser.callback(begun))))
    const planted = browser.cookieLine('app.test')
    assert.equal((await site.ask(handler, { url: 'http://app.test/', fields: planted })).head.status, 200)
    site.httpsPort = 443
    assert.equal((await site.ask(handler, { url: 'http://app.test/', fields: planted })).head.status, 308)
    assert.equal(site.sent.length, 1)
  })
})

suite('endpoints of an agent with sign-in', () => {
  test('are not served without TLS', async () => {
    await using world = await World.start()
    await using provider = await HostileProvider.start()
    const oidc = { issuerUrl: provider.issuer, clientId: 'client-1' }
    const forwardTo = await world.service((_, response) => response.end('the service'))
    const agent = await world.agent()
    await agent.listen({ proto: 'http', domain: 'only.adit.localhost', forwardTo, oidc })
    for (const proto of ['http', 'https'] as const)
      await agent.listen({ proto, domain: 'both.adit.localhost', forwardTo, oidc })
    const port = world.server.bound.http?.port ?? 0
    const ask = async (host: string) =>
      readAnswer(await sentPlain(port, head('/x?y=1', host, 'Accept: text/html\r\n')))
    const refused = await ask('only.adit.localhost')
    assert.equal(refused.status, 403)
    assert.equal(refused.headers.get('adit-error-code'), 'ERR_ADIT_90244')
    const moved = await ask('both.adit.localhost')
    assert.equal(moved.status, 308)
    const secure = `https://both.adit.localhost:${world.server.bound.https?.port}`
    assert.equal(moved.headers.get('location'), `${secure}/x?y=1`)
    assert.equal(moved.headers.get('set-cookie'), undefined)
  })
})
