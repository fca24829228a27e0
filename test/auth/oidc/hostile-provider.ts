import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import { Secret } from '#base/secrets.ts'
import { OidcMethod, type OidcMethodOptions } from '#auth/oidc/oidc.ts'
import type { AuthResult } from '#auth/sign-in/sign-in.ts'
import { localEgress } from '../../gateway/module-parts.ts'
import { secretText, testLog } from '../../support/secrets.ts'

export const CLIENT = 'client-1'
export const CALLBACK = 'https://idp.gate.test/oauth2/callback'

// Making one takes longer than all else here.
const pair = generateKeyPair('RS256', { extractable: true })

/** An OpenID provider with scripted responses, over real HTTP. */
export class HostileProvider implements AsyncDisposable {
  readonly #server: Server
  readonly issuer: string
  readonly key: CryptoKey
  readonly publicJwk: JWK
  /** What it publishes. */
  keys: JWK[]
  metadata: Record<string, unknown> = {}
  /** Answers the token endpoint. */
  idToken: (nonce: string) => Promise<string> | string = nonce => this.signed(this.claims(nonce))
  tokens: Record<string, unknown> = {}
  userInfo: Record<string, unknown> | undefined
  /** The number of requests for each path. */
  readonly asked: string[] = []
  /** What the token endpoint was sent last. */
  form = new URLSearchParams()
  nonce = ''

  private constructor(server: Server, own: { privateKey: CryptoKey; jwk: JWK }) {
    this.#server = server
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.key = own.privateKey
    this.publicJwk = { ...own.jwk, kid: 'key-1', use: 'sig', alg: 'RS256' }
    this.keys = [this.publicJwk]
  }

  static async start(): Promise<HostileProvider> {
    const { privateKey, publicKey } = await pair
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const provider = new HostileProvider(server, { privateKey, jwk: await exportJWK(publicKey) })
    server.on('request', (request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (part: string) => (body += part))
      request.on('end', () => {
        void provider.#send(response, request.url ?? '', body)
      })
    })
    return provider
  }

  method(changed: Partial<OidcMethodOptions> = {}): OidcMethod {
    return new OidcMethod({
      issuer: this.issuer,
      clientId: CLIENT,
      clientSecret: new Secret(secretText('oidc')),
      scopes: ['profile', 'email'],
      emails: [],
      domains: [],
      egress: localEgress,
      log: testLog(),
      ...changed,
    })
  }

  /** One sign-in from its beginning to its end. */
  async signIn(method = this.method(), answer: Record<string, string> = {}): Promise<AuthResult> {
    const { url, memory } = await method.begin({ state: 'the-state', callback: CALLBACK, forceReauth: false })
    this.nonce = new URL(url).searchParams.get('nonce') ?? ''
    const parameters = new URLSearchParams({ code: 'the-code', state: 'the-state', ...answer })
    return method.finish({ parameters, memory, callback: CALLBACK })
  }

  claims(nonce: string): JWTPayload {
    const now = Math.floor(Date.now() / 1000)
    return {
      iss: this.issuer,
      aud: CLIENT,
      sub: 'user-1',
      iat: now,
      exp: now + 300,
      nonce,
      email: 'anna@example.com',
      email_verified: true,
      name: 'Anna Bell',
      preferred_username: 'anna',
    }
  }

  signed(claims: JWTPayload, header: Record<string, unknown> = {}, key: CryptoKey | Uint8Array = this.key) {
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'key-1', ...header }).sign(key)
  }

  async #send(response: ServerResponse, path: string, body: string): Promise<void> {
    const [status, answer] = await this.#answer(path, body)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  }

  async #answer(path: string, body: string): Promise<[status: number, answer: unknown]> {
    this.asked.push(path)
    if (path === '/.well-known/openid-configuration') return [200, this.#configuration()]
    if (path === '/jwks') return [200, { keys: this.keys }]
    if (path === '/userinfo') return [this.userInfo ? 200 : 404, this.userInfo ?? {}]
    if (path !== '/token') return [404, {}]
    this.form = new URLSearchParams(body)
    const tokens = {
      access_token: 'an-access-token',
      token_type: 'Bearer',
      id_token: await this.idToken(this.nonce),
    }
    return [200, { ...tokens, ...this.tokens }]
  }

  #configuration(): Record<string, unknown> {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      ...this.metadata,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
