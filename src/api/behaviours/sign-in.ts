import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import { samlAddresses } from '#api/modules/saml.ts'
import { fail } from '#base/errors.ts'
import type { ResourceBody } from '#contract/body.ts'
import { signInModules } from '#contract/modules/sign-in.ts'

/** Rejects a second sign-in module; returns whether there is one. */
export function settleSignIn(draft: Draft): boolean {
  const present = signInModules.filter(name => draft.body[name])
  const [first, second] = present
  if (first && second) {
    const given = present.find(name => draft.sets(name)) ?? second
    const other = present.find(name => name !== given) ?? first
    fail('one_sign_in', { field: given, present: other })
  }
  return first !== undefined
}

/** The URLs of a SAML module depend on the server's URL, so they are not stored. */
export function samlView(body: ResourceBody, call: Call): ResourceBody {
  const saml = body['saml'] as ResourceBody | null
  return saml ? { saml: { ...saml, ...samlAddresses(call, String(body['id'])) } } : {}
}
