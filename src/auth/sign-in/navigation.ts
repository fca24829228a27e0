import type { RequestHead } from '#http/head.ts'

/** Methods of links and forms. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST'])
const PAGE = /\b(?:text\/html|application\/xhtml\+xml)\b/i

/**
 * Whether a browser loads a page with this request, so that it can follow a redirect to an identity provider. A script
 * cannot: the provider's page is of another origin. Browsers send Sec-Fetch-Mode. Older ones do not, but they accept
 * HTML by name, which programs do not.
 */
export function isNavigation({ method, fields, upgrade }: RequestHead): boolean {
  if (upgrade !== '' || !METHODS.has(method)) return false
  const mode = fields.get('sec-fetch-mode')
  return mode === undefined ? PAGE.test(fields.get('accept') ?? '') : mode === 'navigate'
}
