import { Access } from '#api/access.ts'
import type { ApiRequest } from '#api/api-request.ts'
import type { Call, Deps, Principal } from '#api/call.ts'
import type { ChangeWatch } from '#api/change-watch.ts'
import { Browsers } from '#api/dashboard/browsers.ts'
import type { OpenIdOptions } from '#api/dashboard/openid-provider.ts'
import { DashboardSessions, type SessionLimits } from '#api/dashboard/sessions.ts'
import type { HttpCall } from '#api/http-server.ts'
import { ApiRateLimit } from '#api/rate-limit.ts'
import { checkHost, checkVersion } from '#api/request.ts'
import { baseUrl, clientAddress } from '#api/via-gateway.ts'
import type { Log } from '#base/log.ts'
import type { TrustedProxies } from '#base/trusted-proxies.ts'
import { hasPrefixOf } from '#contract/kind.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'

/** A page of the dashboard sends several requests. */
const BROWSER_CALLS = 5

export interface ApiAdmissionOptions extends Deps {
  readonly log: Log
  /** Requests per minute and key; 0 for no limit. */
  readonly rateLimit: () => number
  /** Counts an accepted request with an API key. */
  readonly usedKey: (key: string, owner: string) => void
  readonly publicUrl: string | undefined
  /** The URL at which the gateway serves the dashboard; undefined if it does not. */
  readonly dashboardUrl?: string | undefined
  /** Reverse proxies in front of the API; absent: none. */
  readonly proxies?: TrustedProxies
  readonly dashboard: SessionLimits
  /** The OpenID provider for the dashboard. */
  readonly openid?: OpenIdOptions | undefined
}

/** Decides which requests are carried out, and for which caller: an API key, or a signed-in browser. */
export class ApiAdmission {
  readonly sessions: DashboardSessions
  readonly browsers: Browsers
  readonly #options: ApiAdmissionOptions
  readonly #watch: ChangeWatch
  readonly #access: Access
  readonly #keyLimit: ApiRateLimit
  readonly #browserLimit: ApiRateLimit

  constructor(options: ApiAdmissionOptions, watch: ChangeWatch) {
    const { store, sealer, now, log, rateLimit, dashboard: limits } = options
    this.#options = options
    this.#watch = watch
    this.#access = watch.keeps(new Access(store, log))
    this.sessions = watch.keeps(new DashboardSessions({ store, sealer, now, log, limits }))
    this.browsers = new Browsers(this.sessions, options.publicUrl)
    this.#keyLimit = new ApiRateLimit(rateLimit, now)
    this.#browserLimit = new ApiRateLimit(() => rateLimit() * BROWSER_CALLS, now)
  }

  /** Authentication and address. */
  async identify({ request }: HttpCall): Promise<Principal> {
    return await this.#principalOf(request, this.#addressOf(request))
  }

  #principalOf(request: ApiRequest, ip: string): Principal | Promise<Principal> {
    const behind = this.#watch.catchUp()
    if (behind !== undefined || this.browsers.sent(request)) return this.#readPrincipal(behind, request, ip)
    return this.#access.admit(request.headers['authorization'], ip)
  }

  async #readPrincipal(
    behind: Promise<void> | undefined,
    request: ApiRequest,
    ip: string,
  ): Promise<Principal> {
    await behind
    if (!this.browsers.sent(request)) return await this.#access.admit(request.headers['authorization'], ip)
    await this.#access.requireAddress('dashboard', ip)
    return (await this.browsers.identify(request)).principal
  }

  /** Also rate limit and version. Not a promise for a known API key. */
  admit(httpCall: HttpCall): Call | Promise<Call> {
    const { request } = httpCall
    checkHost(request)
    const ip = this.#addressOf(request)
    const principal = this.#principalOf(request, ip)
    if (principal instanceof Promise) return principal.then(found => this.#admitted(httpCall, found, ip))
    return this.#admitted(httpCall, principal, ip)
  }

  #admitted(httpCall: HttpCall, principal: Principal, ip: string): Call {
    const { request } = httpCall
    const { admitted } = request.known
    this.#count(request, principal)
    if (admitted?.principal === principal && admitted.ip === ip) return admitted
    checkVersion(request.headers)
    return (request.known.admitted = this.callFor(httpCall, principal, ip))
  }

  /** For requests before sign-in: rejects clients whose address may not use the dashboard. */
  async guard({ request }: HttpCall): Promise<void> {
    checkHost(request)
    await this.#watch.catchUp()
    await this.#access.requireAddress('dashboard', this.#addressOf(request))
  }

  /** The request in progress of a caller. */
  callFor({ request }: HttpCall, principal: Principal, ip = this.#addressOf(request)): Call {
    const { store, live, sealer, info, now, refreshUsage, checkDomain, publicUrl } = this.#options
    return {
      store,
      live,
      sealer,
      info,
      now,
      refreshUsage,
      checkDomain,
      principal,
      ip,
      base: baseUrl(request, publicUrl),
    }
  }

  #addressOf(request: ApiRequest): string {
    return clientAddress(request, this.#options.proxies)
  }

  #count(request: ApiRequest, { keyId, id }: Principal): void {
    if (!hasPrefixOf(dashboardSession, keyId)) {
      this.#keyLimit.count(keyId)
      return this.#options.usedKey(keyId, id)
    }
    this.browsers.touch(request)
    this.#browserLimit.count(keyId)
  }
}
