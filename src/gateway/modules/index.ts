import { fail } from '#base/errors.ts'
import type { Handler } from '#gateway/exchange.ts'
import { basicAuth, loginOf, loginsOf } from '#gateway/modules/basic-auth.ts'
import { requestHeaders, responseHeaders } from '#gateway/modules/headers.ts'
import { addressesOf, ipRestriction } from '#gateway/modules/ip-restriction.ts'
import type { BindOptions } from '#tunnel/messages.ts'

type Build = (options: BindOptions) => Handler | null | undefined

/** A row for what is not served yet: an agent that asks for it is refused, never served without it. */
const absent =
  (option: keyof BindOptions): Build =>
  options => {
    const asked = options[option]
    if (asked !== null && asked !== '')
      fail('bind_option', { option, reason: 'this server does not have it' })
    return undefined
  }

/** Modules in the order in which a request meets them. */
const order: readonly Build[] = [
  // Before all else: who cannot prove who they are learn nothing.
  absent('MutualTLSCA'),
  // Cheap, and it keeps strangers from guessing passwords.
  ({ IPRestriction }) => IPRestriction && ipRestriction(IPRestriction),
  absent('UserAgentFilter'),
  // Policies decide about access; they run where they can still refuse.
  absent('TrafficPolicy'),
  absent('Policy'),
  // Senders of webhooks sign and do not sign in.
  absent('WebhookVerification'),
  // Signing in comes before all that touches an answer: its own answers leave as they are.
  ({ BasicAuth, Auth }) => {
    const logins = [...(BasicAuth ? loginsOf(BasicAuth) : []), ...(Auth === '' ? [] : [loginOf(Auth)])]
    return logins.length > 0 ? basicAuth(logins) : undefined
  },
  absent('OAuth'),
  absent('OIDC'),
  // Outside of compression, so that what it adds or removes is the last word.
  ({ ResponseHeaders }) => ResponseHeaders && responseHeaders(ResponseHeaders),
  absent('Compression'),
  // Right above the service: it counts what the service answers, not what other modules refuse.
  absent('CircuitBreaker'),
  // The last one to see a request, so that the others decide by what the visitor sent.
  ({ RequestHeaders }) => RequestHeaders && requestHeaders(RequestHeaders),
  absent('WebsocketTCPConverter'),
]

/** The modules an agent asked for on an HTTP tunnel, compiled; a Problem where one cannot be had. */
export const tunnelModules = (options: BindOptions): Handler[] =>
  order.map(build => build(options)).filter(handler => !!handler)

/** Which visitors an agent lets in on a TCP or TLS tunnel; a Problem where it asks for more than that. */
export function connectionFilter(options: BindOptions): (ip: string) => boolean {
  for (const option of ['TrafficPolicy', 'Policy'] as const) absent(option)(options)
  return options.IPRestriction ? addressesOf(options.IPRestriction) : () => true
}
