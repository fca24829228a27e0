import { createHash, createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ProviderName } from '#auth/providers/provider.ts'
import { secretText } from '../../support/secrets.ts'
import { CLIENT, shapes, type Answer, type Asked, type Shape, type User } from './provider-shapes.ts'

export const CALLBACK = 'https://idp.example.test/oauth2/callback'

interface Grant {
  readonly scopes: readonly string[]
  readonly callback: string
  readonly challenge: string | null
}

/** A provider on a real socket, which checks all that the real one checks and answers in its words. */
export class ProviderServer {
  readonly shape: Shape
  user: User
  /** What the application is registered with. */
  callback = CALLBACK
  /** Which of the requested scopes the user grants. */
  grants = (scopes: readonly string[]): readonly string[] => scopes
  /** What is answered under a path instead. */
  readonly instead = new Map<string, () => Answer | 'nothing'>()
  readonly asked: Asked[] = []
  readonly #server: Server
  readonly #codes = new Map<string, Grant>()
  readonly #access = new Map<string, readonly string[]>()
  readonly #refresh = new Map<string, readonly string[]>()

  private constructor(server: Server, name: ProviderName, user: User) {
    this.#server = server
    this.shape = shapes[name]
    this.user = user
    server.on('request', (request, response) => void this.#serve(request, response))
  }

  static async start(name: ProviderName, user: User): Promise<ProviderServer> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ProviderServer(server, name, user)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The user's access tokens live no longer; refresh tokens do. */
  expireTokens(): void {
    this.#access.clear()
  }

  /** The user's account is closed. */
  dropUser(): void {
    this.#access.clear()
    this.#refresh.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://local')
    const body = (await request.toArray()).join('')
    const asked: Asked = {
      path: pathname,
      query: searchParams,
      headers: request.headers,
      form: new URLSearchParams(body),
    }
    this.asked.push(asked)
    const answer = this.instead.get(pathname)?.() ?? this.#answer(asked)
    if (answer === 'nothing') return
    const { status = 200, headers = {}, body: content } = answer
    const isText = typeof content === 'string'
    response
      .writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers })
      .end(isText ? content : JSON.stringify(content))
  }

  #answer(asked: Asked): Answer {
    const { authorize, token } = this.shape.addresses('')
    if (asked.path === authorize) return this.#authorize(asked.query)
    if (asked.path === token) return this.#token(asked.form)
    return this.#lookUp(asked)
  }

  #authorize(query: URLSearchParams): Answer {
    const callback = query.get('redirect_uri') ?? ''
    const ok =
      query.get('client_id') === CLIENT.id &&
      callback === this.callback &&
      query.get('response_type') === 'code'
    if (!ok) return { status: 400, body: 'wrong client, redirect_uri or response_type' }
    const code = secretText(`code ${randomBytes(16).toString('hex')}`)
    const scopes = this.grants((query.get('scope') ?? '').split(' '))
    this.#codes.set(code, { scopes, callback, challenge: query.get('code_challenge') })
    const back = new URLSearchParams({ code, state: query.get('state') ?? '' })
    return { status: 302, headers: { location: `${callback}?${back.toString()}` }, body: '' }
  }

  #token(form: URLSearchParams): Answer {
    if (form.get('client_id') !== CLIENT.id || form.get('client_secret') !== CLIENT.secret)
      return this.shape.refusal('invalid_client')
    if (form.get('grant_type') === 'refresh_token') return this.#renewed(form.get('refresh_token') ?? '')
    const code = form.get('code') ?? ''
    const grant = this.#codes.get(code)
    this.#codes.delete(code)
    const verifier = form.get('code_verifier')
    if (this.shape.refusesProof === true && verifier !== null) return this.shape.refusal('invalid_client')
    const proven =
      grant?.challenge ===
      (verifier === null ? null : createHash('sha256').update(verifier).digest('base64url'))
    return grant && proven && form.get('redirect_uri') === grant.callback
      ? this.#given(grant.scopes)
      : this.shape.refusal('invalid_grant')
  }

  #renewed(refreshToken: string): Answer {
    const scopes = this.#refresh.get(refreshToken)
    this.#refresh.delete(refreshToken)
    return scopes ? this.#given(scopes) : this.shape.refusal('invalid_grant')
  }

  #given(scopes: readonly string[]): Answer {
    const access = secretText(`access ${randomBytes(16).toString('hex')}`)
    const refresh = secretText(`refresh ${randomBytes(16).toString('hex')}`)
    this.#access.set(access, scopes)
    this.#refresh.set(refresh, scopes)
    return { body: this.shape.tokens(access, refresh, scopes) }
  }

  #lookUp(asked: Asked): Answer {
    const bearer = /^Bearer (.+)$/.exec(asked.headers.authorization ?? '')?.[1] ?? ''
    const scopes = this.#access.get(bearer)
    if (!scopes) return this.shape.tokenRefusal ?? { status: 401, body: { message: 'Bad credentials' } }
    const proof = createHmac('sha256', CLIENT.secret).update(bearer).digest('hex')
    return (
      this.shape.looks[asked.path]?.(this.user, { ...asked, scopes, proof }) ?? {
        status: 404,
        body: { message: 'Not Found' },
      }
    )
  }
}
