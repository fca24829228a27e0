import { STATUS_CODES } from 'node:http'
import { isIP } from 'node:net'
import { Problem, type ErrorName } from '#base/errors.ts'
import { nameFault } from '#base/name-fault.ts'
import type { Reply } from '#http/exchange.ts'
import { bodyOf, noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { formatFor, type PageFormat } from '#http/pages/format.ts'
import type { Hint } from '#base/hints/hint.ts'
import { fallback, hints } from '#base/hints/hints.ts'
import type { HtmlPage } from '#http/pages/html.ts'

/** The parts of the request that a page uses; undefined when the request could not be parsed. */
export type RefusedRequest = Pick<RequestHead, 'method' | 'host' | 'fields'> | undefined

const RETRY_SECONDS = 5
const MAX_REFLECTED = 300

const mediaTypes: Readonly<Record<PageFormat, string>> = {
  html: 'text/html; charset=utf-8',
  json: 'application/json; charset=utf-8',
  text: 'text/plain; charset=utf-8',
}

const COMMON =
  'Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n'

/**
 * A gateway response: the error with the catalogue's text, in the format that the client accepts. Besides the
 * placeholders, `values` may have `domain` (the shared one, for short names in commands), `labels` (for commands),
 * `lacks` (what an edge is without) and `realm`. Only HTML has the `links`.
 */
export function errorReply(
  code: ErrorName,
  head: RefusedRequest,
  values: Readonly<Record<string, string | number>> = {},
  links: HtmlPage['links'] = [],
): Reply {
  const host = reflected(head?.host ?? '')
  const problem = new Problem(code, { host: host || 'this name', ...mapValues(values, reflected) })
  const format = formatFor(head?.fields.get('accept') ?? '')
  const content = { ...contentOf(problem), links }
  const realm = String(values['realm'] ?? host)
  const fields = new Fields(
    `Content-Type: ${mediaTypes[format]}\r\n` +
      COMMON +
      codeFields(problem) +
      (problem.status === 503 || problem.status === 429
        ? `Retry-After: ${problem.retryAfter ?? RETRY_SECONDS}\r\n`
        : '') +
      (code === 'password_required' ? `WWW-Authenticate: ${challenge(realm)}\r\n` : ''),
  )
  const name = safeName(head?.host ?? '', String(values['domain'] ?? ''))
  const error = {
    hint: hintFor(code, values['lacks']),
    brief: withoutCause(problem),
    values: { name: name && ` --name ${name}`, labels: String(values['labels'] ?? '--label name=value') },
  }
  const page = { content, format, isHead: head?.method === 'HEAD', error }
  return { ...emptyReply(problem.status, fields), page, refusal: code }
}

function hintFor(code: ErrorName, lacks: string | number | undefined): Hint {
  const hint = hints[code] ?? fallback
  return lacks === 'route' || lacks === 'backend' ? { ...hint, ...hint.forEdge?.[lacks] } : hint
}

/** A gateway response that is not an error. */
export function pageReply(head: NonNullable<RefusedRequest>, content: HtmlPage): Reply {
  const format = formatFor(head.fields.get('accept') ?? '')
  const fields = new Fields(`Content-Type: ${mediaTypes[format]}\r\n${COMMON}`)
  const page = { content, format, isHead: head.method === 'HEAD' }
  return { ...emptyReply(content.status, fields), page }
}

/** Redirects the client. */
export function redirectReply(url: string, status: 301 | 302 | 303 | 307 | 308): Reply {
  // Only http and https URLs: `javascript:` is a URL too.
  const { protocol, href } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new TypeError(`"${protocol}" is not redirected to.`)
  const fields = new Fields(
    `Location: ${href}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n`,
  )
  const body = bodyOf(Buffer.alloc(0))
  return { head: { status, reason: STATUS_CODES[status] ?? '', fields, framing: body.framing }, body }
}

/** The body follows when the page is rendered. */
const emptyReply = (status: number, fields: Fields): Reply => ({
  head: { status, reason: STATUS_CODES[status] ?? '', fields, framing: noBody.framing },
  body: noBody,
})

function contentOf(problem: Problem): HtmlPage {
  const { title, visitor } = hints[problem.code] ?? fallback
  return {
    status: problem.status,
    code: problem.number === undefined ? '' : `ERR_ADIT_${problem.number}`,
    title,
    text: problem.message,
    visitor,
    owner: undefined,
    command: undefined,
  }
}

/** The message without a cause that reveals internals of the site; the cause of a 400 is in the client's own request. */
function withoutCause({ message, status, values }: Problem): string {
  const cause = values['reason']
  return cause === undefined || status === 400 ? message : message.replace(`: ${cause}.`, () => '.')
}

/** Tools written for the hosted service expect its spelling of the code. */
const codeFields = ({ number }: Problem): string =>
  number === undefined
    ? ''
    : `Adit-Error-Code: ERR_ADIT_${number}\r\nNgrok-Error-Code: ERR_NGROK_${number}\r\n`

const challenge = (realm: string): string =>
  `Basic realm="${realm.replace(/[^\x20-\x7e]|["\\]/g, '')}", charset="UTF-8"`

/** External text, without terminal control characters, and shortened. */
const reflected = (value: string | number): string =>
  String(value)
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, MAX_REFLECTED)

const mapValues = (
  values: Readonly<Record<string, string | number>>,
  map: (value: string | number) => string,
): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))

/** People paste commands from pages, so only a valid name gets into one; short under the shared domain. */
function safeName(host: string, domain: string): string {
  if (nameFault(host) !== undefined || host.includes('*') || isIP(host) !== 0) return ''
  return domain !== '' && host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : host
}
