const linkToken = (): string | null => new URLSearchParams(location.hash.slice(1)).get('token')

/** Whether the address is a one-time link, which starts a new session. */
export const hasLinkToken = (): boolean => linkToken() !== null

/** The token of a one-time link. It is in the fragment, which browsers do not send, and is removed from the history. */
export function takeToken(): string | undefined {
  const token = linkToken()
  if (token !== null) history.replaceState(null, '', location.pathname + location.search)
  return token ?? undefined
}
