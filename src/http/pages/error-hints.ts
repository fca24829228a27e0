import type { ErrorName } from '#base/errors.ts'
import type { Service } from '#http/pages/service.ts'

/** What a page says besides the error message. */
export interface Hint {
  readonly title: string
  readonly visitor: string
  /** What the operator of the endpoint can do; absent if they cannot fix it. */
  readonly owner?: string
  /**
   * The command that fixes it. `{name}` becomes ` --name NAME`, or nothing if the name is not trustworthy; `{port}` the
   * port that the agent has reported, or 3000; `{labels}` the labels of the backend.
   */
  readonly command?: string
  /** Instead of both, if the agent has reported the address of its service. */
  readonly forService?: (service: Service) => ServiceHint
}

export interface ServiceHint {
  readonly owner: string
  readonly command?: string
}

const RELOAD = 'Reload the page in a moment.'
const NOT_A_BROWSER = 'Browsers do not send such a request: check the program that sent it.'
const SIGN_IN_AGAIN = 'Open the site again and sign in.'
const ONLINE = 'adit http {port}{name}'

export const fallback: Hint = {
  title: 'Request rejected',
  visitor: 'Check the address and try again.',
}

/** One row for each error that a client can get. */
export const hints: Readonly<Partial<Record<ErrorName, Hint>>> = {
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
  },
  upstream_unreachable: {
    title: 'Service not reachable',
    visitor: `The tunnel works, but the service behind it does not. ${RELOAD}`,
    owner: 'Start your service, and check the port of the agent. The service runs if this gets a response:',
    command: 'curl -i http://localhost:3000/',
    forService: ({ address }) => ({
      owner: `The service at ${address} does not answer. Start it, or start the agent with another port:`,
      command: 'adit http OTHER_PORT{name}',
    }),
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
      'The address of the static backend is in a private network. The operator of the gateway can allow it with the ' +
      'setting egress_allow:',
    command: 'adit serve --egress-allow 10.0.0.0/8',
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
  sign_in_required: {
    title: 'Sign-in required',
    visitor: 'Reload the page: your session may have ended.',
    owner: 'Programs cannot use a sign-in page. Reload the page that made the request.',
  },
  sign_in_state: { title: 'Sign-in not recognised', visitor: SIGN_IN_AGAIN },
  sign_in_browser: { title: 'Sign-in not recognised', visitor: `${SIGN_IN_AGAIN} Cookies must be allowed.` },
  sign_in_route: {
    title: 'Several sign-ins',
    visitor: 'Open the page of the site that you want to use, and sign in there.',
    owner: 'Links to sign in again or out need the id of the route: /auth/logout?route=ID',
  },
  sign_in_changed: { title: 'Sign in again', visitor: SIGN_IN_AGAIN },
  sign_in_refused: { title: 'Not signed in', visitor: SIGN_IN_AGAIN },
  sign_in_provider: {
    title: 'Sign-in failed',
    visitor: RELOAD,
    owner: 'Check the settings of the sign-in module, and that the gateway can reach the provider.',
  },
  sign_in_unverified: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner:
      "Check the settings of the sign-in module against those at the provider, and both machines' clocks.",
  },
  sign_in_not_kept: { title: 'Sign-in failed', visitor: RELOAD },
  sign_in_unconfigured: {
    title: 'Sign-in failed',
    visitor: 'Contact the operator of this site.',
    owner: 'Correct the settings of the sign-in module.',
  },
  sign_in_nothing_here: { title: 'Nothing here', visitor: 'Go back to the site that you came from.' },
  reserved_path: { title: 'Nothing here', visitor: 'Go back to the site that you came from.' },
  sign_in_elsewhere: {
    title: 'Sign-in not recognised',
    visitor: SIGN_IN_AGAIN,
    owner: 'The endpoint must be online, with the same sign-in module, until its users have returned.',
  },
  sign_in_answer_long: {
    title: 'Sign-in failed',
    visitor: 'Contact the operator of this site.',
    owner: 'Request fewer scopes or claims from the provider.',
  },
  sign_in_busy: { title: 'Too busy', visitor: RELOAD },
  sign_in_https: {
    title: 'HTTPS needed',
    visitor: 'Contact the person who gave you the address.',
    owner: 'Open the endpoint for https instead of http:',
    command: `${ONLINE} --scheme https`,
  },
  saml_unasked_config: {
    title: 'Start at the site itself',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'allow_idp_initiated of the saml module allows the provider to start sign-ins.',
  },
  saml_relay_state: { title: 'Sign-in not recognised', visitor: SIGN_IN_AGAIN },
  saml_target_config: {
    title: 'No such site here',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'Correct the RelayState (the default one, the start page) at the identity provider.',
  },
  saml_statements: {
    title: 'Not signed in',
    visitor: 'Contact the operator of this site.',
    owner: 'Check the assertions of the identity provider.',
  },
  saml_group: {
    title: 'Not allowed',
    visitor: 'Sign in with another account, or ask the operator of this site to allow your group.',
    owner:
      'Have the identity provider send the attribute "groups", and compare it with authorized_groups of the module.',
  },
  saml_late: { title: 'Sign in again', visitor: SIGN_IN_AGAIN },
  saml_unasked_route: {
    title: 'Start at the site itself',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'allow_idp_initiated of the saml module allows the provider to start sign-ins.',
  },
  saml_target_missing: {
    title: 'Where to?',
    visitor: 'Open the address of the site, and sign in from there.',
    owner:
      'Set the RelayState (the default one, the start page) at the identity provider to an address or a path of the site.',
  },
  saml_target_edge: {
    title: 'No such site here',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'Correct the RelayState (the default one, the start page) at the identity provider.',
  },
  saml_off: {
    title: 'No sign-in here',
    visitor: 'Go back to the site that you came from.',
    owner: 'Compare the addresses at the identity provider with those that the API shows in the saml module.',
  },
  saml_unreadable: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner: 'Check the messages of the identity provider.',
  },
  saml_signature: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner:
      'Put the current metadata of the identity provider into the module, and make it sign with RSA and SHA-256.',
  },
  saml_not_for_us: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner: 'Compare the addresses at the identity provider with those that the API shows in the saml module.',
  },
  saml_expired: {
    title: 'Sign in again',
    visitor: SIGN_IN_AGAIN,
    owner: "If it happens to all users, compare both machines' clocks.",
  },
  saml_replayed: { title: 'Sign in again', visitor: SIGN_IN_AGAIN },
  saml_encrypted: {
    title: 'Not signed in',
    visitor: 'Contact the operator of this site.',
    owner: 'Turn off the encryption of assertions at the identity provider: TLS protects them in transit.',
  },
  saml_refused: {
    title: 'Not signed in',
    visitor: 'Sign in as another user, or contact the operator of the identity provider.',
  },
  saml_nameid_differs: {
    title: 'Not signed in',
    visitor: 'Contact the operator of this site.',
    owner: 'Set nameid_format of the module to the format that the identity provider sends.',
  },
  saml_other_request: { title: 'Sign-in not recognised', visitor: SIGN_IN_AGAIN },
  saml_method: { title: 'No page here', visitor: 'Go back to the site that you came from.' },
  gateway_fault: {
    title: 'Internal error',
    visitor: RELOAD,
    owner: 'The gateway log has the cause.',
  },
  gateway_full: { title: 'Too busy', visitor: RELOAD },
  oauth_email_unverified: {
    title: 'E-mail address not verified',
    visitor: 'Verify the address in the settings of your account there.',
  },
  oauth_not_allowed: {
    title: 'Not allowed',
    visitor: 'Sign in with another account, or ask the operator of this site to allow this one.',
    owner: 'Add the address, its domain, the team or the organisation to the sign-in module of the endpoint.',
  },
  oauth_email_missing: {
    title: 'E-mail address missing',
    visitor: 'Add an e-mail address to your account there, then sign in again.',
  },
  oauth_email_withheld: {
    title: 'E-mail address not shared',
    visitor: 'Sign in again, and allow sharing the address.',
  },
  oauth_scopes_missing: {
    title: 'Permission missing',
    visitor: 'Sign in again, and grant all requested permissions.',
    owner: 'Request fewer scopes, or allow them in the settings of the application at the provider.',
  },
  oauth_denied: {
    title: 'Not signed in',
    visitor: 'Go back to the original page and sign in again.',
  },
  oauth_exchange: {
    title: 'Sign-in failed',
    visitor: 'Go back to the original page and sign in again.',
    owner:
      'Check the client id, the client secret and the callback address of the application at the provider.',
  },
  oauth_provider: {
    title: 'Identity provider error',
    visitor: RELOAD,
    owner: 'The gateway log has the cause.',
  },
}
