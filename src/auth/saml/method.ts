import { createHash } from 'node:crypto'
import { fail } from '#base/errors.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { SKEW_MS } from '#auth/saml/assertion.ts'
import { authnRequest } from '#auth/saml/messages.ts'
import { providerOf, samlServiceProvider, type SamlSettings } from '#auth/saml/service-provider.ts'
import { formUrl } from '#auth/saml/post-form.ts'
import { newId, redirectUrl } from '#auth/saml/sign.ts'
import { takeHandoffToken, type HandoffTaker, type HandoffToken } from '#auth/saml/handoff-token.ts'
import type { AuthResult, FlowState, SignInMethod } from '#auth/sign-in/sign-in.ts'

interface MethodOptions extends HandoffTaker {
  readonly realmId: string
  readonly settings: SamlSettings
  readonly info: GatewayInfo
  readonly now?: () => number
}

/** SAML sign-in of one realm. Throws a Problem when its metadata is unusable. */
export function samlMethod(options: MethodOptions): SignInMethod {
  const { realmId, settings, info, seal, now = Date.now } = options
  const { entityId, signIn } = providerOf(settings)

  return {
    provider: { name: 'saml', url: entityId },
    fingerprint: fingerprintOf(settings),
    allowsIdpInitiated: settings.allow_idp_initiated,
    begin: async ({ state, forceReauth: again }) => {
      const service = samlServiceProvider(realmId, settings, info)
      const id = newId()
      const begun = now()
      const force = settings.force_authn || again
      const memory = { request: id, begun: String(begun) }
      if (signIn.binding === 'post') return { url: formUrl(seal, service, { id, force, state }), memory }
      const url = await redirectUrl({
        xml: authnRequest(service, { id, force, now: begun }),
        id,
        url: signIn.url,
        kind: 'SAMLRequest',
        relayState: state,
        keyPem: settings.request_signing_key_pem,
      })
      return { url, memory }
    },
    finish: async ({ parameters, memory }) => {
      const handoff = takeHandoffToken(options, realmId, parameters.get('ticket') ?? '') ?? fail('saml_late')
      checkAnswers(handoff, memory, settings)
      return grantedBy(handoff)
    },
  }
}

/** The response must belong to a request of this browser, or be IdP-initiated where that is allowed. */
function checkAnswers(handoff: HandoffToken, flowState: FlowState, settings: SamlSettings): void {
  const { request = '', begun = '0' } = flowState
  if (handoff.request !== request || (request === '' && !settings.allow_idp_initiated))
    fail('saml_other_request')
  if (settings.force_authn && handoff.authenticatedAt < Number(begun) - SKEW_MS)
    fail('saml_expired', { reason: 'credentials were not requested again' })
}

const grantedBy = ({ identity, sessionUntil }: HandoffToken): AuthResult => ({
  identity,
  ...(sessionUntil !== undefined && { until: sessionUntil }),
})

/** A session of another provider, or under other rules, must sign in again. */
const fingerprintOf = ({ idp_metadata, nameid_format, authorized_groups }: SamlSettings): string =>
  createHash('sha256')
    .update(JSON.stringify([idp_metadata, nameid_format, authorized_groups.toSorted()]))
    .digest('base64url')
