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
  password_required: {
    title: 'Password required',
    visitor: 'Reload the page and type the user name and password that you were given.',
  },
  gateway_fault: {
    title: 'Something went wrong',
    visitor: RELOAD,
    owner: 'The log of the gateway has the cause.',
  },
  gateway_full: { title: 'Too busy', visitor: RELOAD },
}
