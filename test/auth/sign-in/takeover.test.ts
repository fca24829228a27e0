import assert from 'node:assert/strict'
import { createServer as createTlsServer } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { connect } from '#agent/index.ts'
import { selfSignedCertificate } from '#pki/self-signed.ts'
import { optionsFor } from '../../agent/support.ts'
import { World } from '../../e2e/edges/world.ts'
import { secretText } from '../../support/secrets.ts'
import { ProviderServer } from '../providers/provider-server.ts'
import { CLIENT } from '../providers/provider-shapes.ts'
import { ann } from '../providers/support.ts'
import { HostileProvider } from '../oidc/hostile-provider.ts'
import { OpenIdProvider, EdgeBrowser } from '../oidc/openid-provider.ts'
import { workerCounts } from '../../support/workers.ts'

const DOMAIN = 'gate.test'
const SHOP = `shop.${DOMAIN}`
const EVIL = `evil.${DOMAIN}`
const HTML = { accept: 'text/html' }

/** A victim's endpoint, an attacker's endpoint, and the provider that the victim uses. */
class Scene implements AsyncDisposable {
  readonly world: World
  readonly provider: OpenIdProvider
  readonly site: string
  /** The targets of all requests that the attacker's services got. */
  readonly captured: string[] = []
  /** What the victim's service learned of its clients. */
  readonly served: (string | undefined)[] = []
  readonly #closers: (() => Promise<unknown>)[] = []

  constructor(world: World, provider: OpenIdProvider) {
    this.world = world
    this.provider = provider
    this.site = `https://${SHOP}:${world.server.bound.https?.port}`
  }

  static async start(kind: 'oauth' | 'oidc', settings: Record<string, string> = {}): Promise<Scene> {
    const gitlab = await ProviderServer.start('gitlab', ann)
    const world = await World.start({ domain: DOMAIN, oauth_gitlab_url: gitlab.url, ...settings })
    const callback = `https://idp.${DOMAIN}:${world.server.bound.https?.port}/oauth2/callback`
    gitlab.callback = callback
    const scene = new Scene(world, await OpenIdProvider.start(callback))
    scene.closing(() => gitlab[Symbol.asyncDispose]())
    const forwardTo = await world.service(({ headers }, response) => {
      scene.served.push(headers['adit-auth-user-id'] as string | undefined)
      response.end('the shop')
    })
    const clientSecret = secretText('openid client')
    const modules = {
      oidc: { oidc: { issuerUrl: scene.provider.issuer, clientId: 'adit', clientSecret } },
      oauth: { oauth: { provider: 'gitlab', clientId: CLIENT.id, clientSecret: CLIENT.secret } },
    }
    await (await world.agent()).listen({ proto: 'https', domain: SHOP, forwardTo, ...modules[kind] })
    return scene
  }

  /** A service of the attacker. */
  spy(): Promise<number> {
    return this.world.service(({ url = '' }, response) => {
      this.captured.push(url)
      response.end('captured')
    })
  }

  /** A service of the attacker that ends TLS itself. */
  async secureSpy(): Promise<number> {
    const made = await selfSignedCertificate({ commonName: EVIL, organization: EVIL, years: 1 })
    const options = { cert: made.certificatePem, key: made.privateKeyPem.reveal() }
    const server = createTlsServer(options, ({ url = '' }, response) => {
      this.captured.push(url)
      response.end('captured')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#closers.push(async () => server.close())
    return (server.address() as AddressInfo).port
  }

  /** The attacker's endpoint with sign-in at some issuer; returns how to close it. */
  async evil(issuerUrl: string): Promise<() => Promise<void>> {
    const oidc = { issuerUrl, clientId: 'evil', clientSecret: secretText('evil client') }
    const agent = await this.world.agent()
    const endpoint = await agent.listen({ proto: 'https', domain: EVIL, forwardTo: await this.spy(), oidc })
    return () => endpoint.close()
  }

  /** Begins a sign-in; what the provider is asked, and the cookies of the client that began. */
  async begin(host: string): Promise<{ url: URL; cookie: string }> {
    const begun = await this.world.ask(host, { headers: HTML })
    assert.equal(begun.status, 302)
    const cookie = [begun.headers['set-cookie'] ?? []]
      .flat()
      .map(line => line.split(';')[0])
      .join('; ')
    return { url: new URL(String(begun.headers['location'])), cookie }
  }

  closing(close: () => Promise<unknown>): void {
    this.#closers.push(close)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closers) await close()
    await this.world[Symbol.asyncDispose]()
    await this.provider[Symbol.asyncDispose]()
  }
}

/** What the attacker's name becomes once its state is known. */
const switches: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  'a tunnel without sign-in': async scene =>
    (await scene.world.agent()).listen({ proto: 'https', domain: EVIL, forwardTo: await scene.spy() }),
  'a TLS tunnel': async scene =>
    (await scene.world.agent()).listen({ proto: 'tls', domain: EVIL, forwardTo: await scene.secureSpy() }),
  "another owner's tunnel with sign-in": async scene => {
    const { api } = scene.world.server
    const user = (await api.post('/users', { email: 'other@example.com', name: 'other' })).body
    const { token } = (await api.post('/credentials', { owner_id: user.id })).body
    const agent = await connect({ ...optionsFor(scene.world.server), authtoken: String(token) })
    scene.closing(() => agent.close())
    const oidc = { issuerUrl: scene.provider.issuer, clientId: 'other' }
    await agent.listen({ proto: 'https', domain: EVIL, forwardTo: await scene.spy(), oidc })
  },
  'an edge': async scene => {
    const { world } = scene
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${await scene.spy()}` })
    await world.route(await world.edge([EVIL]), '/', backend.id)
  },
  'an endpoint configuration': async scene => {
    const { world } = scene
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${await scene.spy()}` })
    const fields = { type: 'https', backend: { backend_id: backend.id } }
    const { id } = await world.make('/endpoint_configurations', fields)
    await world.make('/reserved_domains', { domain: EVIL, https_endpoint_configuration_id: id })
  },
  nothing: async () => undefined,
}

