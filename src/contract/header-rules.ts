/** When a header is changed: in the request, or in the response. */
export type HeaderPhase = 'request' | 'response'

/** They define where a message ends or how its connection is used: changing them would change the message. */
const ofConnection = [
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** They identify the client and the request. */
const ofGateway = ['adit-request-id', 'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']

/** Headers that only the gateway sets. */
export const untouchableHeaders: ReadonlySet<string> = new Set([...ofConnection, ...ofGateway])

const requestVariables = [
  'conn.client_ip',
  'conn.client_port',
  'conn.server_ip',
  'conn.server_name',
  'conn.server_port',
  'http.request.method',
  'http.request.url.host',
  'http.request.url.path',
  'http.request.url.query',
  'http.request.url.raw',
  'http.request.url.scheme',
  'http.request.user_agent',
  'http.request.version',
  'http.request_id',
  'ngrok.client_ip',
  'ngrok.request_id',
  'ngrok.saml.subject',
  'oauth.user.email',
  'oauth.user.id',
  'oauth.user.name',
  'tls.cipher_suite',
  'tls.client_cert.serial_number',
  'tls.client_cert.subject.cn',
  'tls.sni',
  'tls.version',
] as const

/** The variables in header values, as `${.name}` or without the first dot. */
const headerVariables = {
  request: requestVariables,
  response: [...requestVariables, 'http.response.status_code'],
} as const

export type HeaderVariable = (typeof headerVariables)[HeaderPhase][number]

/** A parsed value: texts with variables between them. */
type ValuePart = string | { readonly variable: HeaderVariable }

/** More than any reasonable value has; each is filled in for every request. */
const MAX_VARIABLES = 16

/** Undefined for an unknown or unclosed variable, or more than 16 of them. */
export function valueParts(value: string, phase: HeaderPhase): readonly ValuePart[] | undefined {
  const known: readonly HeaderVariable[] = headerVariables[phase]
  const parts: ValuePart[] = []
  let from = 0
  for (const { 0: whole, 1: written = '', index } of value.matchAll(/\$\{([^}]*)\}/g)) {
    const name = written.trim().replace(/^\./, '')
    const variable = known.find(each => each === name)
    if (variable === undefined || parts.length >= MAX_VARIABLES * 2) return undefined
    parts.push(value.slice(from, index), { variable })
    from = index + whole.length
  }
  const rest = value.slice(from)
  return rest.includes('${') ? undefined : [...parts, rest].filter(part => part !== '')
}
