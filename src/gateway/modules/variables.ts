import { type HeaderVariable, type HeaderPhase, valueParts } from '#contract/header-rules.ts'
import type { Exchange } from '#http/exchange.ts'

/** A text with its variables filled in. `status` is that of the response, 0 before there is one. */
export type Filled = (exchange: Exchange, status: number) => string

const MAX_VALUE = 4096
/** Characters that would end a header line, or change when sent as one byte each. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/g

/** Text that did not come from a head is sent as UTF-8, one character per byte. */
const encoded = (text = ''): string => Buffer.from(text).toString('latin1')

const queryOf = (target: string): string => {
  const mark = target.indexOf('?')
  return mark < 0 ? '' : target.slice(mark + 1)
}

const variables: Readonly<Record<HeaderVariable, Filled>> = {
  'conn.client_ip': ({ client }) => client.ip,
  'conn.client_port': ({ client }) => String(client.port),
  'conn.server_ip': ({ client }) => client.localIp,
  'conn.server_port': ({ client }) => String(client.localPort),
  'conn.server_name': ({ client, head }) => client.serverName ?? head.host,
  'tls.version': ({ client }) => client.tls?.version ?? '',
  'tls.cipher_suite': ({ client }) => client.tls?.cipher ?? '',
  'tls.client_cert.serial_number': ({ client }) => client.certificate?.serialNumber ?? '',
  'tls.client_cert.subject.cn': ({ client }) => encoded(client.certificate?.commonName),
  'tls.sni': ({ client }) => client.serverName ?? '',
  'http.request_id': ({ context }) => context.id,
  'http.request.method': ({ head }) => head.method,
  'http.request.url.host': ({ head }) => head.host,
  'http.request.url.path': ({ head }) => head.path,
  'http.request.url.query': ({ head }) => queryOf(head.target),
  'http.request.url.raw': ({ head, client }) => `${client.scheme}://${head.authority}${head.target}`,
  'http.request.url.scheme': ({ client }) => client.scheme,
  'http.request.user_agent': ({ head }) => head.fields.get('user-agent') ?? '',
  'http.request.version': ({ head }) => `HTTP/${head.version}`,
  'ngrok.client_ip': ({ client }) => client.ip,
  'ngrok.request_id': ({ context }) => context.id,
  'ngrok.saml.subject': ({ context }) => encoded(context.identity?.id),
  'oauth.user.email': ({ context }) => encoded(context.identity?.email),
  'oauth.user.id': ({ context }) => encoded(context.identity?.id),
  'oauth.user.name': ({ context }) => encoded(context.identity?.name),
  'http.response.status_code': (_exchange, status) => String(status),
}

/** Those whose values the gateway makes itself, of a few ASCII characters: there is nothing to look for in them. */
const ownVariables: ReadonlySet<HeaderVariable> = new Set([
  'conn.client_port',
  'conn.server_port',
  'http.request_id',
  'http.request.url.scheme',
  'http.request.version',
  'ngrok.request_id',
  'http.response.status_code',
])

function sendable(variable: HeaderVariable): Filled {
  const value = variables[variable]
  if (ownVariables.has(variable)) return value
  return (exchange, status) => value(exchange, status).slice(0, MAX_VALUE).replace(UNSENDABLE, '')
}

/**
 * Compiles a text with variables of the form `${.conn.client_ip}`, with or without the first dot. Returns the text
 * itself if it has none, and undefined for an unknown variable.
 */
export function template(text: string, phase: HeaderPhase): string | Filled | undefined {
  if (!text.includes('${')) return text
  const parts = valueParts(text, phase)?.map(part =>
    typeof part === 'string' ? part : sendable(part.variable),
  )
  if (parts === undefined) return undefined
  const [only, second] = parts
  if (typeof only === 'function' && second === undefined) return only
  return (exchange, status) => {
    let filled = ''
    for (const part of parts) filled += typeof part === 'string' ? part : part(exchange, status)
    return filled
  }
}
