import { module } from '#contract/kind.ts'
import { signInFields } from '#contract/modules/sign-in.ts'
import { line, listOf } from '#contract/schema.ts'
import { input, required, secret } from '#contract/shape.ts'

export const oidc = module({
  name: 'oidc',
  doc: 'Requires sign-in with an OpenID provider.',
  fields: {
    ...signInFields(''),
    issuer: required(
      input(
        line({ maxBytes: 255, missing: 'oidc_issuer', refusals: { maxBytes: 'oidc_issuer_length' } }),
        'URL of the OpenID provider; discovery starts there.',
      ),
    ),
    client_id: required(
      input(line({ minLength: 1, maxBytes: 1024, missing: 'oidc_client_id', refusal: 'oidc_client_id' })),
    ),
    client_secret: required(
      secret(
        input(
          line({
            minLength: 1,
            maxBytes: 4096,
            missing: 'oidc_client_secret',
            refusal: 'oidc_client_secret',
          }),
        ),
        'returned',
      ),
    ),
    scopes: input(
      listOf(line({ minLength: 1, maxBytes: 255 }), { maxItems: 100 }),
      'Scopes to request in addition to openid, email and profile.',
    ),
  },
})
