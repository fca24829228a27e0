import type { Handler, Reply } from '#gateway/exchange.ts'
import type { Facts } from '#gateway/facts.ts'
import type { RequestHead } from '#gateway/http/head.ts'
import { errorReply, redirectReply } from '#gateway/pages.ts'
import { openState } from '#gateway/sign-in/flow.ts'
import { originOf, parametersOf, SIGNED_IN_PATH } from '#gateway/sign-in/paths.ts'
import type { Seal } from '#gateway/sign-in/seal.ts'

const CALLBACK_PATH = '/oauth2/callback'

/** What else is answered on the central host. */
export interface CentralRoute {
  /** Of the path, with a slash at its end. */
  readonly prefix: string
  readonly handler: Handler
}

type Names = Pick<Facts, 'domain' | 'httpsPort'>

export const centralHost = ({ domain }: Pick<Facts, 'domain'>): string => `idp.${domain}`

/** Of the one host that identity providers send browsers back to. */
export const centralUrl = (facts: Names): string => originOf('https', centralHost(facts), facts.httpsPort)

/** The one address that providers know, whatever number of endpoints there are. */
export const callbackUrl = (facts: Names): string => centralUrl(facts) + CALLBACK_PATH

/**
 * Sends a browser on to the endpoint where its sign-in began, with what the provider said. Where that is stands in the
 * state that we sealed ourselves; without one nobody is sent anywhere.
 */
export function sendBack(seal: Seal, parameters: URLSearchParams, head: RequestHead): Reply {
  const [text = '', second] = parameters.getAll('state')
  const state = second === undefined ? openState(seal, text) : undefined
  if (state === undefined) return errorReply('sign_in_state', head)
  return redirectReply(`${state.origin}${SIGNED_IN_PATH}?${parameters.toString()}`, 302)
}

/** Answers on the central host. It keeps nothing, so any process can answer. */
export function centralHandler(seal: Seal, facts: Names, routes: readonly CentralRoute[]): Handler {
  return async (exchange, next) => {
    const { head, visitor } = exchange
    // Codes and assertions must not travel in the clear a second time.
    if (visitor.scheme === 'http' && facts.httpsPort !== undefined)
      return redirectReply(centralUrl(facts) + head.target, 308)
    if (head.path === CALLBACK_PATH) return sendBack(seal, parametersOf(head.target), head)
    const route = routes.find(({ prefix }) => head.path.startsWith(prefix))
    return route ? route.handler(exchange, next) : errorReply('sign_in_nothing_here', head)
  }
}
