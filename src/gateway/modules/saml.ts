import type { SignInModule } from '#gateway/modules/module.ts'
import { samlMethod } from '#auth/saml/method.ts'
import type { SamlSettings } from '#auth/saml/service-provider.ts'
import { recordConfig } from '#auth/sign-in/sign-in-config.ts'

const MAX_TITLE = 100

/** Requires sign-in with a SAML 2.0 identity provider. Agents cannot request it. */
export const samlModule: SignInModule = {
  name: 'saml',
  fromRecord(options, moduleContext, { info, signIn, state }) {
    const settings = options as unknown as SamlSettings
    const method = samlMethod({
      realmId: moduleContext.recordId ?? moduleContext.id,
      settings,
      info,
      seal: signIn.seal,
      used: state.usedHandoffTokens,
    })
    // No interval: the provider can be reached only through the browser.
    return [{ key: 'saml', title: hostIn(method.provider.url), method, config: recordConfig(settings) }]
  },
}

/** Entity ids are usually URLs; users know the host. */
const hostIn = (entityId: string): string => URL.parse(entityId)?.host || entityId.slice(0, MAX_TITLE)
