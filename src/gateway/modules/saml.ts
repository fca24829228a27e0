import type { HttpModule } from '#gateway/modules/module.ts'
import { samlMethod } from '#gateway/saml/method.ts'
import type { SamlSettings } from '#gateway/saml/place.ts'

/** Lets visitors in who signed in at a SAML 2.0 identity provider. Agents cannot ask for it. */
export const samlModule: HttpModule = {
  name: 'saml',
  fromRecord(options, place, { facts, signIn }) {
    const settings = options as unknown as SamlSettings
    const terms = {
      optionsPassthrough: settings.options_passthrough,
      cookiePrefix: settings.cookie_prefix,
      inactivityTimeout: settings.inactivity_timeout,
      maximumDuration: settings.maximum_duration,
      // The provider can only be asked by way of the browser.
      authCheckInterval: 0,
    }
    const method = samlMethod({ placeId: place.recordId ?? place.id, settings, facts, seal: signIn.seal })
    return signIn.handler(method, terms, place)
  },
}
