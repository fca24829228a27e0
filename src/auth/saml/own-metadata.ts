import { METADATA, POST_BINDING, PROTOCOL, REDIRECT_BINDING, SIGNATURE } from '#auth/saml/names.ts'
import type { SamlAddresses, SamlSettings } from '#auth/saml/service-provider.ts'
import { escapeAttribute, escapeText } from '#auth/saml/xml.ts'

/** The service provider metadata of a realm. It has no encryption key, so that providers do not encrypt. */
export function ownMetadata({ entityId, acsUrl, sloUrl }: SamlAddresses, settings: SamlSettings): string {
  const certificate = settings.request_signing_certificate_pem.replace(/-----[A-Z ]+-----|\s/g, '')
  const logout = (binding: string): string =>
    `<md:SingleLogoutService Binding="${binding}" Location="${escapeAttribute(sloUrl)}"/>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="${METADATA}" entityID="${escapeAttribute(entityId)}">
<md:SPSSODescriptor AuthnRequestsSigned="true" WantAssertionsSigned="true" protocolSupportEnumeration="${PROTOCOL}">
<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${SIGNATURE}"><ds:X509Data><ds:X509Certificate>${escapeText(certificate)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
${logout(REDIRECT_BINDING)}
${logout(POST_BINDING)}
<md:NameIDFormat>${escapeText(settings.nameid_format)}</md:NameIDFormat>
<md:AssertionConsumerService Binding="${POST_BINDING}" Location="${escapeAttribute(acsUrl)}" index="0" isDefault="true"/>
</md:SPSSODescriptor>
</md:EntityDescriptor>
`
}
