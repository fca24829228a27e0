import { createHash } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import type { Egress } from '#base/egress.ts'
import { fail } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { Secret } from '#base/secrets.ts'
import { egressFetch, type EgressFetch } from '#auth/sign-in/egress-fetch.ts'
import { Discovery, issuerUrl, type OidcProvider } from '#auth/oidc/discovery.ts'
import { withoutLargeKeys } from '#auth/oidc/keys.ts'
import { addressOf } from '#auth/oidc/email.ts'
import { oidcProblem } from '#auth/oidc/faults.ts'
import { accessCheck, isOpen } from '#auth/providers/access.ts'
import type { ProviderUser } from '#auth/providers/provider.ts'
import type { AuthResult, FlowState, SignInMethod } from '#auth/sign-in/sign-in.ts'
import type { UserIdentity } from '#http/identity.ts'

const CLOCK_TOLERANCE_S = 60
/** Scopes for the claims in headers and in address lists. */
const IDENTITY_SCOPES = ['email', 'profile'] as const

export interface OidcMethodOptions {
  readonly issuer: string
  readonly clientId: string
  /** Undefined for a public client. */
  readonly clientSecret: Secret | undefined
  readonly scopes: readonly string[]
  /** Allowed users; everyone at the provider when both are empty. */
  readonly emails: readonly string[]
  readonly domains: readonly string[]
  /** The claim with the user's groups, if they matter. */
  readonly groupsClaim?: string
  readonly egress: Egress
  readonly log: Log
  readonly now?: () => number
}

type Claims = Readonly<Record<string, unknown>>

/**
 * OpenID Connect sign-in: authorization code flow with PKCE and nonce. There is no recheck: the module has no interval
 * for it.
 */
export class OidcMethod implements SignInMethod {
  readonly provider: SignInMethod['provider']
  readonly fingerprint: string
  readonly clientId: string
  /** The client is always the owner's own. */
  readonly passesTokens = true
  readonly #options: OidcMethodOptions
  readonly #client: oauth.Client
  readonly #discovery: Discovery
  readonly #request: ReturnType<typeof requestOptions>
  /** For the keys of the provider. */
  readonly #keyRequest: ReturnType<typeof requestOptions>
  readonly #admit: (user: ProviderUser) => void
  /** True if addresses decide about access. */
  readonly #asksEmail: boolean

  /** Throws a Problem when the issuer is not a usable URL. */
  constructor(options: OidcMethodOptions) {
    const { issuer, clientId, egress, now = Date.now } = options
    const url = issuerUrl(issuer)
    const fetch = egressFetch(egress)
    this.provider = { name: 'oidc', url: issuer }
    this.clientId = clientId
    this.#options = options
    const { emails, domains } = options
    const lists = { emails, domains, teams: [], organizations: [] }
    this.#asksEmail = !isOpen(lists)
    this.#admit = accessCheck(url.host, lists)
    this.#client = { client_id: clientId, [oauth.clockTolerance]: CLOCK_TOLERANCE_S }
    this.#discovery = new Discovery(url, fetch, now)
    this.#request = requestOptions(fetch, url.protocol === 'http:')
    this.#keyRequest = requestOptions(withoutLargeKeys(fetch), url.protocol === 'http:')
    const scope = [...new Set(['openid', ...options.scopes])].join(' ')
    this.fingerprint = createHash('sha256')
      .update(JSON.stringify([issuer, clientId, scope, emails, domains]))
      .digest('base64url')
  }

  async begin({ state, callback, forceReauth, chooseAccount }: Parameters<SignInMethod['begin']>[0]) {
    const provider = await this.#explained(() => this.#discovery.provider())
    const verifier = oauth.generateRandomCodeVerifier()
    const nonce = oauth.generateRandomNonce()
    const url = new URL(provider.authorization_endpoint)
    const parameters = {
      client_id: this.#options.clientId,
      redirect_uri: callback,
      response_type: 'code',
      scope: this.#scopeFor(provider),
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(forceReauth && { prompt: chooseAccount && choosesAccounts(provider) ? 'select_account' : 'login' }),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return { url: url.href, memory: { verifier, nonce } }
  }

  /** The owner's scopes and the required ones, unless the provider does not support them. */
  #scopeFor({ scopes_supported: supported }: OidcProvider): string {
    const { groupsClaim, scopes } = this.#options
    const needed = IDENTITY_SCOPES.filter(scope => supported?.includes(scope) ?? true)
    // Many providers send groups without a scope for them.
    const groups = groupsClaim !== undefined && supported?.includes(groupsClaim) ? [groupsClaim] : []
    return [...new Set(['openid', ...needed, ...groups, ...scopes])].join(' ')
  }

