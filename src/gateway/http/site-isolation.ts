import { Fields, trimmed } from '#gateway/http/fields.ts'
import type { ResponseHead } from '#gateway/http/head.ts'
import { siteNames } from '#gateway/http/site-names.ts'

/** What a field says without what it says of other hosts; undefined: the field is removed. */
type Rule = (value: string, host: string) => string | undefined

const COOKIE_DOMAIN = /;[\t ]*domain[\t ]*(?:=([^;]*))?(?=;|$)/gi
const INCLUDE_SUBDOMAINS = /^[\t ]*includesubdomains\b/i
// A name in JSON can be written with escapes.
const REPORTS_OF_SUBDOMAINS = /include_subdomains|\\/i
/** What belongs to one origin; cookies belong to the whole site, and "*" stands for them too. */
const ofOrigin = new Set([
  '"cache"',
  '"storage"',
  '"executioncontexts"',
  '"prefetchcache"',
  '"prerendercache"',
])

/** A cookie without a Domain, or with that of its own host, is not sent to hosts of others. */
const cookie: Rule = (value, host) =>
  value.replace(COOKIE_DOMAIN, (attribute, given = '') => (isHost(given, host) ? attribute : ''))

const isHost = (given: string, host: string): boolean =>
  trimmed(given, 0, given.length).replace(/^\./, '').toLowerCase() === host

const clearSiteData: Rule = value => {
  const kept = value.split(',').filter(kind => ofOrigin.has(kind.trim().toLowerCase()))
  return kept.length === 0 ? undefined : kept.join(',').trim()
}

const transportSecurity: Rule = value =>
  value
    .split(';')
    .filter(directive => !INCLUDE_SUBDOMAINS.test(directive))
    .join(';')

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
const ruleFor: ReadonlyMap<string, Rule> = new Map(Object.entries(rules))

/** By the code of a letter in lower case: whether one of the names begins with it. */
const initials = Uint8Array.from({ length: 128 }, (_, code) =>
  siteNames.some(name => name.charCodeAt(0) === code) ? 1 : 0,
)

/**
 * Keeps what services under the shared domain tell browsers to their own hosts. To a browser all hosts of a domain are
 * one site, unless the Public Suffix List has it, but here they belong to several owners.
 */
export class SiteIsolation {
  readonly #domain: string
  readonly #suffix: string

  constructor(domain: string) {
    this.#domain = domain
    this.#suffix = `.${domain}`
  }

  /** The head of an answer of `host`. Nearly always it is the same one. */
  confined(head: ResponseHead, host: string): ResponseHead {
    if (!host.endsWith(this.#suffix) && host !== this.#domain) return head
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
    if (initials[text.charCodeAt(at) | 0x20] === 1) {
      const line = confinedLine(text, at, end, host)
      if (line !== undefined) {
        kept += text.slice(from, at) + line
        from = end + 2
      }
    }
    at = end + 2
  }
  return from === 0 ? text : kept + text.slice(from)
}

/** The line that stands instead of another, empty where none does; undefined when it can stay. */
function confinedLine(text: string, at: number, end: number, host: string): string | undefined {
  const colon = text.indexOf(':', at)
  const name = text.slice(at, colon)
  const rule = ruleFor.get(name.toLowerCase())
  if (rule === undefined) return undefined
  const value = trimmed(text, colon + 1, end)
  const confined = rule(value, host)
  if (confined === value) return undefined
  return confined === undefined ? '' : `${name}: ${confined}\r\n`
}
