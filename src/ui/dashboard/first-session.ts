const SESSION_PATH = '/dashboard/session'
const linkToken = /[#&]token=/

let first: Promise<Response> | undefined

/** Whether the address is a one-time link, which starts a new session. */
export const hasLinkToken = (): boolean => linkToken.test(location.hash)

const requestSession = (): Promise<Response> =>
  fetch(SESSION_PATH, { headers: { accept: 'application/json' } })

/** Requests the session of the browser before anything needs it. */
export function beginSession(): void {
  if (hasLinkToken()) return
  first = requestSession()
  // A failure is reported to the part that takes the response.
  first.catch(() => undefined)
}

/** The response to the early request, once; later ones are new. */
export function takeSession(): Promise<Response> {
  const taken = first ?? requestSession()
  first = undefined
  return taken
}
