import { fail } from '#base/errors.ts'
import type { HttpModule, ModuleParts, Place } from '#gateway/modules/module.ts'
import { samlMethod } from '#gateway/saml/method.ts'
import type { SamlSettings } from '#gateway/saml/place.ts'
import type { JsonObject } from '#tunnel/fields.ts'

/** Lets visitors in who signed in at a SAML 2.0 identity provider. Agents cannot ask for it. */
export const samlModule: HttpModule = {
  name: 'saml',
  fromRecord(options, place, { facts, records, signIn }) {
    const settings = options as unknown as SamlSettings
    const id = ownerOf(options, place, records)
    const terms = {
      optionsPassthrough: settings.options_passthrough,
      cookiePrefix: settings.cookie_prefix,
      inactivityTimeout: settings.inactivity_timeout,
      maximumDuration: settings.maximum_duration,
      // The provider can only be asked by way of the browser.
      authCheckInterval: 0,
    }
    const method = samlMethod({ placeId: id, settings, facts, seal: signIn.seal })
    return signIn.handler(method, terms, { ...place, id })
  },
}

/** An endpoint configuration stands before any number of tunnels; the provider knows the configuration alone. */
function ownerOf(options: JsonObject, place: Place, records: ModuleParts['records']): string {
  if (place.edgeId !== undefined) return place.id
  for (const { id, body } of records.all('endpoint_configuration')) if (body['saml'] === options) return id
  return fail('sign_in_unconfigured', { reason: 'its endpoint configuration is gone' })
}
