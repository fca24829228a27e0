import type { ErrorName } from '#base/errors.ts'
import { type Hint, RELOAD } from '#base/hints/hint.ts'

const NOT_A_BROWSER = 'Browsers do not send such a request: check the program that sent it.'
const ONLINE = 'adit http {port}{name}'

/** Requests that the gateway rejects or cannot forward. */
export const gatewayHints: Readonly<Partial<Record<ErrorName, Hint>>> = {
  bad_message: { title: 'Bad request', visitor: NOT_A_BROWSER },
  head_too_large: {
    title: 'Request too large',
    visitor: 'Deleting the cookies of this site usually helps.',
    owner: 'Set fewer or smaller cookies.',
  },
  path_ambiguous: {
    title: 'Ambiguous path',
    visitor: 'Enter the address exactly as you received it.',
    owner: 'Links to the site must not contain dots, double slashes or unnecessary escapes.',
  },
  target_too_long: { title: 'Address too long', visitor: 'Shorten the address, especially its query.' },
  coding_unsupported: { title: 'Transfer coding not supported', visitor: NOT_A_BROWSER },
  version_unsupported: { title: 'HTTP version not supported', visitor: NOT_A_BROWSER },
  request_timeout: { title: 'Request timed out', visitor: 'Check your connection and try again.' },
  expectation_failed: { title: 'Expectation not supported', visitor: NOT_A_BROWSER },
  request_returned: {
    title: 'Endless loop',
    visitor: 'Contact the person who gave you the address.',
    owner: 'The agent forwards to a port of the gateway. Use the port of your service:',
    command: ONLINE,
  },
  misdirected: { title: 'Wrong connection', visitor: `${RELOAD} This opens a new connection.` },
  request_lost: {
    title: 'Connection lost',
    visitor: 'Check whether your request was processed before you send it again.',
    owner: 'The connection between the agent and the gateway was lost. The agent reconnects automatically.',
  },
  endpoint_expected: {
    title: 'Endpoint reconnecting',
    visitor: RELOAD,
    owner: 'The agent reconnects automatically. If it has exited, start it:',
    command: ONLINE,
  },
  endpoint_offline: {
    title: 'Endpoint offline',
    visitor: 'Check the spelling of the address, or contact the person who gave it to you.',
    owner: 'Start the agent, with the port of your service:',
    command: ONLINE,
    forEdge: {
      route: {
        owner: 'The name belongs to an edge, and none of its routes matches the path. Add one that does:',
        command: 'adit api https-edge-routes create EDGE_ID --match-type path_prefix --match /',
      },
      backend: {
        owner: 'The name belongs to an edge, and its route for the path has no backend. Set one:',
        command: `adit api https-edge-routes update EDGE_ID ROUTE_ID --backend '{"backend_id":"ID"}'`,
      },
    },
  },
  upstream_unreachable: {
    title: 'Service not reachable',
    visitor: `The tunnel works, but the service behind it does not. ${RELOAD}`,
    owner: 'Start your service, and check the port of the agent. The service runs if this gets a response:',
    command: 'curl -i http://localhost:3000/',
    forService: ({ address, isLocal, isEncrypted }) =>
      isEncrypted
        ? {
            owner: `The service at ${address} does not answer, or does not use TLS; the log of the agent says which. Without TLS, set the scheme:`,
            command: `adit http http://${isLocal ? address : 'HOST:{port}'}{name}`,
          }
        : {
            owner: `The service at ${address} does not answer. Start it, or start the agent with another port:`,
            command: 'adit http OTHER_PORT{name}',
          },
  },
  upstream_invalid: {
    title: 'Invalid response from the service',
    visitor: 'Contact the operator of this site.',
    owner: 'The service must use HTTP/1.1 on that port. If it uses TLS, set the scheme:',
    command: 'adit http https://localhost:8443{name}',
    forService: ({ address, isLocal, isEncrypted }) =>
      isEncrypted
        ? { owner: `The service at ${address} must use HTTP/1.1 over TLS.` }
        : {
            owner: `The service at ${address} must use HTTP/1.1. If it uses TLS, set the scheme:`,
            command: `adit http https://${isLocal ? address : 'HOST:{port}'}{name}`,
          },
  },
  upstream_closed: {
    title: 'No response from the service',
    visitor: RELOAD,
    owner: 'The log of your service may show why it closed the connection.',
  },
  upstream_timeout: {
    title: 'Service timed out',
    visitor: RELOAD,
    owner: 'Check what your service was doing; respond first and finish long work later.',
  },
  agent_gone: {
    title: 'Connection to the agent lost',
    visitor: `${RELOAD} The agent reconnects automatically.`,
    owner: 'If it does not reconnect, restart the agent:',
    command: ONLINE,
  },
  agent_busy: {
    title: 'Too busy',
    visitor: RELOAD,
    owner: 'Start a second agent for the same endpoint, or make your service respond faster.',
  },
  backend_empty: {
    title: 'No tunnel online',
    visitor: `${RELOAD} If this persists, contact the person who gave you the address.`,
    owner: 'Start an agent with the labels of this backend:',
    command: 'adit tunnel {labels} 3000',
  },
  backend_childless: {
    title: 'No backend',
    visitor: 'Contact the operator of this site.',
    owner: 'The backend of the edge or route has no other backend, or all have weight 0. Add one:',
    command: 'adit api weighted-backends list',
  },
  api_unavailable: {
    title: 'API not available',
    visitor: RELOAD,
    owner: 'The server starts, stops, or has too many open connections to its API. Its log has the reason.',
  },
  static_unreachable: {
    title: 'Service not reachable',
    visitor: RELOAD,
    owner: 'Start the service at the address of the static backend, and check that the gateway can reach it.',
    command: 'adit api static-backends list',
  },
  static_timeout: {
    title: 'Service not reachable',
    visitor: RELOAD,
    owner: 'There is no response from the address of the static backend: check firewalls and the address.',
    command: 'adit api static-backends list',
  },
  static_forbidden: {
    title: 'Service not reachable',
    visitor: 'Contact the operator of this site.',
    owner:
      'The address of the static backend is on the machine of the gateway or in a private network. The operator of the ' +
      'gateway can allow such networks with the setting egress_allow, such as 127.0.0.0/8 or 10.0.0.0/8:',
    command: 'adit serve --egress-allow NETWORK',
  },
  static_untrusted: {
    title: 'Service not trusted',
    visitor: 'Contact the operator of this site.',
    owner:
      'With TLS on, the service needs a certificate for the host name of the static backend, from a ' +
      'trusted CA.',
  },
  static_busy: { title: 'Too busy', visitor: RELOAD },
  not_servable: {
    title: 'Endpoint misconfigured',
    visitor: 'Contact the operator of this site.',
    owner: 'Correct the edge, or what it refers to. It is then served at once.',
    command: 'adit api https-edges list',
  },
  visitor_refused: {
    title: 'Not allowed from here',
    visitor: 'Ask the operator of this site to allow your address.',
    owner: 'Add the address to the allowed ranges of the endpoint.',
  },
  certificate_required: {
    title: 'Certificate required',
    visitor:
      'Close the browser and open the site again, which opens a new connection. Then choose a certificate.',
    owner:
      'Programs must send the host name in the TLS handshake (SNI); otherwise no certificate is requested.',
  },
  ip_policy_refused: {
    title: 'Not allowed from here',
    visitor: 'Ask the operator of this site to allow your address.',
    owner: 'Add a rule that allows the address to one of the IP policies of the endpoint.',
  },
  user_agent_refused: {
    title: 'Program not allowed',
    visitor: 'Use another browser or program, or ask the operator of this site to allow this one.',
    owner: 'The rules of user_agent_filter decide by the User-Agent header of the request.',
  },
  circuit_open: {
    title: 'Service unhealthy',
    visitor: RELOAD,
    owner: 'The log of your service may show why it responded with errors. It is retried automatically.',
  },
  websocket_required: {
    title: 'WebSocket only',
    visitor: 'This address is for programs that open a WebSocket connection.',
    owner: 'The module websocket_tcp_converter of the endpoint accepts nothing else.',
  },
  webhook_refused: {
    title: 'Webhook not verified',
    visitor: 'This address accepts only messages signed by one sender.',
    owner: "Compare the sender and the secret of the endpoint with the sender's settings.",
  },
  webhook_too_large: {
    title: 'Webhook too large',
    visitor: 'Send smaller messages.',
    owner: 'To accept larger messages, verify them in your service instead of at the endpoint.',
  },
  webhooks_full: { title: 'Too busy', visitor: RELOAD },
  webhook_slow: { title: 'Too slow', visitor: 'Send the webhook again, over a faster connection.' },
  passwords_wrong: {
    title: 'Too many wrong passwords',
    visitor: 'Wait, then enter your user name and password.',
  },
  password_required: {
    title: 'Password required',
    visitor: 'Reload the page and enter your user name and password.',
  },
  reserved_path: { title: 'Nothing here', visitor: 'Go back to the site that you came from.' },
  gateway_fault: {
    title: 'Internal error',
    visitor: RELOAD,
    owner: 'The gateway log has the cause.',
  },
  gateway_full: { title: 'Too busy', visitor: RELOAD },
}
