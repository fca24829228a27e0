import { EgressError, type EgressAnswer } from '#base/egress.ts'
import type { Hop } from '#base/egress/send.ts'

const redirects = new Set([301, 302, 303, 307, 308])
/** Headers that another origin may receive; any other header may be a secret. */
const harmless = new Set(['accept', 'accept-encoding', 'accept-language', 'content-type', 'user-agent'])

const invalid = (message: string): EgressError => new EgressError(message, { code: 'invalid' })

/** An http or https URL, without user name and password. */
export function webAddress(text: string, base?: URL): URL {
  const url = URL.parse(text, base)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw invalid('Only http: and https: URLs are supported.')
  if (url.username !== '' || url.password !== '')
    throw invalid('A URL may not contain a user name or password.')
  return url
}

/** The target of a redirect; undefined when the response is final. */
export function redirected(hop: Hop, { status, headers }: EgressAnswer): Hop | undefined {
  const location = headers['location']
  if (!redirects.has(status) || location === undefined) return undefined
  const url = webAddress(location, hop.url)
  if (hop.url.protocol === 'https:' && url.protocol === 'http:')
    throw invalid(`${hop.url.origin} redirects to a URL without TLS.`)
  // As browsers do: only 307 and 308 keep the method of a request that is not GET or HEAD.
  const asks = hop.method === 'GET' || hop.method === 'HEAD'
  const keeps = asks || status === 307 || status === 308
  const isOther = url.origin !== hop.url.origin
  if (keeps && isOther && hop.body !== undefined)
    throw invalid(`${hop.url.origin} redirects a request body to ${url.origin}.`)
  const kept = Object.entries(hop.headers).filter(
    ([name]) => (!isOther || harmless.has(name)) && (keeps || name !== 'content-type'),
  )
  return {
    url,
    method: keeps ? hop.method : 'GET',
    headers: Object.fromEntries(kept),
    body: keeps ? hop.body : undefined,
  }
}
