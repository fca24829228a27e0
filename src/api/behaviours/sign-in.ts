import type { Call } from '#api/call.ts'
import { samlAddresses } from '#api/modules/saml.ts'
import type { ResourceBody } from '#contract/body.ts'

/** The URLs of a SAML module depend on the server's URL, so they are not stored. */
export function samlView(body: ResourceBody, call: Call): ResourceBody {
  const saml = body['saml'] as ResourceBody | null
  return saml ? { saml: { ...saml, ...samlAddresses(call, String(body['id'])) } } : {}
}
