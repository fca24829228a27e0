/** A field that a source of traffic events can select. */
export interface TrafficField {
  readonly doc: string
  readonly type: 'text' | 'number' | 'yes_no' | 'moment' | 'headers' | 'lines'
  /** Filters may ask for it: it is known as soon as the connection is. */
  readonly filter?: true
  /** Only sent where it is selected by name: it may hold what is nobody else's business, or costs more than the rest. */
  readonly onRequest?: true
}

const connection = {
  'conn.client_ip': { type: 'text', filter: true, doc: 'Address of the visitor.' },
  'conn.server_ip': { type: 'text', filter: true, doc: 'Address that the visitor connected to.' },
  'conn.server_name': {
    type: 'text',
    filter: true,
    doc: 'Name in the TLS handshake, else the host that was asked for.',
  },
  'conn.server_port': { type: 'number', filter: true, doc: 'Port that the visitor connected to.' },
  'conn.start_ts': { type: 'moment', doc: 'When the connection began.' },
} as const satisfies Record<string, TrafficField>

const anyTraffic = {
  'ip_policy.decision': { type: 'text', doc: 'Of IP restrictions: allow or block.' },
  ja4_fingerprint: { type: 'text', onRequest: true, doc: 'JA4 fingerprint of the TLS client.' },
  'traffic_policy.logs': {
    type: 'lines',
    onRequest: true,
    doc: 'Always empty: traffic policies do not act.',
  },
} as const satisfies Record<string, TrafficField>

const http = {
  ...connection,
  ...anyTraffic,
  'backend.connection_reused': {
    type: 'yes_no',
    doc: 'Whether the connection to the service had been used before.',
  },
  'basic_auth.decision': { type: 'text', doc: 'allow or block.' },
  'basic_auth.username': { type: 'text', doc: 'The name that was given, also when it was blocked.' },
  'circuit_breaker.decision': { type: 'text', doc: 'allow, block, or allow_while_open for a trial.' },
  'compression.algorithm': {
    type: 'text',
    doc: 'How the gateway compressed the answer; none if it did not.',
  },
  'compression.bytes_saved': {
    type: 'number',
    doc: 'By how much that made it smaller; below zero when it grew.',
  },
  'http.request.body_length': { type: 'number', doc: 'Bytes of the body.' },
  'http.request.first_byte_ts': { type: 'moment', doc: 'When the head of the request had come.' },
  'http.request.headers': {
    type: 'headers',
    onRequest: true,
    doc: 'Names in lower case with their values; those of credentials read REDACTED.',
  },
  'http.request.last_byte_ts': { type: 'moment', doc: 'When its body had come.' },
  'http.request.method': { type: 'text', doc: 'As it was sent.' },
  'http.request.url.host': { type: 'text', doc: 'The host that was asked for.' },
  'http.request.url.path': { type: 'text', doc: 'Without the query.' },
  'http.request.url.query': { type: 'text', onRequest: true, doc: 'May hold secrets.' },
  'http.request.url.raw': { type: 'text', onRequest: true, doc: 'The whole address; may hold secrets.' },
  'http.request.url.scheme': { type: 'text', doc: 'http or https.' },
  'http.request.user_agent': { type: 'text', doc: 'As the visitor calls itself.' },
  'http.request.version': { type: 'text', doc: 'Such as HTTP/1.1.' },
  'http.response.body_length': { type: 'number', doc: 'Bytes of the body.' },
  'http.response.first_byte_ts': { type: 'moment', doc: 'When the head of the answer was there.' },
  'http.response.headers': { type: 'headers', onRequest: true, doc: 'As those of the request.' },
  'http.response.last_byte_ts': { type: 'moment', doc: 'When the answer had been sent.' },
  'http.response.status_code': { type: 'number', doc: 'Status of the answer.' },
  'oauth.app_client_id': { type: 'text', doc: 'Client id at the provider of the sign-in.' },
  'oauth.decision': { type: 'text', doc: 'Of OAuth, OpenID Connect and SAML: allow or block.' },
  'oauth.user.id': { type: 'text', doc: 'Who has signed in.' },
  'oauth.user.name': { type: 'text', doc: 'Their name.' },
  'tls.cipher_suite': { type: 'text', doc: 'Name of the cipher suite.' },
  'tls.client_cert.serial_number': { type: 'text', doc: 'Of the certificate that the visitor has shown.' },
  'tls.client_cert.subject.cn': { type: 'text', doc: 'Common name in it.' },
  'tls.version': { type: 'text', doc: 'Such as TLSv1.3.' },
  'webhook_verification.decision': { type: 'text', doc: 'allow or block.' },
} as const satisfies Record<string, TrafficField>

const tcp = {
  ...connection,
  ...anyTraffic,
  'conn.bytes_in': { type: 'number', doc: 'Bytes from the visitor.' },
  'conn.bytes_out': { type: 'number', doc: 'Bytes to the visitor.' },
  'conn.end_ts': { type: 'moment', doc: 'When the connection ended.' },
} as const satisfies Record<string, TrafficField>

export type HttpField = keyof typeof http
export type TcpField = keyof typeof tcp

/** The fields of each type of event that can be selected; other types are always told whole. */
export const trafficFields = {
  'http_request_complete.v0': http,
  'tcp_connection_closed.v0': tcp,
} as const satisfies Record<string, Record<string, TrafficField>>

export type TrafficType = keyof typeof trafficFields

export const isTrafficType = (type: string): type is TrafficType => Object.hasOwn(trafficFields, type)

/** What is told where nothing is selected. */
export const usualFields = (type: TrafficType): readonly string[] =>
  Object.entries<TrafficField>(trafficFields[type]).flatMap(([name, { onRequest }]) =>
    onRequest ? [] : [name],
  )
