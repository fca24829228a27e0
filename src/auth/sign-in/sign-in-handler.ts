import type { Endpoint, Exchange, Reply } from '#http/exchange.ts'
import type { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { withHead } from '#http/changed.ts'
import type { ModuleContext } from '#http/module-context.ts'
import { errorReply, redirectReply } from '#http/pages.ts'
import { chooserReply, chooserUrl, choiceIn, type ChooserRealm, type Start } from '#auth/sign-in/chooser.ts'
import { dropSession, ownCookies, ownMarks, readCookies, routeTag } from '#auth/sign-in/cookies.ts'
import { returnTarget } from '#auth/sign-in/flow.ts'
import { TwoGenerationCache } from '#base/two-generation-cache.ts'
import { type SignInRequest, signInRequestOf } from '#auth/sign-in/sign-in-request.ts'
import * as headers from '#auth/sign-in/headers.ts'
import { isNavigation } from '#auth/sign-in/navigation.ts'
import { CHOOSER_PATH, isSignInPath, LOG_IN_PATH, LOG_OUT_PATH, originOf } from '#auth/sign-in/paths.ts'
import { RealmSessions } from '#auth/sign-in/realm-sessions.ts'
import type { Shared } from '#auth/sign-in/shared.ts'
import type { SignInOffer } from '#auth/sign-in/sign-in.ts'
import { leftOver, SignInFlow } from '#auth/sign-in/sign-in-flow.ts'
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
  readonly clientId: string | undefined
  /** The user headers for the service. */
  readonly userHeaders: string
}

/** The fields of a request, which a client repeats as one object. */
interface RepeatedRequest {
  readonly parted: headers.Parted
  /** The session of the last request with them, and the fields that the service gets for it. */
  known?: Known
  admitted?: Fields
}

const admittedFields = (parted: headers.Parted, { cookies, userHeaders }: Known): Fields =>
  headers.joinFields(parted, cookies, userHeaders)

/** Sign-in in one realm. */
export class SignInHandler {
  readonly #shared: Shared
  readonly #sessions: RealmSessions
  readonly #flow: SignInFlow
  readonly #realmId: string
  readonly #cookiePrefix: string
  readonly #tag: string
  readonly #passesOptions: boolean
  /** Known without a session only if there is one offer. */
  readonly #clientId: string | undefined
  readonly #known = new TwoGenerationCache<Known>(MEMORY_CHARACTERS)
  readonly #isOurs: (name: string) => boolean
  readonly #forClient: (fields: Fields) => Fields
  readonly #forService = (fields: Fields): RepeatedRequest => ({ parted: headers.partFields(fields) })

  constructor(shared: Shared, offers: readonly SignInOffer[], moduleContext: ModuleContext) {
    this.#shared = shared
    this.#realmId = moduleContext.id
    this.#sessions = new RealmSessions(shared, offers, moduleContext)
    this.#flow = new SignInFlow(shared, this.#sessions, this.#realmId)
    // The name must be known before the session and its offer.
    this.#cookiePrefix = offers[0]?.config.cookiePrefix ?? ''
    this.#tag = moduleContext.edgeId === undefined ? '' : routeTag(this.#realmId)
    this.#passesOptions = offers.every(({ config }) => config.optionsPassthrough)
    this.#clientId = offers.length === 1 ? offers[0]?.method.clientId : undefined
    this.#isOurs = ownCookies(this.#cookiePrefix)
    this.#forClient = headers.withoutOwnCookies(ownMarks(this.#cookiePrefix), this.#isOurs)
  }

