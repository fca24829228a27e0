import assert from 'node:assert/strict'
import type { Agent } from 'node:https'
import { type EdgeResponse, World } from '../../e2e/edges/world.ts'
import { secretText } from '../../support/secrets.ts'
import { OpenIdProvider, type Page, EdgeBrowser } from '../oidc/openid-provider.ts'
import { ProviderServer } from '../providers/provider-server.ts'
import { CLIENT } from '../providers/provider-shapes.ts'
import { ann } from '../providers/support.ts'
import { Provider } from '../saml/provider.ts'
import type { Keys } from '../saml/support.ts'

const DOMAIN = 'gate.test'
export const HOST = 'app.example.test'

/** What a service saw of a request. */
interface Seen {
  readonly url: string
  readonly user: string | undefined
  readonly cookie: string | undefined
}

export const seenIn = ({ text }: Pick<Page, 'text'>): Seen => JSON.parse(text) as Seen
export const locationOf = ({ headers }: EdgeResponse): URL => new URL(String(headers['location']))
/** The cookies that a response sets, as a browser sends them back. */
export const pairsOf = ({ headers }: EdgeResponse): string =>
  [headers['set-cookie'] ?? []]
    .flat()
    .map(line => line.split(';')[0])
    .join('; ')

/** Path and query of an address of the edge. */
export function targetOf({ hostname, pathname, search }: URL): string {
  assert.equal(hostname, HOST)
  return pathname + search
}

/** An edge with every way to sign in: each at a route of its own, and all of them at `/any`. */
export class RoutesSite implements AsyncDisposable {
  readonly world: World
  readonly openid: OpenIdProvider
  readonly gitlab: ProviderServer
  readonly saml: Provider
  readonly modules: Record<'oidc' | 'oauth' | 'saml', Record<string, unknown>>
  /** The address, as clients use it. */
  readonly url: string
  readonly routes = new Map<string, string>()
  edge = ''

  private constructor(world: World, openid: OpenIdProvider, gitlab: ProviderServer, saml: Provider) {
    this.world = world
    this.openid = openid
    this.gitlab = gitlab
    this.saml = saml
    this.url = `https://${HOST}:${world.server.bound.https?.port}`
    const client = { client_id: 'adit', client_secret: secretText('openid client') }
    this.modules = {
      oidc: { issuer: openid.issuer, ...client },
      oauth: { provider: { gitlab: { client_id: CLIENT.id, client_secret: CLIENT.secret } } },
      saml: { idp_metadata: saml.metadata },
    }
  }

  static async start(keys: Keys, settings: Record<string, string> = {}): Promise<RoutesSite> {
    const gitlab = await ProviderServer.start('gitlab', ann)
    const world = await World.start({ domain: DOMAIN, oauth_gitlab_url: gitlab.url, ...settings })
    gitlab.callback = `https://idp.${DOMAIN}:${world.server.bound.https?.port}/oauth2/callback`
    const openid = await OpenIdProvider.start(gitlab.callback)
    const site = new RoutesSite(world, openid, gitlab, await Provider.start(keys.idp))
    await site.#build()
    return site
  }

  async #build(): Promise<void> {
    const { oidc, oauth, saml } = this.modules
    const echo = await this.world.static(({ url, headers }, response) => {
      response.setHeader('set-cookie', ['a=1', '__Host-adit.session-0123456789=1.x', 'odd.flow.x=1'])
      response.end(JSON.stringify({ url, user: headers['adit-auth-user-id'], cookie: headers.cookie }))
    })
    const parts: Record<string, Record<string, unknown>> = {
      '/admin': { oidc },
      '/shop': { oauth },
      '/team': { saml },
      '/odd': { oidc: { ...oidc, cookie_prefix: 'odd.' } },
      '/any': { oidc, oauth, saml },
      '/open': {},
    }
    this.edge = await this.world.edge([HOST])
    for (const [path, part] of Object.entries(parts))
      this.routes.set(path, await this.world.route(this.edge, path, echo, part))
  }

  idOf(path: string): string {
    return this.routes.get(path) ?? ''
  }

  /** A new connection unless an agent is given. */
  visit(target: string, cookie = '', agent?: Agent): Promise<EdgeResponse> {
    const headers = { accept: 'text/html', ...(cookie && { cookie }) }
    return this.world.ask(HOST + target, { headers, ...(agent && { agent }) })
  }

  /** Where the callback host sends the response of the OAuth provider to a started sign-in. */
  async returned(begun: EdgeResponse): Promise<string> {
    const back = await fetch(locationOf(begun), { redirect: 'manual' })
    await back.arrayBuffer()
    const { hostname, pathname, search } = new URL(back.headers.get('location') ?? '')
    return targetOf(locationOf(await this.world.ask(hostname + pathname + search)))
  }

  async sessions(): Promise<
    { readonly route: { readonly id: string }; readonly edge: { readonly id: string } }[]
  > {
    return (await this.world.server.api.get('/app/sessions')).body.application_sessions
  }

  async sessionsAt(path: string): Promise<number> {
    return (await this.sessions()).filter(({ route }) => route.id === this.idOf(path)).length
  }

  /** The SAML provider learns of a route by its metadata. */
  async learn(path: string): Promise<void> {
    const { body } = await this.world.server.api.get(`/edges/https/${this.edge}/routes/${this.idOf(path)}`)
    const { hostname, pathname } = new URL(String(body.saml.metadata_url))
    this.saml.learn((await this.world.ask(hostname + pathname)).text)
  }

  /** The addresses that a page links to, by their text. */
  linksIn({ text }: Pick<Page, 'text'>): Map<string, string> {
    const links = [...text.matchAll(/<a href="([^"]+)">([^<]+)<\/a>/g)]
    return new Map(
      links.map(([, href = '', name = '']) => [name, new URL(href.replaceAll('&amp;', '&'), this.url).href]),
    )
  }

  browser(): EdgeBrowser {
    return new EdgeBrowser(this.world)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
    for (const provider of [this.openid, this.gitlab, this.saml]) await provider[Symbol.asyncDispose]()
  }
}
