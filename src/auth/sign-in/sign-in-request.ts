import type { Exchange } from '#http/exchange.ts'
import { cookieNames, type CookieNames, type Jar } from '#auth/sign-in/cookies.ts'
import { originOf } from '#auth/sign-in/paths.ts'
import type { Shared } from '#auth/sign-in/shared.ts'

/** The client of a request, as needed for sign-in. */
export interface SignInRequest {
  readonly exchange: Exchange
  readonly jar: Jar
  readonly names: CookieNames
  /** The endpoint's origin as clients write it; with the configured port. */
  readonly origin: string
  /**
   * The audience of cookies: this host, this realm and this kind of cookie. They are invalid elsewhere, also at another
   * route of the same host.
   */
  readonly audience: string
}

export function signInRequestOf(
  exchange: Exchange,
  jar: Jar,
  { info, realmId, prefix, tag }: { info: Shared['info']; realmId: string; prefix: string; tag: string },
): SignInRequest {
  const { scheme } = exchange.client
  const { host } = exchange.head
  const names = cookieNames(prefix, scheme, tag)
  return {
    exchange,
    jar,
    names,
    origin: originOf(scheme, host, scheme === 'https' ? info.httpsPort : info.httpPort),
    audience: `${names.session} ${host} ${realmId}`,
  }
}
