import { Problem } from '#base/errors.ts'
import type { Handler, Reply } from '#http/exchange.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { RequestHead } from '#http/head.ts'
import { errorReply, redirectReply } from '#http/pages.ts'
import { openState } from '#auth/sign-in/flow.ts'
import { type HandOver, handOver } from '#auth/sign-in/hand-over.ts'
import { originOf, parametersOf } from '#auth/sign-in/paths.ts'

const CALLBACK_PATH = '/oauth2/callback'

/** Other handlers on the central host. */
export interface CallbackRoute {
  /** Of the path, with a trailing slash. */
  readonly prefix: string
  readonly handler: Handler
}

type Names = Pick<GatewayInfo, 'domain' | 'httpsPort'>

export const callbackHost = ({ domain }: Pick<GatewayInfo, 'domain'>): string => `idp.${domain}`

/** The only host that identity providers redirect browsers to. */
export const callbackHostUrl = (facts: Names): string =>
  originOf('https', callbackHost(facts), facts.httpsPort)

/** The only redirect URL of all endpoints. */
export const callbackUrl = (facts: Names): string => callbackHostUrl(facts) + CALLBACK_PATH

/**
 * Redirects a browser to the endpoint where its sign-in started, with the provider's response. The endpoint is in the
 * state that we sealed; without one there is no redirect.
 */
function redirectToEndpoint(to: HandOver, parameters: URLSearchParams, head: RequestHead): Reply {
  const [text = '', second] = parameters.getAll('state')
  const state = second === undefined ? openState(to.seal, text) : undefined
  if (state === undefined) return errorReply('sign_in_state', head)
  parameters.delete('state')
  try {
    return handOver(to, { state, parameters }, 302)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return errorReply(error.code, head, error.values)
  }
}

/** Serves the central host. It is stateless, so any process can respond. */
export function callbackHandler(to: HandOver, facts: Names, routes: readonly CallbackRoute[]): Handler {
  return async (exchange, next) => {
    const { head, client } = exchange
    // Codes and assertions must not be sent unencrypted a second time.
    if (client.scheme === 'http' && facts.httpsPort !== undefined)
      return redirectReply(callbackHostUrl(facts) + head.target, 308)
    if (head.path === CALLBACK_PATH) return redirectToEndpoint(to, parametersOf(head.target), head)
    const route = routes.find(({ prefix }) => head.path.startsWith(prefix))
    return route ? route.handler(exchange, next) : errorReply('sign_in_nothing_here', head)
  }
}
