import { createHash } from 'node:crypto'
import { clientNetwork } from '#base/client-network.ts'
import { Problem } from '#base/errors.ts'
import type { Endpoint, Exchange, Reply } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import { withHead } from '#http/changed.ts'
import type { ModuleContext } from '#http/place.ts'
import { errorReply, redirectReply } from '#http/pages.ts'
import { answerIn } from '#auth/sign-in/provider-response.ts'
import { callbackUrl } from '#auth/sign-in/callback-host.ts'
import { dropAll, dropCookie, ownCookies, ownMarks, readCookies } from '#auth/sign-in/cookies.ts'
import {
  type Flow,
  Flows,
  returnTarget,
  returnUrl,
  sealState,
  type State,
  IDP_INITIATED,
} from '#auth/sign-in/flow.ts'
import { TwoGenerationCache } from '#base/two-generation-cache.ts'
import { type SignInRequest, signInRequestOf } from '#auth/sign-in/sign-in-request.ts'
import * as headers from '#auth/sign-in/headers.ts'
import { checkedIdentity } from '#auth/sign-in/identity.ts'
import { isNavigation } from '#auth/sign-in/navigation.ts'
import { isSignInPath, LOG_IN_PATH, LOG_OUT_PATH, originOf, parametersOf } from '#auth/sign-in/paths.ts'
import { AuthSessions } from '#auth/sign-in/auth-sessions.ts'
import type { Shared } from '#auth/sign-in/shared.ts'
import type { AuthResult, SignInMethod, SignInConfig } from '#auth/sign-in/sign-in.ts'
import type { UserIdentity } from '#http/identity.ts'
import { signedOutReply } from '#auth/sign-in/signed-out.ts'

/** Cookie header bytes whose sessions are cached. */
const MEMORY_CHARACTERS = 4_000_000

/** A parsed and decrypted Cookie header. */
interface Known {
  readonly host: string
  readonly scheme: 'http' | 'https'
  readonly sessionId: string
  readonly goodUntil: number
  /** The cookies of the service. */
  readonly cookies: string
  readonly user: UserIdentity
  /** The user headers for the service. */
  readonly userHeaders: string
}

/** Sign-in at one place. */
export class SignInHandler {
  readonly #shared: Shared
  readonly #method: SignInMethod
  readonly #config: SignInConfig
  readonly #moduleContext: ModuleContext
  readonly #sessions: AuthSessions
  readonly #flows: Flows
  readonly #known = new TwoGenerationCache<Known>(MEMORY_CHARACTERS)
  readonly #isOurs: (name: string) => boolean
  /** Each of our cookie names contains one of these. */
  readonly #marks: readonly string[]

  constructor(shared: Shared, method: SignInMethod, config: SignInConfig, moduleContext: ModuleContext) {
    this.#shared = shared
    this.#method = method
    this.#config = config
    this.#moduleContext = moduleContext
    this.#sessions = new AuthSessions(shared, method, config, moduleContext)
    this.#flows = new Flows(shared.seal, shared.now)
    this.#isOurs = ownCookies(config.cookiePrefix)
    this.#marks = ownMarks(config.cookiePrefix)
  }

