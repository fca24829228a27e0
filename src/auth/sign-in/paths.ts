/** Makes the provider prompt again; returns to "/". */
export const LOG_IN_PATH = '/auth/authn'
export const LOG_OUT_PATH = '/auth/logout'
/** Where a sign-in ends, on the endpoint's own host. */
export const SIGNED_IN_PATH = '/.adit/signed-in'

/** Paths that an endpoint with sign-in handles itself; they are never forwarded. */
export const isSignInPath = (path: string): boolean =>
  path === LOG_IN_PATH || path === LOG_OUT_PATH || path === SIGNED_IN_PATH

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