const cases = (['oidc', 'oauth'] as const).flatMap(kind =>
  Object.entries(switches).map(([name, change]) => ({ kind, name, change })),
)

suite('a sign-in that was begun at another endpoint', () => {
  for (const { kind, name, change } of cases)
    test(`sends nothing to that endpoint once it is ${name} (${kind})`, async () => {
      await using scene = await Scene.start(kind)
      const close = await scene.evil(scene.provider.issuer)
      const evilState = (await scene.begin(EVIL)).url.searchParams.get('state') ?? ''
      await close()
      await change(scene)

      const { url, cookie } = await scene.begin(SHOP)
      const shopState = url.searchParams.get('state') ?? ''
      url.searchParams.set('state', evilState)
      const victim = new EdgeBrowser(scene.world)
      const page = await victim.signIn(url.href, 'victim')
      assert.deepEqual(scene.captured, [])
      assert.ok(!victim.path.some(path => path.startsWith(EVIL)), victim.path.join(' '))
      assert.equal(page.code, 'ERR_ADIT_90241')

      // Even a client that has learned the code cannot hand it to the endpoint itself.
      const code = new URL(page.url).searchParams.get('code') ?? ''
      assert.notEqual(code, '')
      const query = new URLSearchParams({ code, state: shopState }).toString()
      const direct = await scene.world.ask(`${SHOP}/.adit/signed-in?${query}`, {
        headers: { ...HTML, cookie },
      })
      assert.equal(direct.status, 400)
      assert.equal(direct.code, 'ERR_ADIT_3106')
      assert.deepEqual(scene.served, [])
    })
})

suite("a provider of the attacker's own", () => {
  for (const workers of workerCounts)
    test(`gets a code that no other endpoint redeems, with ${workers} processes`, async () => {
      await using scene = await Scene.start('oauth', { workers })
      await using hostile = await HostileProvider.start()
      await scene.evil(hostile.issuer)
      const victim = new EdgeBrowser(scene.world)
      // The victim begins at the attacker's endpoint, whose provider sends it on to the real one.
      const { url, cookie } = await scene.begin(SHOP)
      const shopState = url.searchParams.get('state') ?? ''
      const asked = await victim.go(scene.site.replace(SHOP, EVIL))
      url.searchParams.set('state', new URL(asked.url).searchParams.get('state') ?? '')
      await victim.signIn(url.href, 'victim')
      const code = hostile.form.get('code') ?? ''
      assert.notEqual(code, '', 'the attack is as it is described')

      const query = new URLSearchParams({ code, state: shopState }).toString()
      const central = await scene.world.ask(`idp.${DOMAIN}/oauth2/callback?${query}`, { headers: HTML })
      const { pathname, search } = new URL(String(central.headers['location']))
      for (let again = 0; again < 4; again++) {
        const done = await scene.world.ask(SHOP + pathname + search, { headers: { ...HTML, cookie } })
        assert.equal(done.status, 400)
        assert.equal(
          [done.headers['set-cookie'] ?? []].flat().filter(line => /session=1/.test(line)).length,
          0,
        )
      }
      assert.deepEqual(scene.served, [])
    })
})
