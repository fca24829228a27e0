import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { EdgeResponse, World } from '../../e2e/edges/world.ts'
import { registerSecret, secretText } from '../../support/secrets.ts'

/** A certified OpenID provider on this machine. It accepts any user name. */
export class OpenIdProvider implements AsyncDisposable {
  readonly issuer: string
  readonly #server: Server

  private constructor(server: Server, issuer: string) {
    this.#server = server
    this.issuer = issuer
  }

  static async start(callback: string): Promise<OpenIdProvider> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const provider = new Provider(issuer, {
      clients: [{ client_id: 'adit', client_secret: secretText('openid client'), redirect_uris: [callback] }],
      claims: {
        openid: ['sub', 'groups'],
        email: ['email', 'email_verified'],
        profile: ['name', 'preferred_username'],
      },
      cookies: { keys: ['a key for tests'] },
      pkce: { required: () => true },
      findAccount: async (_context, id) => ({
        accountId: id,
        claims: async () => ({
          sub: id,
          email: `${id}@example.com`,
          email_verified: true,
          name: `${id} of the tests`,
          preferred_username: id,
          groups: [`${id}s`],
        }),
      }),
    })
    const answer = provider.callback()
    server.on('request', (request, response) => void answer(request, response))
    return new OpenIdProvider(server, issuer)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

export interface Page extends Pick<EdgeResponse, 'status' | 'text'> {
  readonly url: string
  readonly code: string | undefined
}

/** What a browser does: it keeps cookies and follows redirects, between edges and a provider. */
export class EdgeBrowser {
  readonly #world: World
  readonly #jars = new Map<string, Map<string, string>>()
  /** The requested hosts and paths, in order. */
  readonly path: string[] = []

  constructor(world: World) {
    this.#world = world
  }

  cookies(host: string): string {
    return [...(this.#jars.get(host) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** Goes to an address and on from there, to where it ends. */
  async go(url: string, form?: Record<string, string>): Promise<Page> {
    let body = form && new URLSearchParams(form).toString()
    for (let hops = 0; hops < 20; hops++) {
      const got = await this.#ask(new URL(url), body)
      body = undefined
      if (got.location === undefined) return { ...got, url }
      url = new URL(got.location, url).href
      registerSecret(new URL(url).searchParams.get('code') ?? '')
    }
    throw new Error(`too many redirects, the last to ${url}`)
  }

  /** Signs in at the provider, from wherever one is sent there. */
  async signIn(url: string, user: string): Promise<Page> {
    return this.finish(await this.go(url), user)
  }

  /** Signs in on a page of the provider. */
  async finish(page: Page, user: string): Promise<Page> {
    if (page.text.includes('name="login"'))
      page = await this.go(formIn(page), { prompt: 'login', login: user, password: 'any' })
    // Another user than before: the provider ends the session of that one.
    if (page.text.includes('name="logout"')) page = await this.go(formIn(page), fieldsIn(page))
    if (page.text.includes('value="consent"')) page = await this.go(formIn(page), { prompt: 'consent' })
    // A SAML provider sends its response by way of a form.
    if (page.text.includes('name="SAMLResponse"')) page = await this.go(formIn(page), fieldsIn(page))
    return page
  }

  async #ask(url: URL, body: string | undefined) {
    const headers: Record<string, string> = {
      accept: 'text/html',
      ...(this.cookies(url.hostname) && { cookie: this.cookies(url.hostname) }),
      ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    }
    const method = body === undefined ? 'GET' : 'POST'
    this.path.push(url.hostname + url.pathname)
    if (url.protocol === 'http:') {
      const response = await fetch(url, { method, headers, body: body ?? null, redirect: 'manual' })
      this.#keep(url.hostname, response.headers.getSetCookie())
      const location = response.headers.get('location') ?? undefined
      return { status: response.status, text: await response.text(), location, code: undefined }
    }
    const got = await this.#world.ask(`${url.hostname}${url.pathname}${url.search}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    })
    this.#keep(url.hostname, [got.headers['set-cookie'] ?? []].flat())
    const { status, text, code } = got
    return { status, text, code, location: got.headers['location'] as string | undefined }
  }

  #keep(host: string, lines: readonly string[]): void {
    const jar = this.#jars.get(host) ?? new Map<string, string>()
    this.#jars.set(host, jar)
    for (const line of lines) {
      const [pair = ''] = line.split(';')
      const equals = pair.indexOf('=')
      const isGone = /max-age=0|expires=Thu, 01 Jan 1970/i.test(line)
      if (isGone) jar.delete(pair.slice(0, equals))
      else jar.set(pair.slice(0, equals), registerSecret(pair.slice(equals + 1)))
    }
  }
}

const fieldsIn = ({ text }: Page): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  )

function formIn({ text, url }: Page): string {
  const [, action = ''] = /<form[^>]* action="([^"]+)"/.exec(text) ?? []
  return new URL(action, url).href
}
