import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Responses of the gateway to clients. */
export const gatewayErrors = {
  // Errors for clients of the gateway
  bad_message: { number: 90030, status: 400, text: 'Bad request: {reason}.' },
  head_too_large: {
    number: 90031,
    status: 431,
    text: 'The request headers are too large: {reason}.',
  },
  target_too_long: {
    number: 90032,
    status: 414,
    text: 'The request target is too long: at most {limit} bytes.',
  },
  coding_unsupported: {
    number: 90033,
    status: 501,
    text: 'The only supported transfer coding is "chunked".',
  },
  version_unsupported: { number: 90034, status: 505, text: 'HTTP version not supported.' },
  request_timeout: { number: 90035, status: 408, text: 'The request did not arrive in time.' },
  expectation_failed: {
    number: 90036,
    status: 417,
    text: 'The only supported expectation is "100-continue".',
  },
  misdirected: {
    number: 90037,
    status: 421,
    text: 'This connection was opened for another name than {host}.',
  },
  endpoint_expected: {
    number: 90265,
    status: 503,
    text: 'The endpoint {host} lost its connection a moment ago and is expected back.',
  },
  endpoint_offline: { number: 3200, status: 404, text: 'The endpoint {host} is offline.' },
  upstream_unreachable: {
    number: 8012,
    status: 502,
    text: 'The agent cannot reach the service behind {host}.',
  },
  upstream_invalid: {
    number: 3004,
    status: 502,
    text: 'The service behind {host} sent a response that is not valid HTTP: {reason}.',
  },
  upstream_closed: {
    number: 90038,
    status: 502,
    text: 'The service behind {host} closed the connection before it responded.',
  },
  upstream_timeout: {
    number: 90039,
    status: 504,
    text: 'The service behind {host} did not respond within {seconds} seconds.',
  },
  request_lost: {
    number: 90306,
    status: 502,
    text: 'The agent of {host} lost its connection after this request was sent to it. The service may have processed it, so it was not sent again.',
  },
  agent_gone: { number: 90040, status: 502, text: 'The agent of {host} lost its connection.' },
  agent_busy: {
    number: 90041,
    status: 503,
    text: 'The agent of {host} has reached its connection limit.',
  },
  backend_empty: { number: 90042, status: 503, text: 'No tunnel is online for {host}.' },
  path_ambiguous: {
    number: 90049,
    status: 400,
    text: 'The path is ambiguous, and {host} treats its interpretations differently. Write it without dots, double slashes and unnecessary escapes.',
  },
  backend_childless: {
    number: 724,
    status: 503,
    text: 'No backend receives traffic for {host}.',
  },
  api_unavailable: { number: 90520, status: 503, text: 'The API at {host} does not respond at the moment.' },
  static_unreachable: { number: 3006, status: 502, text: 'The service behind {host} cannot be reached.' },
  static_timeout: {
    number: 3005,
    status: 504,
    text: 'Connecting to the service behind {host} timed out.',
  },
  static_forbidden: {
    number: 90160,
    status: 502,
    text: 'The gateway is not allowed to connect to the service behind {host}.',
  },
  static_untrusted: {
    number: 90161,
    status: 502,
    text: 'The service behind {host} has no valid certificate for its address.',
  },
  static_busy: {
    number: 90162,
    status: 503,
    text: 'Too many connections to the service behind {host} are being opened.',
  },
  secrets_closed: { number: 90175, status: 503, text: 'The secrets of {id} cannot be decrypted.' },
  not_servable: { number: 90043, status: 503, text: 'The edge of {host} cannot be served: {reason}.' },
  visitor_refused: { number: 3205, status: 403, text: 'The address {ip} is not allowed to reach {host}.' },
  password_required: { number: 90045, status: 401, text: '{host} requires a user name and a password.' },
  webhook_refused: {
    number: 3204,
    status: 403,
    text: 'This webhook is not signed by the sender that {host} expects.',
  },
  webhook_too_large: {
    number: 90100,
    status: 413,
    text: 'A webhook body may have at most {limit} bytes.',
  },
  webhooks_full: {
    number: 90101,
    status: 503,
    text: 'Too many webhooks are being received at this moment.',
  },
  webhook_slow: {
    number: 90270,
    status: 408,
    text: 'The webhook body arrives too slowly to be verified. Send at least 1 KiB per second.',
  },
  passwords_wrong: {
    number: 90271,
    status: 429,
    text: 'Too many wrong passwords from your address. Wait {seconds} seconds before the next attempt.',
  },
  certificate_required: {
    number: 90170,
    status: 403,
    text: '{host} requires a client certificate, and this connection has none for it.',
  },
  reserved_path: {
    number: 90240,
    status: 404,
    text: 'Paths below /.adit/ are reserved for the gateway on every host, and this one does not exist.',
  },
  gateway_fault: { number: 90046, status: 500, text: 'The gateway failed to handle the request.' },
  circuit_open: {
    number: 3202,
    status: 503,
    text: 'The service behind {host} failed too often, so it gets no requests for a while.',
  },
  ip_policy_refused: { number: 3203, status: 403, text: 'No IP policy of {host} allows the address {ip}.' },
  websocket_required: { number: 3206, status: 400, text: '{host} accepts only WebSocket connections.' },
  user_agent_refused: {
    number: 3211,
    status: 403,
    text: 'This client (User-Agent) is blocked on {host}.',
  },
  module_unusable: { number: 90150, status: 503, text: 'The module {module} cannot be used: {reason}.' },
  request_returned: {
    number: 90048,
    status: 508,
    text: 'Loop detected: {host} forwards to the gateway itself.',
  },
  gateway_full: { number: 90047, status: 503, text: 'The gateway has reached its connection limit.' },
} as const satisfies Record<string, CatalogEntry>
