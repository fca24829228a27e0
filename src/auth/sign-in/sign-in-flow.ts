import { createHash } from 'node:crypto'
import { clientNetwork } from '#base/client-network.ts'
import { Problem } from '#base/errors.ts'
import type { Reply } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import { errorReply, redirectReply } from '#http/pages.ts'
import { callbackUrl } from '#auth/sign-in/callback-host.ts'
import { otherAccountLink, type Start } from '#auth/sign-in/chooser.ts'
import { dropCookie, sessionIn } from '#auth/sign-in/cookies.ts'
import { type Flow, Flows, IDP_INITIATED, returnUrl, sealState, type State } from '#auth/sign-in/flow.ts'
import { withCookies } from '#auth/sign-in/headers.ts'
import { checkedIdentity } from '#auth/sign-in/identity.ts'
import { parametersOf } from '#auth/sign-in/paths.ts'
import type { Offered, RealmSessions } from '#auth/sign-in/realm-sessions.ts'
import { answerIn } from '#auth/sign-in/provider-response.ts'
import type { Shared } from '#auth/sign-in/shared.ts'
import type { AuthResult } from '#auth/sign-in/sign-in.ts'
import type { SignInRequest } from '#auth/sign-in/sign-in-request.ts'

/** Sign-ins in one realm, from the redirect to the provider until the session. */
export class SignInFlow {
  readonly #shared: Shared
  readonly #sessions: RealmSessions
  readonly #realmId: string
  readonly #flows: Flows

  constructor(shared: Shared, sessions: RealmSessions, realmId: string) {
    this.#shared = shared
    this.#sessions = sessions
    this.#realmId = realmId
    this.#flows = new Flows(shared.seal, shared.now)
  }

  /** Method and body of an intercepted request are not kept: the browser returns with GET. */
  async begin(request: SignInRequest, offer: Offered, start: Start): Promise<Reply> {
    const { returnTo, again, chooseAccount = false } = start
    const { seal, info } = this.#shared
    const { origin, exchange } = request
    const flowId = this.#flows.newId()
    const state = sealState(seal, { realmId: this.#realmId, origin, returnTo, flowId })
    try {
      const { url, memory } = await offer.method.begin({
        state,
        callback: callbackUrl(info),
        forceReauth: again,
        chooseAccount,
      })
      const flow = { flowId, offer: offer.key, fingerprint: offer.method.fingerprint, memory }
      // A user who signs in again keeps the session until that is done.
      const dropped = again ? [] : leftOver(request)
      return withCookies(redirectReply(url, 302), [...dropped, ...this.#flows.keep(flow, request)])
    } catch (error) {
      return this.#failed(error, exchange.head)
    }
  }

  /** The browser has returned from the provider. */
  async finish(request: SignInRequest): Promise<Reply> {
    const { head } = request.exchange
    const { seal, info } = this.#shared
    const realm = { realmId: this.#realmId, origin: request.origin }
    const response = answerIn(parametersOf(head.target), seal, realm)
    if (response === undefined) return errorReply('sign_in_state', head)
    const { state, parameters } = response
    const flow = this.#flowOf(state, request)
    if (flow === undefined) return this.#ended(request, state)
    const forget = dropCookie(request.names.flow + state.flowId, request.names)
    const offer = this.#sessions.offer(flow.offer)
    if (offer?.method.fingerprint !== flow.fingerprint)
      return withCookies(errorReply('sign_in_changed', head), [forget])
    try {
      if (!(await this.#claim(parameters, request))) return await this.#ended(request, state)
      const answer = { parameters, memory: flow.memory, callback: callbackUrl(info) }
      const authResult = checkedIdentity(await offer.method.finish(answer))
      const cookies = await this.#enter(request, offer, authResult)
      return withCookies(redirectReply(returnUrl(state), 302), [forget, ...cookies])
    } catch (error) {
      const link = otherAccountLink({ seal, ...realm }, state.returnTo)
      return withCookies(this.#failed(error, head, [link]), [forget])
    }
  }

  /** The cookies of unfinished sign-ins in this realm. */
  unfinished(request: SignInRequest): string[] {
    return this.#flows.startedHere(request)
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
    const claim = { digest, realmId: this.#realmId, network }
    const claimed = await this.#shared.userSessions.claimCode(claim)
    if (claimed === 'full') throw new Problem('sign_in_busy', {})
    return claimed === 'first'
  }

  /** Every sign-in creates a new session; the previous one ends, so that no session outlives its use. */
  async #enter(request: SignInRequest, offer: Offered, authResult: AuthResult): Promise<string[]> {
    try {
      const cookies = await offer.sessions.begin(request, authResult)
      await this.#sessions.end(request)
      return cookies
    } catch (error) {
      this.#shared.log.error({ error, realm: this.#realmId }, 'could not save a sign-in')
      throw new Problem('sign_in_not_kept', {})
    }
  }

  #flowOf(state: State, request: SignInRequest): Flow | undefined {
    if (state.flowId !== IDP_INITIATED) return this.#flows.take(state, request)
    const offer = this.#sessions.offers.find(({ method }) => method.allowsIdpInitiated)
    if (offer === undefined) return undefined
    const { key, method } = offer
    return { flowId: IDP_INITIATED, offer: key, fingerprint: method.fingerprint, memory: {} }
  }

  /** `links`: for an account that is not allowed. */
  #failed(error: unknown, head: RequestHead, links: Parameters<typeof errorReply>[3] = []): Reply {
    if (error instanceof Problem)
      return errorReply(error.code, head, error.values, error.status === 403 ? links : [])
    this.#shared.log.warn({ error, realm: this.#realmId }, 'signing in failed')
    return errorReply('sign_in_provider', head, { reason: 'it could not be reached' })
  }
}

/** Set-Cookie values that delete a session that no longer exists. */
export const leftOver = ({ jar, names }: SignInRequest): string[] =>
  sessionIn(jar, names).map(name => dropCookie(name, names))
