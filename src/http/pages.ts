import { STATUS_CODES } from 'node:http'
import { isIP } from 'node:net'
import { Problem, type ErrorName } from '#base/errors.ts'
import { nameFault } from '#base/name-fault.ts'
import type { Reply } from '#http/exchange.ts'
import { bodyOf, noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { formatFor, type PageFormat } from '#http/pages/format.ts'
import { fallback, hints } from '#http/pages/error-hints.ts'
import { htmlOf, styleHash, type HtmlPage } from '#http/pages/html.ts'

/** The parts of the request that a page uses; undefined when the request could not be parsed. */
export type Asked = Pick<RequestHead, 'method' | 'host' | 'fields'> | undefined

const RETRY_SECONDS = 5
const MAX_REFLECTED = 300

const mediaTypes: Readonly<Record<PageFormat, string>> = {
  html: 'text/html; charset=utf-8',
  json: 'application/json; charset=utf-8',
  text: 'text/plain; charset=utf-8',
}

// The last three do not fall back on default-src.
const POLICY = `default-src 'none'; style-src '${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const COMMON =
  `Cache-Control: no-store\r\nContent-Security-Policy: ${POLICY}\r\n` +
  'X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n'

/**
 * A gateway response: the error with the catalogue's text, in the format that the client accepts. Besides the
 * placeholders, `values` may have `domain` (the shared one, for short names in commands) and `realm`.
 */
export function errorReply(
  code: ErrorName,
  head: Asked,
  values: Readonly<Record<string, string | number>> = {},
): Reply {
  const host = reflected(head?.host ?? '')
  const problem = new Problem(code, { host: host || 'this name', ...mapValues(values, reflected) })
  const format = formatFor(head?.fields.get('accept') ?? '')
  const page = pageOf(problem, head?.host ?? '', values)
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
  const bytes = Buffer.from(rendered(page, format))
  return { ...replyOf(problem.status, fields, bytes, head?.method), refusal: code }
}

/** A gateway response that is not an error. */
export function pageReply(head: NonNullable<Asked>, page: HtmlPage): Reply {
  const format = formatFor(head.fields.get('accept') ?? '')
  const fields = new Fields(`Content-Type: ${mediaTypes[format]}\r\n${COMMON}`)
  return replyOf(page.status, fields, Buffer.from(rendered(page, format)), head.method)
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
  return replyOf(status, fields, Buffer.alloc(0), undefined)
}

function replyOf(status: number, fields: Fields, bytes: Buffer, method: string | undefined): Reply {
  const reason = STATUS_CODES[status] ?? ''
  if (method === 'HEAD') {
    const head = { status, reason, fields, framing: noBody.framing, announcedLength: bytes.length }
    return { head, body: noBody }
  }
  const body = bodyOf(bytes)
  return { head: { status, reason, fields, framing: body.framing }, body }
}

function pageOf(problem: Problem, host: string, values: Readonly<Record<string, string | number>>): HtmlPage {
  const hint = hints[problem.code] ?? fallback
  const name = safeName(host, String(values['domain'] ?? ''))
  return {
    status: problem.status,
    code: problem.number === undefined ? '' : `ERR_ADIT_${problem.number}`,
    title: hint.title,
    text: problem.message,
    visitor: hint.visitor,
    owner: hint.owner,
    command: hint.command?.replace('{name}', name && ` --name ${name}`),
  }
}

function rendered(page: HtmlPage, format: PageFormat): string {
  if (format === 'html') return htmlOf(page)
  const { status, code, text, visitor, owner, command } = page
  if (format === 'json') {
    const details = { visitor, owner, command }
    return JSON.stringify({ error_code: code, status_code: status, msg: text, details }) + '\n'
  }
  const mended = [owner, command && `  ${command}`].filter(Boolean).join('\n')
  return [text, visitor, mended, code].filter(Boolean).join('\n\n') + '\n'
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
