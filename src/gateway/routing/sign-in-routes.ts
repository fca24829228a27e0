import { signInModules } from '#contract/modules/sign-in.ts'
import { cookieGuard } from '#auth/sign-in/cookie-guard.ts'
import { prefixFor } from '#auth/sign-in/cookies.ts'
import { isSignInPath, LOG_IN_PATH, LOG_OUT_PATH, routeIn } from '#auth/sign-in/paths.ts'
import { covers } from '#base/hosts.ts'
import { optionsOf } from '#gateway/modules/index.ts'
import { hostOf, isNormalizing, type MatchedRoute, type RouteRow } from '#gateway/routing/routes.ts'
import { requiresSignIn } from '#gateway/routing/sign-in-realm.ts'
import type { Handler } from '#http/exchange.ts'

/** The routes of an edge that require sign-in. They share hosts, and so the cookies and the sign-in paths there. */
export class SignInRoutes {
  readonly #rows: readonly RouteRow[]
  readonly #prefixes: ReadonlySet<string>
  readonly #guards = new Map<string, Handler | undefined>()

  private constructor(rows: readonly RouteRow[]) {
    this.#rows = rows
    this.#prefixes = new Set(rows.map(prefixOf))
  }

  /** Undefined when none of the routes requires sign-in. */
  static among(rows: readonly RouteRow[]): SignInRoutes | undefined {
    const found = rows.filter(requiresSignIn)
    return found.length === 0 ? undefined : new SignInRoutes(found)
  }

  /** Those at a host. */
  at(host: string): readonly RouteRow[] {
    return this.#rows.filter(row => covers(hostOf(row) ?? host, host))
  }

  /** Those at a host for which the path is one of the sign-in paths. */
  forPath(host: string, path: string, normal: string): readonly RouteRow[] {
    if (!(isSignInPath(path) || isSignInPath(normal))) return []
    return this.at(host).filter(row => isSignInPath(isNormalizing(row) ? normal : path))
  }

  /** Keeps the cookies of other routes from a route; undefined where the route's own sign-in does. */
  guardOf(route: RouteRow): Handler | undefined {
    if (this.#guards.has(route.id)) return this.#guards.get(route.id)
    const own = requiresSignIn(route) ? prefixOf(route) : undefined
    const others = [...this.#prefixes].filter(prefix => prefix !== own)
    const guard = others.length === 0 ? undefined : cookieGuard(others)
    this.#guards.set(route.id, guard)
    return guard
  }
}

/**
 * The route that handles a request for a sign-in path: the only one, or the one that the request names. To sign in again
 * or out without a name is for the route that serves the path. Undefined when none of these exists.
 */
export function chosenRoute(
  routes: readonly RouteRow[],
  target: string,
  serving: () => MatchedRoute | 'ambiguous' | undefined,
): RouteRow | undefined {
  const [only, second] = routes
  if (second === undefined) return only
  const named = routeIn(target)
  if (named !== null) return routes.find(({ id }) => id === named)
  const isPublic = target.startsWith(LOG_IN_PATH) || target.startsWith(LOG_OUT_PATH)
  const found = isPublic ? serving() : undefined
  return found === 'ambiguous' ? undefined : routes.find(row => row === found?.row)
}

/** All modules of a route use the prefix of the first. */
function prefixOf(route: RouteRow): string {
  const { body } = route
  const first = signInModules.find(name => optionsOf(route, name) !== undefined)
  return prefixFor((first && body[first]?.cookie_prefix) ?? '')
}
