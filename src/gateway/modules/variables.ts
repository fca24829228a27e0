import type { Exchange, Visitor } from '#gateway/exchange.ts'
import type { Identity } from '#gateway/sign-in/sign-in.ts'
import type { Trace } from '#gateway/trace.ts'

/** What a request to the service can be told, or also what is known when the answer is there. */
export type Moment = 'request' | 'response'

/** A text with its variables filled in. `status` is that of the answer, 0 while there is none. */
export type Filled = (exchange: Exchange, status: number) => string

const MAX_VALUE = 4096
const VARIABLE = /\$\{([^}]*)\}/g
/** What would end a line of a head, or become something else when each character is sent as one byte. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/g

// Stages before the headers note these where they run.
const identityOf = ({ trace }: Exchange): Identity | undefined =>
  (trace as Trace & { readonly identity?: Identity }).identity
const tlsOf = ({ visitor }: Exchange) =>
  (visitor as Visitor & { readonly tls?: { readonly version: string; readonly cipher: string } }).tls

/** Text that did not come from a head travels as UTF-8, one character for each byte. */
const encoded = (text = ''): string => Buffer.from(text).toString('latin1')

const queryOf = (target: string): string => {
  const mark = target.indexOf('?')
  return mark < 0 ? '' : target.slice(mark + 1)
}

const ofRequest: Readonly<Record<string, Filled>> = {
  'conn.client_ip': ({ visitor }) => visitor.ip,
  'conn.client_port': ({ visitor }) => String(visitor.port),
  'conn.server_ip': ({ visitor }) => visitor.localIp,
  'conn.server_port': ({ visitor }) => String(visitor.localPort),
  'conn.server_name': ({ visitor, head }) => visitor.serverName ?? head.host,
  'tls.version': exchange => tlsOf(exchange)?.version ?? '',
  'tls.cipher_suite': exchange => tlsOf(exchange)?.cipher ?? '',
  'tls.client_cert.serial_number': ({ visitor }) => visitor.certificate?.serialNumber ?? '',
  'tls.client_cert.subject.cn': ({ visitor }) => encoded(visitor.certificate?.commonName),
  'tls.sni': ({ visitor }) => visitor.serverName ?? '',
  'http.request_id': ({ trace }) => trace.id,
  'http.request.method': ({ head }) => head.method,
  'http.request.url.host': ({ head }) => head.host,
  'http.request.url.path': ({ head }) => head.path,
  'http.request.url.query': ({ head }) => queryOf(head.target),
  'http.request.url.raw': ({ head, visitor }) => `${visitor.scheme}://${head.authority}${head.target}`,
  'http.request.url.scheme': ({ visitor }) => visitor.scheme,
  'http.request.user_agent': ({ head }) => head.fields.get('user-agent') ?? '',
  'http.request.version': ({ head }) => `HTTP/${head.version}`,
  'ngrok.client_ip': ({ visitor }) => visitor.ip,
  'ngrok.request_id': ({ trace }) => trace.id,
  'ngrok.saml.subject': exchange => encoded(identityOf(exchange)?.id),
  'oauth.user.email': exchange => encoded(identityOf(exchange)?.email),
  'oauth.user.id': exchange => encoded(identityOf(exchange)?.id),
  'oauth.user.name': exchange => encoded(identityOf(exchange)?.name),
}

const variables: Readonly<Record<Moment, Readonly<Record<string, Filled>>>> = {
  request: ofRequest,
  response: { ...ofRequest, 'http.response.status_code': (_exchange, status) => String(status) },
}

const sendable = (value: string): string => value.slice(0, MAX_VALUE).replace(UNSENDABLE, '')

/**
 * Compiles a text with variables of the form `${.conn.client_ip}`, with or without the first dot. Answers the text
 * itself when there is none in it, and undefined for a variable that is not known.
 */
export function template(text: string, moment: Moment): string | Filled | undefined {
  if (!text.includes('${')) return text
  const parts: (string | Filled)[] = []
  let from = 0
  for (const { 0: whole, 1: written = '', index } of text.matchAll(VARIABLE)) {
    const name = written.trim().replace(/^\./, '')
    const read = Object.hasOwn(variables[moment], name) ? variables[moment][name] : undefined
    if (read === undefined) return undefined
    parts.push(text.slice(from, index), (exchange, status) => sendable(read(exchange, status)))
    from = index + whole.length
  }
  const rest = text.slice(from)
  // What opens and is never closed is a mistake, not a value.
  if (rest.includes('${')) return undefined
  parts.push(rest)
  return (exchange, status) => {
    let filled = ''
    for (const part of parts) filled += typeof part === 'string' ? part : part(exchange, status)
    return filled
  }
}