  finish({ parameters, memory, callback }: Parameters<SignInMethod['finish']>[0]): Promise<AuthResult> {
    return this.#explained(async () => {
      const provider = await this.#discovery.provider()
      // The state was verified before; only the library's check is skipped here.
      const expected = parameters.get('state') ?? oauth.expectNoState
      const answer = oauth.validateAuthResponse(provider, this.#client, parameters, expected)
      const tokens = await this.#tokens(provider, answer, memory, callback)
      const claims = oauth.getValidatedIdTokenClaims(tokens)
      if (!claims?.sub) return fail('sign_in_unverified', { reason: 'it does not identify the user' })
      const more = await this.#more(provider, claims, tokens.access_token)
      const { email, is } = addressOf(claims, more, this.#options.issuer)
      // An unverified address is not sent to the service: anyone could have entered it.
      const identity = identityOf({ ...more, ...claims }, is === 'unverified' ? '' : email)
      this.#admit({ ...identity, email, vouched: is === 'verified' })
      return {
        identity,
        accessToken: tokens.access_token,
        ...(tokens.refresh_token !== undefined && { refreshToken: tokens.refresh_token }),
        ...this.#groupsIn({ ...more, ...claims }),
      }
    })
  }

  #groupsIn(claims: Claims): Pick<AuthResult, 'groups'> {
    const { groupsClaim } = this.#options
    if (groupsClaim === undefined) return {}
    const groups: unknown = claims[groupsClaim]
    return { groups: Array.isArray(groups) ? groups.filter(each => typeof each === 'string') : [] }
  }

  /** The tokens for a code, after the ID token is verified to be from the provider and for this sign-in. */
  async #tokens(provider: OidcProvider, answer: URLSearchParams, flowState: FlowState, callback: string) {
    const { nonce = '', verifier = '' } = flowState
    const response = await oauth.authorizationCodeGrantRequest(
      provider,
      this.#client,
      this.#clientAuth(provider),
      answer,
      callback,
      verifier,
      this.#request,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(provider, this.#client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    // The claims are checked by now. The standard allows skipping the signature for tokens fetched over TLS; we check
    // it.
    await oauth.validateApplicationLevelSignature(provider, response, this.#keyRequest)
    return tokens
  }

  #clientAuth({ token_endpoint_auth_methods_supported: methods }: OidcProvider): oauth.ClientAuth {
    const secret = this.#options.clientSecret?.reveal()
    if (secret === undefined) return oauth.None()
    // The default is "client_secret_basic" (OpenID Connect Discovery 1.0 §3).
    const usesPost = methods?.includes('client_secret_post') && !methods.includes('client_secret_basic')
    return usesPost ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret)
  }

  /** Many providers send name and address only from the userinfo endpoint. */
  async #more(provider: OidcProvider, claims: oauth.IDToken, accessToken: string): Promise<Claims> {
    const isFlagged = !this.#asksEmail || claims['email_verified'] !== undefined
    const { groupsClaim } = this.#options
    const hasGroups = groupsClaim === undefined || claims[groupsClaim] !== undefined
    const isWhole = claims['email'] && claims['name'] && isFlagged && hasGroups
    if (provider.userinfo_endpoint === undefined || isWhole) return {}
    const response = await oauth.userInfoRequest(provider, this.#client, accessToken, this.#request)
    return oauth.processUserInfoResponse(provider, this.#client, claims.sub, response)
  }

  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const problem = oidcProblem(error)
      this.#options.log.info(
        { error, issuer: this.#options.issuer, reason: problem.message },
        'a sign-in at an OpenID provider failed',
      )
      throw problem
    }
  }
}

/** Every provider supports "login", and must not ignore it (OpenID Connect Core 1.0 §3.1.2.1). */
const choosesAccounts = ({ prompt_values_supported: values }: OidcProvider): boolean =>
  Array.isArray(values) && values.includes('select_account')

const requestOptions = (fetch: EgressFetch, insecure: boolean) => ({
  [oauth.customFetch]: fetch,
  [oauth.allowInsecureRequests]: insecure,
  [oauth.jwksCache]: {},
})

function identityOf(claims: Claims, email: string): UserIdentity {
  const text = (name: string): string => {
    const value = claims[name]
    return typeof value === 'string' ? value : ''
  }
  return {
    id: text('sub'),
    username: text('preferred_username') || text('nickname') || email,
    email,
    name: text('name'),
  }
}
