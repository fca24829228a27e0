import { MAX_TARGET } from '#http/http1-target.ts'
import type { State } from '#auth/sign-in/flow.ts'
import { pathAt, SIGNED_IN_PATH } from '#auth/sign-in/paths.ts'
import type { Seal } from '#auth/sign-in/seal.ts'

/** Long enough for one redirect. */
const ANSWER_MS = 60_000

/** The response of an identity provider, passed from the callback host to the endpoint. */
export interface ProviderResponse {
  /** The state of the response. It names the flow that the response belongs to. */
  readonly state: State
  readonly parameters: URLSearchParams
}

interface Sealed {
  readonly state: State
  readonly query: string
}

const purpose = ({ realmId, origin }: Pick<State, 'realmId' | 'origin'>): string =>
  `sign-in answer ${realmId} ${origin}`

/**
 * The URL at the endpoint that receives a response. It is sealed for the realm and the origin of its state: the
 * provider has one callback URL for all endpoints, so a code that another endpoint could read or redeem would sign its
 * owner in as the user. Undefined when the response is too long for a URL.
 */
export function answerUrl(seal: Seal, { state, parameters }: ProviderResponse): string | undefined {
  const query = parameters.toString()
  // The requested page matters less than the sign-in itself.
  for (const returnTo of [state.returnTo, '/']) {
    const sealed: Sealed = { state: { ...state, returnTo }, query }
    const text = query.length > MAX_TARGET ? '' : seal.seal(purpose(state), sealed, ANSWER_MS)
    const target = pathAt(SIGNED_IN_PATH, state.realmId, { answer: text })
    if (text !== '' && target.length <= MAX_TARGET) return state.origin + target
  }
  return undefined
}

/** The response in a query, if it is sealed for this realm and origin. */
export function answerIn(
  query: URLSearchParams,
  seal: Seal,
  endpoint: Pick<State, 'realmId' | 'origin'>,
): ProviderResponse | undefined {
  const [text = '', second] = query.getAll('answer')
  const sealed = second === undefined ? (seal.open(purpose(endpoint), text) as Sealed | undefined) : undefined
  return sealed && { state: sealed.state, parameters: new URLSearchParams(sealed.query) }
}
