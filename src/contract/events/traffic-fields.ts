/** A field that a source of traffic events can select. */
export interface TrafficField {
  readonly doc: string
  readonly type: 'text' | 'number' | 'yes_no' | 'moment' | 'headers' | 'lines'
  /** Filterable: it is known as soon as the connection is. */
  readonly filter?: true
  /** Only sent if selected by name: it may be confidential, or costs more than the rest. */
  readonly onRequest?: true
}

const connection = {
  'conn.client_ip': { type: 'text', filter: true, doc: 'Address of the client.' },
  'conn.server_ip': { type: 'text', filter: true, doc: 'Address that the client connected to.' },
  'conn.server_name': {
    type: 'text',
    filter: true,
    doc: 'Server name of the TLS handshake, else the requested host.',
  },
  'conn.server_port': { type: 'number', filter: true, doc: 'Port that the client connected to.' },
  'conn.start_ts': { type: 'moment', doc: 'When the connection was opened.' },
} as const satisfies Record<string, TrafficField>

const anyTraffic = {
  'ip_policy.decision': { type: 'text', doc: 'Decision of IP restrictions: allow or block.' },
  ja4_fingerprint: { type: 'text', onRequest: true, doc: 'JA4 fingerprint of the TLS client.' },
  'traffic_policy.logs': {
    type: 'lines',
    onRequest: true,
    doc: 'Always empty: traffic policies are not supported.',
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
  'basic_auth.username': { type: 'text', doc: 'The user name, also of a blocked request.' },
  'circuit_breaker.decision': { type: 'text', doc: 'allow, block, or allow_while_open for a trial request.' },
  'compression.algorithm': {
    type: 'text',
    doc: 'How the gateway compressed the response; none if it did not.',
  },
  'compression.bytes_saved': {
    type: 'number',
    doc: 'Bytes saved by compression; negative if the response grew.',
  },
  'http.request.body_length': { type: 'number', doc: 'Bytes of the body.' },
  'http.request.first_byte_ts': { type: 'moment', doc: 'When the request head was received.' },
  'http.request.headers': {
    type: 'headers',
    onRequest: true,
    doc: 'Names in lower case with their values; those of credentials are REDACTED.',
  },
  'http.request.last_byte_ts': { type: 'moment', doc: 'When its body was received.' },
  'http.request.method': { type: 'text', doc: 'As sent by the client.' },
  'http.request.url.host': { type: 'text', doc: 'The requested host.' },
  'http.request.url.path': { type: 'text', doc: 'Without the query.' },
  'http.request.url.query': { type: 'text', onRequest: true, doc: 'May contain secrets.' },
  'http.request.url.raw': { type: 'text', onRequest: true, doc: 'The complete URL; may contain secrets.' },
  'http.request.url.scheme': { type: 'text', doc: 'http or https.' },
  'http.request.user_agent': { type: 'text', doc: 'The User-Agent header.' },
  'http.request.version': { type: 'text', doc: 'Such as HTTP/1.1.' },
  'http.response.body_length': { type: 'number', doc: 'Bytes of the body.' },
  'http.response.first_byte_ts': { type: 'moment', doc: 'When the response head was received.' },
  'http.response.headers': { type: 'headers', onRequest: true, doc: 'Like those of the request.' },
  'http.response.last_byte_ts': { type: 'moment', doc: 'When the response was sent.' },
  'http.response.status_code': { type: 'number', doc: 'Response status.' },
  'oauth.app_client_id': { type: 'text', doc: 'Client id at the sign-in provider.' },
  'oauth.decision': { type: 'text', doc: 'Decision of OAuth, OpenID Connect or SAML: allow or block.' },
  'oauth.user.id': { type: 'text', doc: 'The signed-in user.' },
  'oauth.user.name': { type: 'text', doc: 'Their name.' },
  'tls.cipher_suite': { type: 'text', doc: 'Name of the cipher suite.' },
  'tls.client_cert.serial_number': { type: 'text', doc: 'Serial number of the client certificate.' },
  'tls.client_cert.subject.cn': { type: 'text', doc: 'Common name of the client certificate.' },
  'tls.version': { type: 'text', doc: 'Such as TLSv1.3.' },
  'webhook_verification.decision': { type: 'text', doc: 'allow or block.' },
} as const satisfies Record<string, TrafficField>

const tcp = {
  ...connection,
  ...anyTraffic,
  'conn.bytes_in': { type: 'number', doc: 'Bytes from the client.' },
  'conn.bytes_out': { type: 'number', doc: 'Bytes to the client.' },
  'conn.end_ts': { type: 'moment', doc: 'When the connection was closed.' },
} as const satisfies Record<string, TrafficField>

export type HttpField = keyof typeof http
export type TcpField = keyof typeof tcp

/** The selectable fields of each event type; other types always have all fields. */
export const trafficFields = {
  'http_request_complete.v0': http,
  'tcp_connection_closed.v0': tcp,
} as const satisfies Record<string, Record<string, TrafficField>>

export type TrafficType = keyof typeof trafficFields

export const isTrafficType = (type: string): type is TrafficType => Object.hasOwn(trafficFields, type)

/** The default fields. */
export const usualFields = (type: TrafficType): readonly string[] =>
  Object.entries<TrafficField>(trafficFields[type]).flatMap(([name, { onRequest }]) =>
    onRequest ? [] : [name],
  )
