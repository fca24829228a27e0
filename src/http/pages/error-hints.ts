import type { ErrorName } from '#base/errors.ts'

/** What a page says beside the sentence of the catalogue. */
export interface Hint {
  readonly title: string
  readonly visitor: string
  /** What whoever runs the endpoint can do; absent where it is not theirs to mend. */
  readonly owner?: string
  /** The command that mends it; `{name}` becomes ` --name NAME`, or nothing where the name is not to be trusted. */
  readonly command?: string
}

const RELOAD = 'Reload the page in a moment.'
const NOT_A_BROWSER = 'A browser does not send such a request: look at the program that made it.'
const SIGN_IN_AGAIN = 'Open the site again from the start, and sign in anew.'
const ONLINE = 'adit http 3000{name}'

export const fallback: Hint = {
  title: 'The request was refused',
  visitor: 'Check the address and try again.',
}

/** One row for each refusal that a visitor can meet. */
export const hints: Readonly<Partial<Record<ErrorName, Hint>>> = {
  bad_message: { title: 'Request not understood', visitor: NOT_A_BROWSER },
  head_too_large: {
    title: 'Request too large',
    visitor: 'Deleting the cookies of this site usually helps.',
    owner: 'Set fewer or smaller cookies.',
  },
  path_ambiguous: {
    title: 'Path not clear',
    visitor: 'Type the address as it was given to you.',
    owner: 'Links to the site must be written without dots, doubled slashes and needless escapes.',
  },
  target_too_long: { title: 'Address too long', visitor: 'Shorten the address, above all its query.' },
  coding_unsupported: { title: 'Transfer coding not supported', visitor: NOT_A_BROWSER },
  version_unsupported: { title: 'HTTP version not supported', visitor: NOT_A_BROWSER },
  request_timeout: { title: 'Request timed out', visitor: 'Check your connection and try again.' },
  expectation_failed: { title: 'Expectation not met', visitor: NOT_A_BROWSER },
  request_returned: {
    title: 'Endless loop',
    visitor: 'Tell the person who gave you the address.',
    owner: 'The agent forwards to a port of the gateway. Give it the port of your service:',
    command: ONLINE,
  },
  misdirected: { title: 'Wrong connection', visitor: `${RELOAD} A new connection is then made.` },
  request_lost: {
    title: 'Connection lost',
    visitor: 'Check whether what you sent has arrived before you send it again.',
    owner: 'The connection between the agent and the gateway broke. The agent connects again by itself.',
  },
  endpoint_expected: {
    title: 'Endpoint reconnecting',
    visitor: RELOAD,
    owner: 'The agent connects again by itself. If it has ended, start it:',
    command: ONLINE,
  },
  endpoint_offline: {
    title: 'Endpoint offline',
    visitor: 'Check the spelling of the address, or tell the person who gave it to you.',
    owner: 'Start the agent, with the port of your service:',
    command: ONLINE,
  },
  upstream_unreachable: {
    title: 'Service not reachable',
    visitor: `The tunnel works, but the service at its other end does not. ${RELOAD}`,
    owner: 'Start your service, and check that the agent was given its port. It listens when this answers:',
    command: 'curl -i http://localhost:3000/',
  },
  upstream_invalid: {
    title: 'Invalid answer from the service',
    visitor: 'Tell the person who runs this site.',
    owner: 'The service must speak HTTP/1.1 on that port. For one that speaks TLS, name the scheme:',
    command: 'adit http https://localhost:8443{name}',
  },
  upstream_closed: {
    title: 'No answer from the service',
    visitor: RELOAD,
    owner: 'The log of your service tells why it closed the connection.',
  },
  upstream_timeout: {
    title: 'The service took too long',
    visitor: RELOAD,
    owner: 'Look at what your service was doing; long work should answer first and report later.',
  },
  agent_gone: {
    title: 'Connection to the agent lost',
    visitor: `${RELOAD} The agent connects again by itself.`,
    owner: 'If it stays away, start the agent again:',
    command: ONLINE,
  },
  agent_busy: {
    title: 'Too busy',
    visitor: RELOAD,
    owner: 'Start a second agent for the same endpoint, or make your service answer faster.',
  },
  backend_empty: {
    title: 'No tunnel online',
    visitor: `${RELOAD} If it stays so, tell the person who gave you the address.`,
    owner: 'Start an agent with a label of this backend:',
    command: 'adit tunnel --label name=value 3000',
  },
  backend_childless: {
    title: 'No backend',
    visitor: 'Tell the person who runs this site.',
    owner: 'The backend of the edge or route names no other, or gives each the weight 0. Add one:',
    command: 'adit api weighted-backends list',
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
    owner: 'Nothing answers at the address of the static backend: look for a firewall, or a wrong address.',
    command: 'adit api static-backends list',
  },
  static_forbidden: {
    title: 'Service not reachable',
    visitor: 'Tell the person who runs this site.',
    owner:
      'The address of the static backend is in a private network. The operator of the gateway allows one with the ' +
      'setting egress_allow:',
    command: 'adit serve --egress-allow 10.0.0.0/8',
  },
  static_untrusted: {
    title: 'Service not trusted',
    visitor: 'Tell the person who runs this site.',
    owner:
      'With TLS on, the service needs a certificate for the name in the address of the static backend, from an ' +
      'authority that is trusted.',
  },
  static_busy: { title: 'Too busy', visitor: RELOAD },
  not_servable: {
    title: 'Endpoint misconfigured',
    visitor: 'Tell the person who runs this site.',
    owner: 'Correct the edge, or what it refers to, and it serves again at once.',
    command: 'adit api https-edges list',
  },
  visitor_refused: {
    title: 'Not allowed from here',
    visitor: 'Ask the person who runs this site to allow your address.',
    owner: 'Add the address to the allowed ranges of the endpoint.',
  },
  certificate_required: {
    title: 'Certificate required',
    visitor:
      'Close the browser and open the site again, so that a new connection is made. Choose a certificate then.',
    owner:
      'Programs must send the name of the host in the TLS handshake, or they are not asked for a certificate.',
  },
  ip_policy_refused: {
    title: 'Not allowed from here',
    visitor: 'Ask the person who runs this site to allow your address.',
    owner: 'Add a rule that allows the address to one of the IP policies of the endpoint.',
  },
  user_agent_refused: {
    title: 'Program not allowed',
    visitor: 'Use another browser or program, or ask the person who runs this site to allow this one.',
    owner: 'The rules of user_agent_filter decide by the User-Agent header of the request.',
  },
  circuit_open: {
    title: 'Service unhealthy',
    visitor: RELOAD,
    owner: 'The log of your service tells why it answered with errors. It is asked again by itself.',
  },
  websocket_required: {
    title: 'WebSocket only',
    visitor: 'This address is for programs that open a WebSocket connection.',
    owner: 'The module websocket_tcp_converter of the endpoint answers nothing else.',
  },
  webhook_refused: {
    title: 'Webhook not verified',
    visitor: 'This address takes only messages that one sender has signed.',
    owner: 'Compare the sender and the secret of the endpoint with what the sender shows.',
  },
  webhook_too_large: {
    title: 'Webhook too large',
    visitor: 'Send less in one message.',
    owner: 'To take larger messages, verify them in your service instead of at the endpoint.',
  },
  webhooks_full: { title: 'Too busy', visitor: RELOAD },
  webhook_slow: { title: 'Too slow', visitor: 'Send the webhook again, over a faster connection.' },
  passwords_wrong: {
    title: 'Too many wrong passwords',
    visitor: 'Wait, then type the user name and password that you were given.',
  },
  password_required: {
    title: 'Password required',
    visitor: 'Reload the page and type the user name and password that you were given.',
  },
  sign_in_required: {
    title: 'Sign-in required',
    visitor: 'Reload the page: your session may have ended.',
    owner: 'Programs cannot follow a sign-in page. Have the page that made the request loaded again.',
  },
  sign_in_state: { title: 'Sign-in not recognised', visitor: SIGN_IN_AGAIN },
  sign_in_browser: { title: 'Sign-in not recognised', visitor: `${SIGN_IN_AGAIN} Cookies must be allowed.` },
  sign_in_changed: { title: 'Sign in once more', visitor: SIGN_IN_AGAIN },
  sign_in_refused: { title: 'Not signed in', visitor: SIGN_IN_AGAIN },
  sign_in_provider: {
    title: 'Signing in does not work',
    visitor: RELOAD,
    owner: 'Check the settings of the sign-in module, and that the gateway can reach the provider.',
  },
  sign_in_unverified: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner:
      "Check the settings of the sign-in module against those at the provider, and both machines' clocks.",
  },
  sign_in_not_kept: { title: 'Signing in does not work', visitor: RELOAD },
  sign_in_unconfigured: {
    title: 'Signing in does not work',
    visitor: 'Tell the person who runs this site.',
    owner: 'Mend the settings of the sign-in module.',
  },
  sign_in_nothing_here: { title: 'Nothing here', visitor: 'Go back to the site that you came from.' },
  reserved_path: { title: 'Nothing here', visitor: 'Go back to the site that you came from.' },
  sign_in_elsewhere: {
    title: 'Sign-in not recognised',
    visitor: SIGN_IN_AGAIN,
    owner: 'The endpoint must be online, with the same sign-in module, until its visitors are back.',
  },
  sign_in_answer_long: {
    title: 'Signing in does not work',
    visitor: 'Tell the person who runs this site.',
    owner: 'Ask the provider for fewer scopes or claims.',
  },
  sign_in_busy: { title: 'Too busy', visitor: RELOAD },
  sign_in_https: {
    title: 'HTTPS needed',
    visitor: 'Tell the person who gave you the address.',
    owner: 'Open the endpoint for https instead of http:',
    command: `${ONLINE} --scheme https`,
  },
  saml_unasked_config: {
    title: 'Begin at the site itself',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'allow_idp_initiated of the saml module lets the provider begin.',
  },
  saml_relay_state: { title: 'Sign-in not recognised', visitor: SIGN_IN_AGAIN },
  saml_target_config: {
    title: 'No such site here',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'Correct the RelayState (the default one, the start page) at the identity provider.',
  },
  saml_statements: {
    title: 'Not signed in',
    visitor: 'Tell the person who runs this site.',
    owner: 'Look at what the identity provider puts into its assertions.',
  },
  saml_group: {
    title: 'Not allowed',
    visitor: 'Ask the person who gave you the address to let your group in.',
    owner:
      'Have the identity provider send the attribute "groups", and compare it with authorized_groups of the module.',
  },
  saml_late: { title: 'Sign in once more', visitor: SIGN_IN_AGAIN },
  saml_unasked_route: {
    title: 'Begin at the site itself',
    visitor: 'Open the address of the site, and sign in from there.',
    owner: 'allow_idp_initiated of the saml module lets the provider begin.',
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
    owner: 'Look at the messages of the identity provider.',
  },
  saml_signature: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner:
      'Put the present metadata of the identity provider into the module, and let it sign with RSA and SHA-256.',
  },
  saml_not_for_us: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner: 'Compare the addresses at the identity provider with those that the API shows in the saml module.',
  },
  saml_expired: {
    title: 'Sign in once more',
    visitor: SIGN_IN_AGAIN,
    owner: "If it happens to everybody, compare both machines' clocks.",
  },
  saml_replayed: { title: 'Sign in once more', visitor: SIGN_IN_AGAIN },
  saml_encrypted: {
    title: 'Not signed in',
    visitor: 'Tell the person who runs this site.',
    owner: 'Turn off the encryption of assertions at the identity provider: TLS protects them on their way.',
  },
  saml_refused: {
    title: 'Not signed in',
    visitor: 'Sign in as somebody else, or ask whoever runs the identity provider.',
  },
  saml_nameid_differs: {
    title: 'Not signed in',
    visitor: 'Tell the person who runs this site.',
    owner: 'Set nameid_format of the module to the format that the identity provider sends.',
  },
  saml_other_request: { title: 'Sign-in not recognised', visitor: SIGN_IN_AGAIN },
  saml_method: { title: 'Nothing to see here', visitor: 'Go back to the site that you came from.' },
  gateway_fault: {
    title: 'Something went wrong',
    visitor: RELOAD,
    owner: 'The log of the gateway has the cause.',
  },
  gateway_full: { title: 'Too busy', visitor: RELOAD },
  oauth_email_unverified: {
    title: 'E-mail address not confirmed',
    visitor: 'Confirm the address in the settings of your account there.',
  },
  oauth_not_allowed: {
    title: 'Not allowed',
    visitor:
      'Sign in with another account at /auth/authn, or ask the person who runs this site to let this one in.',
    owner: 'Add the address, its domain, the team or the organisation to the sign-in module of the endpoint.',
  },
  oauth_email_missing: {
    title: 'E-mail address missing',
    visitor: 'Add an e-mail address to your account there, then sign in again.',
  },
  oauth_email_withheld: {
    title: 'E-mail address not shared',
    visitor: 'Sign in again, and allow that the address is told.',
  },
  oauth_scopes_missing: {
    title: 'Not all was granted',
    visitor: 'Sign in again, and grant all that is asked for.',
    owner: 'Ask for fewer scopes, or allow them in the settings of the application at the provider.',
  },
  oauth_denied: {
    title: 'Not signed in',
    visitor: 'Go back to the page that you wanted, and sign in again.',
  },
  oauth_exchange: {
    title: 'Sign-in failed',
    visitor: 'Go back to the page that you wanted, and sign in again.',
    owner:
      'Check the client id, the client secret and the callback address of the application at the provider.',
  },
  oauth_provider: {
    title: 'Identity provider in trouble',
    visitor: RELOAD,
    owner: 'The log of the gateway has the cause.',
  },
}
