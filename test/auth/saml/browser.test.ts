import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { World } from '../../e2e/edges/world.ts'
import { launchChromium } from '../../support/chromium.ts'
import { Provider } from './provider.ts'
import { sharedKeys } from './support.ts'

const HOST = 'app.example.test'

/** Metadata of a provider, and whether it takes the request as a form. */
const providers: Readonly<Record<string, (metadata: string) => string>> = {
  'by redirect': metadata => metadata,
  'by a form': metadata =>
    metadata.replace(/(SingleSignOnService Binding="[^"]*:)HTTP-Redirect/, '$1HTTP-POST'),
}

suite('SAML in a real browser', () => {
  for (const [way, metadataOf] of Object.entries(providers)) {
    // The provider's form comes from another site: whether cookies of the endpoint are there after it is up to browsers.
    test(`a browser that is sent to the provider ${way} signs in, and stays signed in`, async () => {
      const keys = await sharedKeys()
      await using world = await World.start()
      await using provider = await Provider.start(keys.idp)
      const echo = await world.static((request, response) => response.end(JSON.stringify(request.headers)))
      const edge = await world.edge([HOST])
      const saml = { idp_metadata: metadataOf(provider.metadata) }
      const route = await world.route(edge, '/', echo, { saml })
      const { body } = await world.server.api.get(`/edges/https/${edge}/routes/${route}`)
      const { hostname, pathname } = new URL(String(body.saml.metadata_url))
      provider.learn((await world.ask(hostname + pathname)).text)

      await using browser = await launchChromium('--host-resolver-rules=MAP * 127.0.0.1')
      const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
      page.setDefaultTimeout(120_000)
      const home = `https://${HOST}:${world.server.bound.https?.port}`
      await page.goto(`${home}/page?x=1`)
      await page.waitForURL(/^http:\/\/127\.0\.0\.1:\d+\/sso/)
      await Promise.all([
        page.waitForURL(`${home}/page?x=1`),
        // Text, because this project has no types of browsers.
        page.evaluate('document.forms[0].submit()'),
      ])
      assert.match(await page.content(), /"ngrok-auth-user-id":"u-1"/)
      await page.goto(`${home}/again`)
      assert.equal(page.url(), `${home}/again`)
    })
  }
})
