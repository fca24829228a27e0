import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'

/** Makes the provider prompt again; returns to "/". */
export const LOG_IN_PATH = '/auth/authn'
export const LOG_OUT_PATH = '/auth/logout'
/** Where a sign-in ends, on the endpoint's own host. */
export const SIGNED_IN_PATH = '/.adit/signed-in'
/** Where users choose one of several providers. */
export const CHOOSER_PATH = '/.adit/sign-in'

const signInPaths: ReadonlySet<string> = new Set([LOG_IN_PATH, LOG_OUT_PATH, SIGNED_IN_PATH, CHOOSER_PATH])

/** Paths that an endpoint with sign-in handles itself; they are never forwarded. */
export const isSignInPath = (path: string): boolean => signInPaths.has(path)

const ROUTE = 'route'

/** One of these paths, with the route that it is for: several routes of an edge may have sign-in at one host. */
export function pathAt(path: string, realmId: string, query: Readonly<Record<string, string>> = {}): string {
  const isRoute = realmId.startsWith(`${httpsEdgeRoute.prefix}_`)
  const text = new URLSearchParams({ ...(isRoute && { [ROUTE]: realmId }), ...query }).toString()
  return text === '' ? path : `${path}?${text}`
}

/** The route that such a target names. */
export const routeIn = (target: string): string | null => parametersOf(target).get(ROUTE)

const OWN_FOLDER = '/.adit'

/** Gateway paths on every host. They are never forwarded, with or without sign-in. */
export const isReservedPath = (path: string): boolean =>
  path.startsWith(OWN_FOLDER) && (path.length === OWN_FOLDER.length || path[OWN_FOLDER.length] === '/')

/** The query of a target. */
export function parametersOf(target: string): URLSearchParams {
  const mark = target.indexOf('?')
  return new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1))
}

export function originOf(scheme: 'http' | 'https', host: string, port: number | undefined): string {
  const usual = scheme === 'https' ? 443 : 80
  return `${scheme}://${host}${port === undefined || port === usual ? '' : `:${port}`}`
}
