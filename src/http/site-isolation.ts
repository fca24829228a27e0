import { Fields, trimmed } from '#http/fields.ts'
import type { ResponseHead } from '#http/head.ts'
import { siteNames } from '#http/site-names.ts'

/** A field value without what affects other hosts; undefined: the field is removed. */
type Rule = (value: string, host: string) => string | undefined

const COLON = 0x3a
const MENTIONS_DOMAIN = /;[\t ]*domain/i
const MENTIONS_SUBDOMAINS = /includesubdomains/i
const COOKIE_DOMAIN = /;[\t ]*domain[\t ]*(?:=([^;]*))?(?=;|$)/gi
const INCLUDE_SUBDOMAINS = /^[\t ]*includesubdomains\b/i
// A name in JSON can be written with escapes.
const REPORTS_OF_SUBDOMAINS = /include_subdomains|\\/i
/** Values that affect one origin; cookies belong to the whole site, and "*" includes them. */
const ofOrigin = new Set([
  '"cache"',
  '"storage"',
  '"executioncontexts"',
  '"prefetchcache"',
  '"prerendercache"',
])

/** A cookie without a Domain, or with that of its own host, is not sent to other owners' hosts. */
const cookie: Rule = (value, host) =>
  MENTIONS_DOMAIN.test(value)
    ? value.replace(COOKIE_DOMAIN, (attribute, given = '') => (isHost(given, host) ? attribute : ''))
    : value

const isHost = (given: string, host: string): boolean =>
  trimmed(given, 0, given.length).replace(/^\./, '').toLowerCase() === host

const clearSiteData: Rule = value => {
  const kept = value.split(',').filter(kind => ofOrigin.has(kind.trim().toLowerCase()))
  return kept.length === 0 ? undefined : kept.join(',').trim()
}

const transportSecurity: Rule = value =>
  MENTIONS_SUBDOMAINS.test(value)
    ? value
        .split(';')
        .filter(directive => !INCLUDE_SUBDOMAINS.test(directive))
        .join(';')
    : value

const reports: Rule = value => (REPORTS_OF_SUBDOMAINS.test(value) ? undefined : value)
const removed: Rule = () => undefined

const rules: Readonly<Record<(typeof siteNames)[number], Rule>> = {
  'set-cookie': cookie,
  'clear-site-data': clearSiteData,
  'strict-transport-security': transportSecurity,
  nel: reports,
  'report-to': reports,
  'public-key-pins': removed,
  'public-key-pins-report-only': removed,
}

interface Named {
  readonly name: string
  readonly rule: Rule
}

/** The rules by the code of the first letter of their names, in lower case. */
const byInitial: readonly (readonly Named[])[] = Array.from({ length: 128 }, (_, code) =>
  siteNames.filter(name => name.charCodeAt(0) === code).map(name => ({ name, rule: rules[name] })),
)

/**
 * Limits what services under the shared domain set in browsers to their own hosts. To a browser all hosts of a domain
 * are one site, unless it is on the Public Suffix List, but here they have several owners.
 */
export class SiteIsolation {
  readonly #domain: string
  readonly #suffix: string

  constructor(domain: string) {
    this.#domain = domain
    this.#suffix = `.${domain}`
  }

  /** Whether a host has others beside it on its site; heads of all other hosts stay as they are. */
  shares(host: string): boolean {
    return host.endsWith(this.#suffix) || host === this.#domain
  }

  /** The response head for `host`. Nearly always unchanged. */
  confined(head: ResponseHead, host: string): ResponseHead {
    if (!this.shares(host)) return head
    const { fields } = head
    const text = confinedText(fields.text, host)
    return text === fields.text ? head : { ...head, fields: new Fields(text) }
  }
}

function confinedText(text: string, host: string): string {
  let kept = ''
  let from = 0
  for (let at = 0; at < text.length;) {
    const found = text.indexOf('\r\n', at)
    const end = found < 0 ? text.length : found
    const line = confinedLine(text, at, end, host)
    if (line !== undefined) {
      kept += text.slice(from, at) + line
      from = end + 2
    }
    at = end + 2
  }
  return from === 0 ? text : kept + text.slice(from)
}

/** The replacement of a line, empty to remove it; undefined to keep it. */
function confinedLine(text: string, at: number, end: number, host: string): string | undefined {
  const candidates = byInitial[text.charCodeAt(at) | 0x20]
  if (candidates === undefined) return undefined
  for (const { name, rule } of candidates) {
    const colon = at + name.length
    if (text.charCodeAt(colon) !== COLON || text.slice(at, colon).toLowerCase() !== name) continue
    const value = trimmed(text, colon + 1, end)
    const confined = rule(value, host)
    if (confined === value) return undefined
    return confined === undefined ? '' : `${text.slice(at, colon)}: ${confined}\r\n`
  }
  return undefined
}