  /** Needs no decryption for a recently seen session. */
  handle(exchange: Exchange, next: Endpoint): Promise<Reply> {
    const { head, client } = exchange
    exchange.context.signIn.appClientId = this.#method.clientId
    if (client.scheme === 'http' && this.#shared.info.httpsPort !== undefined)
      return Promise.resolve(this.#secured(head))
    if (isSignInPath(head.path)) return this.#ownPath(exchange)
    const parted = headers.partFields(head.fields)
    const known = parted.cookie === '' ? undefined : this.#known.get(parted.cookie)
    const isGood =
      known !== undefined &&
      known.host === head.host &&
      known.scheme === client.scheme &&
      this.#shared.now() < known.goodUntil &&
      this.#shared.revocation.isKnown(known.sessionId)
    if (!isGood) return this.#look(exchange, next, parted)
    return this.#admit(exchange, next, parted, known)
  }

  /**
   * Without TLS, codes and cookies could be intercepted, and any host of the same domain could inject a session:
   * browsers accept host-only cookies only over HTTPS.
   */
  #secured(head: RequestHead): Reply {
    const { info, placeAt } = this.#shared
    if (placeAt('https', head.host) === undefined) return errorReply('sign_in_https', head)
    const target = head.target.startsWith('/') ? head.target : '/'
    return redirectReply(originOf('https', head.host, info.httpsPort) + target, 308)
  }

  async #look(exchange: Exchange, next: Endpoint, parted: headers.Parted): Promise<Reply> {
    const request = this.#request(exchange, parted.cookie)
    const found = await this.#sessions.find(request)
    const { head, client } = exchange
    if (found === undefined) {
      if (head.method !== 'OPTIONS' || !this.#config.optionsPassthrough) return this.#turnAway(request)
      return this.#pass(exchange, next, headers.joinFields(parted, request.jar.rest, ''))
    }
    const known: Known = {
      host: head.host,
      scheme: client.scheme,
      sessionId: found.session.id,
      goodUntil: found.goodUntil,
      cookies: request.jar.rest,
      user: found.session.granted.identity,
      userHeaders: headers.identityLines(found.session.granted, this.#method.passesTokens === true),
    }
    this.#known.set(parted.cookie, known, parted.cookie.length + known.userHeaders.length)
    return headers.withCookies(await this.#admit(exchange, next, parted, known), found.cookies)
  }

  #admit(exchange: Exchange, next: Endpoint, parted: headers.Parted, known: Known): Promise<Reply> {
    exchange.context.signIn.identity = known.user
    return this.#pass(exchange, next, headers.joinFields(parted, known.cookies, known.userHeaders))
  }

  async #pass(exchange: Exchange, next: Endpoint, fields: RequestHead['fields']): Promise<Reply> {
    return headers.withoutOwnCookies(await next(withHead(exchange, { fields })), this.#marks, this.#isOurs)
  }

  /**
   * A page can follow a redirect to a provider, a script cannot: the provider's page is of another origin, and the
   * script sees only a network error. So it gets 401 instead.
   */
  async #turnAway(request: SignInRequest): Promise<Reply> {
    const { head } = request.exchange
    if (isNavigation(head)) return this.#begin(request, returnTarget(head.target), false)
    return headers.withCookies(errorReply('sign_in_required', head), this.#leftOver(request))
  }

  /** Method and body of an intercepted request are not kept: the browser returns with GET. */
  async #begin(request: SignInRequest, returnTo: string, again: boolean): Promise<Reply> {
    const { seal, info } = this.#shared
    const { origin, exchange } = request
    const flowId = this.#flows.newId()
    const state = sealState(seal, { placeId: this.#moduleContext.id, origin, returnTo, flowId })
    try {
      const { url, memory } = await this.#method.begin({
        state,
        callback: callbackUrl(info),
        forceReauth: again,
      })
      const flow = { flowId, fingerprint: this.#method.fingerprint, memory }
      // A user who signs in again keeps the session until that is done.
      const dropped = again ? [] : this.#leftOver(request)
      return headers.withCookies(redirectReply(url, 302), [...dropped, ...this.#flows.keep(flow, request)])
    } catch (error) {
      return this.#failed(error, exchange.head)
    }
  }

  async #ownPath(exchange: Exchange): Promise<Reply> {
    const request = this.#request(exchange, headers.partFields(exchange.head.fields).cookie)
    const { head } = exchange
    if (head.path === LOG_OUT_PATH) return this.#logOut(request)
    if (head.path !== LOG_IN_PATH) return this.#return(request)
    return isNavigation(head) ? this.#begin(request, '/', true) : errorReply('sign_in_required', head)
  }

  async #logOut(request: SignInRequest): Promise<Reply> {
    await this.#sessions.end(request)
    return headers.withCookies(signedOutReply(request.exchange.head), dropAll(request.names, request.jar))
  }

  /** The browser has returned from the provider. */
  async #return(request: SignInRequest): Promise<Reply> {
    const { head } = request.exchange
    const { seal } = this.#shared
    const { origin } = request
    const response = answerIn(parametersOf(head.target), seal, { placeId: this.#moduleContext.id, origin })
    if (response === undefined) return errorReply('sign_in_state', head)
    const { state, parameters } = response
    const flow = this.#flowOf(state, request)
    if (flow === undefined) return this.#ended(request, state)
    const forget = dropCookie(request.names.flow + state.flowId, request.names)
    if (flow.fingerprint !== this.#method.fingerprint)
      return headers.withCookies(errorReply('sign_in_changed', head), [forget])
    try {
      if (!(await this.#claim(parameters, request))) return await this.#ended(request, state)
      const callback = callbackUrl(this.#shared.info)
      const authResult = checkedIdentity(
        await this.#method.finish({ parameters, memory: flow.memory, callback }),
      )
      const cookies = await this.#enter(request, authResult)
      return headers.withCookies(redirectReply(returnUrl(state), 302), [forget, ...cookies])
    } catch (error) {
      return headers.withCookies(this.#failed(error, head), [forget])
    }
  }

  /** The client went back in its history, or loaded the page twice; or it is not the one that started. */
  async #ended(request: SignInRequest, state: State): Promise<Reply> {
    if (await this.#sessions.find(request)) return redirectReply(returnUrl(state), 302)
    return errorReply('sign_in_browser', request.exchange.head)
  }

  /** Claims the code of a response before it is sent to any provider; false when it was used before. */
  async #claim(parameters: URLSearchParams, { exchange }: SignInRequest): Promise<boolean> {
    const codes = parameters.getAll('code')
    if (codes.length === 0) return true
    const digest = createHash('sha256').update(JSON.stringify(codes)).digest('base64url')
    const network = clientNetwork(exchange.client.ip)
    const claimed = await this.#shared.userSessions.claimCode({
      digest,
      placeId: this.#moduleContext.id,
      network,
    })
    if (claimed === 'full') throw new Problem('sign_in_busy', {})
    return claimed === 'first'
  }

  /** Every sign-in creates a new session; the previous one ends, so that no session outlives its use. */
  async #enter(request: SignInRequest, authResult: AuthResult): Promise<string[]> {
    try {
      const cookies = await this.#sessions.begin(request, authResult)
      await this.#sessions.end(request)
      return cookies
    } catch (error) {
      this.#shared.log.error({ error, place: this.#moduleContext.id }, 'could not save a sign-in')
      throw new Problem('sign_in_not_kept', {})
    }
  }

  #flowOf(state: State, request: SignInRequest): Flow | undefined {
    if (state.flowId !== IDP_INITIATED) return this.#flows.take(state, request)
    const { allowsIdpInitiated: takesUnasked, fingerprint } = this.#method
    return takesUnasked ? { flowId: IDP_INITIATED, fingerprint, memory: {} } : undefined
  }

  #failed(error: unknown, head: RequestHead): Reply {
    if (error instanceof Problem) return errorReply(error.code, head, error.values)
    this.#shared.log.warn({ error, place: this.#moduleContext.id }, 'signing in failed')
    return errorReply('sign_in_provider', head, { reason: 'it could not be reached' })
  }

  /** Cookies of a session that no longer exists. */
  #leftOver({ jar, names }: SignInRequest): string[] {
    return [...jar.ours.keys()]
      .filter(name => name.startsWith(names.session))
      .map(name => dropCookie(name, names))
  }

  #request(exchange: Exchange, cookie: string): SignInRequest {
    const { info } = this.#shared
    const jar = readCookies(cookie, this.#isOurs)
    return signInRequestOf(exchange, jar, {
      info,
      placeId: this.#moduleContext.id,
      prefix: this.#config.cookiePrefix,
    })
  }
}