  /** Needs no decryption for a recently seen session. */
  handle(exchange: Exchange, next: Endpoint): Promise<Reply> {
    const { head, client } = exchange
    exchange.context.signIn.appClientId = this.#clientId
    if (client.scheme === 'http' && this.#shared.info.httpsPort !== undefined)
      return Promise.resolve(this.#secured(head))
    if (isSignInPath(head.path)) return this.#ownPath(exchange)
    const repeated = head.fields.made(this.#forService)
    const { parted } = repeated
    const known = parted.cookie === '' ? undefined : this.#known.get(parted.cookie)
    const isGood =
      known !== undefined &&
      known.host === head.host &&
      known.scheme === client.scheme &&
      this.#shared.now() < known.goodUntil &&
      this.#shared.revocation.isKnown(known.sessionId)
    if (!isGood) return this.#authenticate(exchange, next, parted)
    if (repeated.known !== known) {
      repeated.known = known
      repeated.admitted = admittedFields(parted, known)
    }
    return this.#admit(exchange, next, known, repeated.admitted ?? admittedFields(parted, known))
  }

  /**
   * Without TLS, codes and cookies could be intercepted, and any host of the same domain could inject a session:
   * browsers accept host-only cookies only over HTTPS.
   */
  #secured(head: RequestHead): Reply {
    const { info, realmsAt } = this.#shared
    if (realmsAt('https', head.host).length === 0) return errorReply('sign_in_https', head)
    const target = head.target.startsWith('/') ? head.target : '/'
    return redirectReply(originOf('https', head.host, info.httpsPort) + target, 308)
  }

  async #authenticate(exchange: Exchange, next: Endpoint, parted: headers.Parted): Promise<Reply> {
    const request = this.#request(exchange, parted.cookie)
    const found = await this.#sessions.find(request)
    const { head, client } = exchange
    if (found === undefined) {
      if (head.method !== 'OPTIONS' || !this.#passesOptions) return this.#reject(request)
      return this.#pass(exchange, next, headers.joinFields(parted, request.jar.rest, ''))
    }
    const { method } = found.offer
    const known: Known = {
      host: head.host,
      scheme: client.scheme,
      sessionId: found.session.id,
      goodUntil: found.goodUntil,
      cookies: request.jar.rest,
      user: found.session.granted.identity,
      clientId: method.clientId,
      userHeaders: headers.identityLines(found.session.granted, method.passesTokens === true),
    }
    this.#known.set(parted.cookie, known, parted.cookie.length + known.userHeaders.length)
    const reply = await this.#admit(exchange, next, known, admittedFields(parted, known))
    return headers.withCookies(reply, found.cookies)
  }

  #admit(exchange: Exchange, next: Endpoint, known: Known, fields: Fields): Promise<Reply> {
    exchange.context.signIn.identity = known.user
    exchange.context.signIn.appClientId = known.clientId
    return this.#pass(exchange, next, fields)
  }

  #pass(exchange: Exchange, next: Endpoint, fields: Fields): Promise<Reply> {
    return next(withHead(exchange, { fields })).then(reply => headers.withChange(reply, this.#forClient))
  }

  /**
   * A page can follow a redirect to a provider, a script cannot: the provider's page is of another origin, and the
   * script sees only a network error. So it gets 401 instead.
   */
  async #reject(request: SignInRequest): Promise<Reply> {
    const { head } = request.exchange
    if (isNavigation(head)) return this.#start(request, { returnTo: returnTarget(head.target), again: false })
    return headers.withCookies(errorReply('sign_in_required', head), leftOver(request))
  }

  /** Redirects to the only provider, or to the page with all of them. */
  async #start(request: SignInRequest, start: Start): Promise<Reply> {
    const [only, second] = this.#sessions.offers
    if (only !== undefined && second === undefined) return this.#flow.begin(request, only, start)
    const reply = redirectReply(chooserUrl(this.#chooser(request), start), 302)
    return headers.withCookies(reply, start.again ? [] : leftOver(request))
  }

  async #ownPath(exchange: Exchange): Promise<Reply> {
    const request = this.#request(exchange, headers.partFields(exchange.head.fields).cookie)
    const { head } = exchange
    if (head.path === LOG_OUT_PATH) return this.#logOut(request)
    if (head.path !== LOG_IN_PATH && head.path !== CHOOSER_PATH) return this.#flow.finish(request)
    if (!isNavigation(head)) return errorReply('sign_in_required', head)
    return head.path === LOG_IN_PATH
      ? this.#start(request, { returnTo: '/', again: true })
      : this.#choose(request)
  }

  /** The page with all providers, or a redirect to the one that the user chose there. */
  async #choose(request: SignInRequest): Promise<Reply> {
    const { head } = request.exchange
    const { offers } = this.#sessions
    const choice = choiceIn(this.#chooser(request), head.target)
    const chosen = this.#sessions.offer(choice.key)
    if (chosen !== undefined) return this.#flow.begin(request, chosen, choice)
    // One of several may have been removed meanwhile.
    if (offers.length === 1) return this.#start(request, choice)
    return chooserReply(head, { realmId: this.#realmId, to: choice.to, offers })
  }

  async #logOut(request: SignInRequest): Promise<Reply> {
    await this.#sessions.end(request)
    const dropped = dropSession(request.names, request.jar, this.#flow.unfinished(request))
    return headers.withCookies(signedOutReply(request.exchange.head, this.#realmId), dropped)
  }

  #chooser({ origin }: SignInRequest): ChooserRealm {
    return { seal: this.#shared.seal, realmId: this.#realmId, origin }
  }

  #request(exchange: Exchange, cookie: string): SignInRequest {
    const { info } = this.#shared
    const jar = readCookies(cookie, this.#isOurs)
    return signInRequestOf(exchange, jar, {
      info,
      realmId: this.#realmId,
      prefix: this.#cookiePrefix,
      tag: this.#tag,
    })
  }
}
