import type { HttpModule } from '#gateway/modules/module.ts'
import { samlMethod } from '#auth/saml/method.ts'
import type { SamlSettings } from '#auth/saml/place.ts'
import { recordTerms } from '#auth/sign-in/terms.ts'

/** Lets visitors in who signed in at a SAML 2.0 identity provider. Agents cannot ask for it. */
export const samlModule: HttpModule = {
  name: 'saml',
  fromRecord(options, place, { facts, signIn }) {
    const settings = options as unknown as SamlSettings
    const method = samlMethod({ placeId: place.recordId ?? place.id, settings, facts, seal: signIn.seal })
    // Without an interval: the provider can only be asked by way of the browser.
    return signIn.handler(method, recordTerms(settings), place)
  },
}
