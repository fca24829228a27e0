import { createHash, randomBytes } from 'node:crypto'
import type { Egress } from '#base/egress.ts'
import { fail, Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import { type AccessLists, accessCheck, lowerSet } from '#auth/providers/access.ts'
import { ProviderApi, ProviderCalls, TokenRefused } from '#auth/providers/api.ts'
import type { ProviderUser, OAuthProvider, UserLookup } from '#auth/providers/provider.ts'
import type { Application } from '#auth/providers/setup.ts'
import { errorCode, TokenEndpoint, type Tokens } from '#auth/providers/token-endpoint.ts'
import type { AuthResult, FlowState, SignInMethod } from '#auth/sign-in/sign-in.ts'

const MAX_CODE = 8192
const MAX_TEXT = 255

export interface OAuthMethodOptions {
  readonly provider: OAuthProvider
  readonly application: Application
  /** The operator's application: the service gets no tokens of it. */
  readonly managed: boolean
  /** The owner's scopes, in addition to the required ones. */
  readonly scopes: readonly string[]
  readonly access: AccessLists
  /** True when users are rechecked during their session. */
  readonly lasting: boolean
  readonly egress: Egress
  readonly log: Log
}

/** Sign-in with one of the providers: the authorization code flow with PKCE. */
export class OAuthMethod implements SignInMethod {
  readonly provider: SignInMethod['provider']
  readonly fingerprint: string
  readonly clientId: string
  readonly passesTokens: boolean
  readonly #provider: OAuthProvider
  readonly #application: Application
  readonly #calls: ProviderCalls
  readonly #tokenEndpoint: TokenEndpoint
  readonly #lookup: UserLookup
  readonly #admit: (user: ProviderUser) => void

  constructor({ provider, application, managed, scopes, access, lasting, egress, log }: OAuthMethodOptions) {
    const { name, title, url, addresses } = provider
    const memberships = access.teams.length + access.organizations.length > 0
    const asked = new Set([...provider.scopes(scopes, { memberships, lasting }), ...scopes])
    this.provider = { name, url }
    this.clientId = application.id
    this.passesTokens = !managed
    this.#provider = provider
    this.#application = application
    this.#calls = new ProviderCalls(title, egress, log)
    this.#tokenEndpoint = new TokenEndpoint(this.#calls, addresses.token, application)
    this.#lookup = {
      scopes: [...asked],
      teams: lowerSet(access.teams),
      organizations: lowerSet(access.organizations),
    }
    this.#admit = accessCheck(title, access)
    const { emails, domains, teams, organizations } = access
    const parts = [
      name,
      addresses.authorize,
      application.id,
      [...asked],
      emails,
      domains,
      teams,
      organizations,
    ]
    this.fingerprint = createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
  }

  async begin({ state, callback, forceReauth, chooseAccount }: Parameters<SignInMethod['begin']>[0]) {
    const { addresses, parameters, withoutProof } = this.#provider
    const other = chooseAccount ? this.#provider.chooseAccount : undefined
    const verifier = randomBytes(32).toString('base64url')
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: this.#application.id,
      redirect_uri: callback,
      scope: this.#lookup.scopes.join(' '),
      state,
      ...(!withoutProof && {
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      }),
      ...parameters,
      ...(forceReauth && (other ?? this.#provider.forceReauth)),
    })
    const flowState: FlowState = withoutProof ? {} : { verifier }
    return { url: `${addresses.authorize}?${query.toString()}`, memory: flowState }
  }

  async finish({ parameters, memory, callback }: Parameters<SignInMethod['finish']>[0]): Promise<AuthResult> {
    const code = this.#codeIn(parameters)
    const tokens = await this.#tokenEndpoint.redeem(code, callback, memory['verifier'])
    try {
      return await this.#enter(tokens)
    } catch (error) {
      if (error instanceof TokenRefused) this.#calls.trouble('it rejects the token that it issued')
      throw error
    }
  }

  async check({ accessToken, refreshToken }: AuthResult): Promise<AuthResult> {
    if (accessToken === undefined) return this.#renew(refreshToken)
    try {
      return await this.#enter({ accessToken, ...(refreshToken !== undefined && { refreshToken }) })
    } catch (error) {
      if (error instanceof TokenRefused) return this.#renew(refreshToken)
      throw error
    }
  }

  async #renew(refreshToken: string | undefined): Promise<AuthResult> {
    if (refreshToken === undefined) return this.#over()
    try {
      return await this.#enter(await this.#tokenEndpoint.refresh(refreshToken))
    } catch (error) {
      const ended =
        error instanceof TokenRefused || (error instanceof Problem && error.code === 'oauth_exchange')
      if (ended) return this.#over()
      throw error
    }
  }

  #over(): never {
    return fail('oauth_session_over', { provider: this.#provider.title })
  }

  #codeIn(parameters: URLSearchParams): string {
    const { title, issuer } = this.#provider
    const error = parameters.get('error')
    if (error !== null)
      fail('oauth_denied', { provider: title, reason: errorCode(error) ?? 'it gives no reason' })
    // With two values one could be checked and the other used.
    const [code = '', second] = parameters.getAll('code')
    const from = parameters.get('iss')
    if (second !== undefined || code === '' || code.length > MAX_CODE || (issuer && from && from !== issuer))
      fail('oauth_denied', { provider: title, reason: 'its response is invalid' })
    return code
  }

  async #enter(tokens: Tokens): Promise<AuthResult> {
    const { accessToken, refreshToken, granted } = tokens
    if (granted) this.#checkScopes(granted)
    const { addresses, lookUp } = this.#provider
    const api = new ProviderApi(this.#calls, addresses.api, this.#application, accessToken)
    const user = await lookUp(api, this.#lookup)
    if (user.id === '') this.#calls.trouble('it does not identify the user')
    if (user.granted) this.#checkScopes(user.granted)
    this.#admit(user)
    return {
      identity: {
        id: user.id,
        username: user.username.slice(0, MAX_TEXT),
        name: user.name.slice(0, MAX_TEXT),
        email: user.vouched ? user.email : '',
        ...(user.headers && { headers: user.headers }),
      },
      accessToken,
      ...(refreshToken !== undefined && { refreshToken }),
    }
  }

  #checkScopes(granted: readonly string[]): void {
    const {
      normal = (scope: string) => scope,
      implied = () => [],
      unlisted,
      emailScope,
      title,
    } = this.#provider
    const held = new Set(granted.flatMap(scope => [normal(scope), ...implied(scope)]))
    const missing = this.#lookup.scopes.map(normal).filter(scope => !held.has(scope) && !unlisted?.has(scope))
    if (missing.length === 0) return
    if (emailScope !== undefined && missing.includes(emailScope))
      fail('oauth_email_withheld', { provider: title })
    fail('oauth_scopes_missing', { provider: title, scopes: missing.join(', ') })
  }
}
