import type { saml } from '#contract/modules/saml.ts'
import type { Stored } from '#contract/shape.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { type IdentityProvider, identityProvider } from '#auth/saml/identity-provider.ts'
import { callbackHostUrl } from '#auth/sign-in/callback-host.ts'

/** In paths on the central host. */
export const SAML_PREFIX = '/saml/'

export type SamlSettings = Stored<typeof saml.shape>

/** The URLs of one route or endpoint configuration. */
export interface SamlAddresses {
  /** Also the URL of our metadata. */
  readonly entityId: string
  readonly acsUrl: string
  readonly sloUrl: string
}

/** A route or endpoint configuration with SAML sign-in. */
export interface SamlServiceProvider extends SamlAddresses {
  readonly id: string
  readonly settings: SamlSettings
  readonly provider: IdentityProvider
}

/** The ports are known only when the listeners are open, so URLs are built on demand. */
export function samlAddresses(id: string, info: GatewayInfo): SamlAddresses {
  const entityId = `${callbackHostUrl(info)}${SAML_PREFIX}${id}`
  return { entityId, acsUrl: `${entityId}/acs`, sloUrl: `${entityId}/slo` }
}

/** Metadata is parsed once per version of its record. */
const providers = new WeakMap<SamlSettings, IdentityProvider>()

export function providerOf(settings: SamlSettings): IdentityProvider {
  const known = providers.get(settings) ?? identityProvider(settings.idp_metadata)
  providers.set(settings, known)
  return known
}

export const samlServiceProvider = (
  id: string,
  settings: SamlSettings,
  info: GatewayInfo,
): SamlServiceProvider => ({
  id,
  settings,
  provider: providerOf(settings),
  ...samlAddresses(id, info),
})
