import type { Exchange } from '#http/exchange.ts'
import { cookieNames, type CookieNames, type Jar } from '#auth/sign-in/cookies.ts'
import { originOf } from '#auth/sign-in/paths.ts'
import type { Shared } from '#auth/sign-in/shared.ts'

/** Whoever sends a request, as far as signing in goes. */
export interface Guest {
  readonly exchange: Exchange
  readonly jar: Jar
  readonly names: CookieNames
  /** Of the endpoint as its visitors write it; its port is the one we are configured with. */
  readonly origin: string
  /** What cookies are sealed for: this host, this place and this kind of cookie. They open nowhere else. */
  readonly audience: string
}

export function guestOf(
  exchange: Exchange,
  jar: Jar,
  { facts, placeId, prefix }: { facts: Shared['facts']; placeId: string; prefix: string },
): Guest {
  const { scheme } = exchange.visitor
  const { host } = exchange.head
  const names = cookieNames(prefix, scheme)
  return {
    exchange,
    jar,
    names,
    origin: originOf(scheme, host, scheme === 'https' ? facts.httpsPort : facts.httpPort),
    audience: `${names.session} ${host} ${placeId}`,
  }
}
