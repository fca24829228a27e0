import { randomBytes } from 'node:crypto'
import type { ApiAdmissionOptions } from '#api/api-admission.ts'
import { readCookie, setCookie } from '#api/dashboard/cookie.ts'
import type { FlowMemory, OpenIdOptions } from '#api/dashboard/openid-provider.ts'
import { openIdUser } from '#api/dashboard/openid-users.ts'
import type { BrowserClient, SignIns } from '#api/dashboard/sign-ins.ts'
import type { HttpCall } from '#api/http-server.ts'
import { systemCall } from '#api/system-call.ts'
import { fail, Problem } from '#base/errors.ts'
import { sameText } from '#base/secrets.ts'
import { dashboardCalls } from '#contract/dashboard.ts'

/** A sign-in in progress, sealed in the browser: any server can finish it, and no other browser. */
interface Flow {
  readonly state: string
  readonly memory: FlowMemory
  readonly until: number
}

const FLOW_MS = 10 * 60_000
/** Also separates the sealed text from all others. */
const COOKIE = 'adit_openid'

/** Signs in through the operator's OpenID provider. */
export class OpenIdSignIn {
  readonly #options: ApiAdmissionOptions
  readonly #openid: OpenIdOptions
  readonly #signIns: SignIns

  constructor(options: ApiAdmissionOptions, openid: OpenIdOptions, signIns: SignIns) {
    this.#options = options
    this.#openid = openid
    this.#signIns = signIns
  }

  /** Remembers a sign-in in the browser, and resolves to the URL of the provider. */
  async begin(httpCall: HttpCall, { base }: BrowserClient): Promise<string> {
    const { sealer, now, publicUrl } = this.#options
    const state = randomBytes(32).toString('base64url')
    const ask = { state, callback: callbackOf(base), forceReauth: false }
    const { url, memory } = await this.#openid.provider.begin(ask)
    const flow: Flow = { state, memory, until: now() + FLOW_MS }
    const value = sealer.seal(JSON.stringify(flow), COOKIE)
    // The provider's redirect is a navigation from another site, for which Strict cookies are not sent.
    setCookie(httpCall, { name: COOKIE, value, seconds: FLOW_MS / 1000, sameSite: 'Lax', publicUrl })
    return url
  }

  /** Signs in the user of the provider's response; resolves to the session's token. */
  async finish(httpCall: HttpCall, client: BrowserClient): Promise<string> {
    const { publicUrl } = this.#options
    const parameters = new URL(httpCall.request.url, 'http://localhost').searchParams
    const flow = this.#flowOf(httpCall)
    setCookie(httpCall, { name: COOKIE, value: '', seconds: 0, sameSite: 'Lax', publicUrl })
    try {
      if (!flow || !sameText(flow.state, parameters.get('state') ?? '')) return fail('openid_state')
      const { memory } = flow
      const answer = { parameters, memory, callback: callbackOf(client.base) }
      const user = await this.#openid.provider.finish(answer)
      const call = systemCall(this.#options, client.base)
      return await this.#signIns.withOpenId(await openIdUser(user, this.#openid.roles, call), client)
    } catch (error) {
      if (error instanceof Problem) await this.#signIns.rejected('openid', error.code, client)
      throw error
    }
  }

  #flowOf({ request }: HttpCall): Flow | undefined {
    const { sealer, now, publicUrl } = this.#options
    const sealed = readCookie(request, COOKIE, publicUrl)
    if (sealed === undefined) return undefined
    try {
      const flow = JSON.parse(sealer.unseal(sealed, COOKIE)) as Flow
      return flow.until > now() ? flow : undefined
    } catch {
      // Not made here, or with another master key.
      return undefined
    }
  }
}

const callbackOf = (base: string): string => base + dashboardCalls.openid_callback.path
