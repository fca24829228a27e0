import { module } from '#contract/kind.ts'
import { signInFields } from '#contract/modules/sign-in.ts'
import { flag, line, listOf, text } from '#contract/schema.ts'
import { computed, input, ownSecret, required } from '#contract/shape.ts'

/** Supported name identifier formats; the first is the default. */
export const nameIdFormats = [
  'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
] as const

export const saml = module({
  name: 'saml',
  doc: 'Requires sign-in with a SAML 2.0 identity provider.',
  fields: {
    ...signInFields(''),
    idp_metadata: required(
      input(
        text({
          minLength: 1,
          maxBytes: 262_144,
          missing: 'saml_metadata',
          refusals: { minLength: 'saml_metadata', maxBytes: 'saml_too_long' },
        }),
        'The whole EntityDescriptor XML of the identity provider.',
      ),
    ),
    force_authn: input(flag(false), 'Require credentials even in a running session at the provider.'),
    allow_idp_initiated: input(flag(true), 'Allow sign-ins that the provider starts.'),
    authorized_groups: input(
      listOf(line({ maxBytes: 255 }), { refusals: { maxItems: 'list_too_long' } }),
      'If set, only members of one of them are allowed.',
    ),
    nameid_format: input(
      line({ maxBytes: 255, default: nameIdFormats[0] }),
      'Name identifier format to request.',
    ),
    entity_id: computed(line(), 'Entity id of this endpoint for the identity provider.'),
    assertion_consumer_service_url: computed(line(), 'Where the identity provider sends assertions.'),
    single_logout_url: computed(line(), 'Where the identity provider sends sign-outs.'),
    request_signing_certificate_pem: computed(text(), 'Certificate with which requests are signed.'),
    metadata_url: computed(line(), "Where the identity provider finds this endpoint's metadata."),
    request_signing_key_pem: ownSecret(),
  },
})
